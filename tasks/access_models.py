"""What an access asks of models beside the question's vector: a router for H, intents for H, a sufficiency checker for T.

All of it is named in the key of the evidence (`access_id`), so a change makes the evidence of that structure again, and only
that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from models.extract.llm_intent import STAGE as INTENT
from models.extract.llm_intent import classify_intents
from models.llm.asking import Asking
from models.prompts import intent as intent_prompt
from models.prompts import search as search_prompt
from models.prompts import sufficiency as sufficiency_prompt
from models.sufficiency import STAGE as SUFFICIENCY
from models.sufficiency import check
from models.sufficiency_episode import CheckedEpisode
from storage.artifacts import ArtifactError, Home, digest
from storage.structures.base import Evidence
from tasks.paid import paid_askings
from tasks.readers import model
from tasks.settings import Settings

T = TypeVar("T")


def access_id(letter: str, settings: Settings, router: str) -> str:
    """What models decide of a structure's evidence, as one word for its key; "" where none do."""
    if letter == "T" and settings.checker:
        prompts = (sufficiency_prompt.digest(), search_prompt.digest())
        return digest(["checker", model(settings.checker).name, settings.sufficiency, settings.step_search, prompts])
    if letter == "H":
        asked = [model(settings.intents).name, settings.model_intents, intent_prompt.digest()] if settings.intents else []
        return digest([router, *asked]) if router or asked else ""
    return ""


@dataclass(frozen=True)
class Asker:
    """Asks models on behalf of one shard's access; `dataset` names the journal's entries."""

    home: Home
    dataset: str
    settings: Settings
    budget_id: str

    def intents(self, questions: Sequence[str], episodes: Sequence[str]) -> list[str]:
        """The relational intent of each question; "" leaves it to the structure's rules."""
        if not self.settings.intents:
            return [""] * len(questions)
        askings = [classify_intents([question], self.settings.model_intents) for question in questions]
        return [found.words[0] for found in self._run(INTENT, self.settings.intents, askings, episodes)]

    def checked(
        self, asked: Sequence[tuple[str, str, CheckedEpisode]], episodes: Sequence[str]
    ) -> list[tuple[Evidence, int]]:
        """T's evidence and the tokens of its sufficiency loop, for (question, task, episode) each.

        `ArtifactError` when a request failed: what was paid for is in the journal, and the command can be run again.
        """
        askings = [check(question, task, episode, self.settings.sufficiency) for question, task, episode in asked]
        found = self._run(SUFFICIENCY, self.settings.checker, askings, episodes)
        if failed := [result.error for result in found if result.error]:
            raise ArtifactError(f"sufficiency: {len(failed)} of {len(found)} checks failed ({failed[0]}); run it again")
        return [
            (episode.evidence(question, result.extra_steps, result.searches), result.tokens)
            for (question, _, episode), result in zip(asked, found, strict=True)
        ]

    def _run(self, stage: str, spec: str, askings: Sequence[Asking[T]], episodes: Sequence[str]) -> list[T]:
        names = [f"{self.dataset}/{episode}" for episode in episodes]
        return paid_askings(self.home, stage, model(spec), askings, names, self.budget_id).results
