"""Answerers and judges from the settings: where a spec string becomes a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from models.answer import Answerer, ChatAnswerer
from models.extractive import ExtractiveAnswerer
from models.judge import ChatJudge
from models.llm.backends import chat
from models.llm.chat import Chat
from tasks.settings import Settings, SettingsError

EXTRACTIVE = "extractive"


@lru_cache(maxsize=4)
def model(spec: str) -> Chat:
    """The language model of a spec. One per process and spec: it is loaded once, and a client keeps its connections."""
    return chat(spec)


Meter = Callable[[str, Chat], Chat]
"""From a stage and a model to the model with its calls counted (`tasks/meter.py`)."""


def unmetered(stage: str, model: Chat) -> Chat:
    """The model itself, for those who want its name only."""
    return model


def make_answerer(settings: Settings, meter: Meter = unmetered) -> Answerer:
    """The answerer that the settings name."""
    if settings.answerer == EXTRACTIVE:
        return ExtractiveAnswerer(settings.extractive)
    return ChatAnswerer(meter("answer", model(settings.answerer)), settings.answer)


def make_judge(settings: Settings, meter: Meter = unmetered) -> ChatJudge:
    """The judge that the settings name. `SettingsError` when there is none."""
    if not settings.judge:
        raise SettingsError("--metric judge needs a judge: give --judge openai:MODEL or llamacpp:PATH")
    return ChatJudge(meter("judge", model(settings.judge)), settings.judging)
