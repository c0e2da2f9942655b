"""The answerer without a language model."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

from models.answer import Answer, AnswerTask, OnAnswer
from models.extractive.config import ExtractiveConfig
from models.extractive.dialogue import answer_from_turns
from models.extractive.ranking import Ranking
from models.extractive.trajectory import answer_from_steps
from models.extractive.units import read_units
from storage.records import ABSTENTION

VERSION = 1
"""Raised by every change of this package that can change an answer."""


class ExtractiveAnswerer:
    """Quotes the part of the evidence that matches the question best. Deterministic, offline, a few milliseconds a question.

    It abstains, with the words of LoCoMo's gold, where no selected structure found anything or too little matches.
    """

    def __init__(self, config: ExtractiveConfig | None = None) -> None:
        self._config = config or ExtractiveConfig()

    @property
    def name(self) -> str:
        """Changes with the version and with every setting."""
        settings = hashlib.sha256(f"{VERSION} {self._config!r}".encode()).hexdigest()[:8]
        return f"extractive#{settings}"

    def answer(self, tasks: Sequence[AnswerTask], on_done: OnAnswer | None = None) -> list[Answer]:
        """See `Answerer`. Every answer has status `ok` and costs no tokens; `evidence_tokens` counts all that was given."""
        answers = []
        for index, task in enumerate(tasks):
            start = time.perf_counter()
            answer = Answer(
                question_id=task.question_id,
                text=self._text(task),
                evidence_tokens=sum(section.n_tokens for section in task.sections),
                seconds=time.perf_counter() - start,
            )
            answers.append(answer)
            if on_done is not None:
                on_done(index, answer)
        return answers

    def _text(self, task: AnswerTask) -> str:
        units = read_units(task.sections)
        if not units or not task.localised:
            return ABSTENTION
        ranking = Ranking(task.question, units, self._config)
        if not (task.conversation or any(unit.is_turn for unit in units)):
            return answer_from_steps(task.question, ranking, self._config) or ABSTENTION
        if ranking.coverage < self._config.min_coverage:
            return ABSTENTION
        return answer_from_turns(task.question, ranking, self._config) or ABSTENTION
