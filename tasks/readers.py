"""Answerers and judges from the settings: where a spec string becomes a model."""

from __future__ import annotations

from functools import lru_cache

from models.answer import Answerer, ChatAnswerer
from models.extractive import ExtractiveAnswerer
from models.judge import ChatJudge
from models.llm.backends import chat
from models.llm.chat import Chat
from tasks.settings import Settings, SettingsError

EXTRACTIVE = "extractive"


@lru_cache(maxsize=4)
def _chat(spec: str) -> Chat:
    """One model per process and spec: a local model is loaded once, a client keeps its connections."""
    return chat(spec)


def make_answerer(settings: Settings) -> Answerer:
    """The answerer that the settings name."""
    if settings.answerer == EXTRACTIVE:
        return ExtractiveAnswerer(settings.extractive)
    return ChatAnswerer(_chat(settings.answerer), settings.answer)


def make_judge(settings: Settings) -> ChatJudge:
    """The judge that the settings name. `SettingsError` when there is none."""
    if not settings.judge:
        raise SettingsError("--metric judge needs a judge: give --judge openai:MODEL or llamacpp:PATH")
    return ChatJudge(_chat(settings.judge), settings.judging)
