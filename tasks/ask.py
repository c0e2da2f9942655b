"""One question about one episode, answered from built structures: what an agent does in its loop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from models.answer import AnswerTask
from models.baselines.long_context import trajectory_section
from models.compose import Section
from models.embedders import embedder
from models.selector.contract import Case
from models.selector.policies import LONG_CONTEXT, Policy
from models.selector.sandbox import Selection
from models.selector.subsets import SEPARATOR
from models.sufficiency_episode import CheckedEpisode
from models.tokens import count_tokens
from storage.artifacts import ArtifactError, Home
from storage.records import CONVERSATION
from storage.shards import read_shard
from storage.structures.base import EpisodeIndex, Evidence, Query, Structure
from storage.structures.event_index import EventGraphIndex, Hop
from storage.structures.render import StepRow, steps_by_episode
from tasks.access_models import Asker
from tasks.budget import open_budget
from tasks.cases import context_of, preview
from tasks.evaluation import require_dataset
from tasks.meter import metered
from tasks.plan import BuildPlan, ShardPlan, built, needs_vectors
from tasks.policies import SavedPolicy, choose, parse_policies
from tasks.readers import make_answerer
from tasks.routers import load_routers
from tasks.sections import evidence_row
from tasks.settings import Settings


@dataclass(frozen=True)
class Read:
    """What one structure gave: its text, the steps in it, tokens and milliseconds; for H also the path of its walk."""

    structure: str
    text: str
    steps: tuple[int, ...]
    n_tokens: int
    localised: bool
    ms: float
    access_tokens: int = 0
    path: tuple[Hop, ...] = ()


def ask(
    home: Home,
    dataset: str,
    episode_id: str,
    question: str,
    settings: Settings,
    structures: tuple[str, ...],
    policy: str = "all",
) -> dict[str, Any]:
    """Answer `question` with what `policy` reads of `structures`, and show what was read.

    A saved policy sees the previews of all its structures first; this costs their access, but no tokens. `SettingsError` for
    an unknown policy, `ArtifactError` when the episode is not ingested or a structure of its shard is not built.
    """
    [chooser] = parse_policies(home, dataset, [policy], structures, seed=0)
    asking = _Asking(home, dataset, episode_id, question, settings, structures)
    chosen = asking.choose(chooser)
    sections = asking.sections(chosen.subset)
    reads = [asking.read(letter) for letter in _letters(chosen.subset)]
    task = AnswerTask(
        question_id=asking.id,
        question=question,
        task=asking.episode["task"],
        sections=tuple(sections),
        localised=not reads or any(read.localised for read in reads),
        conversation=asking.episode["task_type"] == CONVERSATION,
    )
    [answer] = make_answerer(settings, partial(metered, home, open_budget())).answer([task])
    return {
        "dataset": dataset,
        "episode": episode_id,
        "question": question,
        "policy": chooser.name,
        "subset": chosen.subset,
        "policy_error": chosen.reason,
        "answer": answer.text,
        "status": answer.status,
        "error": answer.error,
        "answerer": settings.answerer,
        "evidence_tokens": answer.evidence_tokens,
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "truncated": list(answer.truncated),
        "evidence": [asdict(read) for read in reads],
    }


class _Asking:
    """One question and what was accessed for it so far; a structure is accessed once."""

    def __init__(
        self, home: Home, dataset: str, episode_id: str, question: str, settings: Settings, letters: Sequence[str]
    ) -> None:
        self.id = f"{dataset}/{episode_id}/ask"
        self.question = question
        self._home, self._settings = home, settings
        self._build, self._plan = _plan_of(home, dataset, episode_id, tuple(letters), settings)
        self._asker = Asker(home, dataset, settings, open_budget())
        self._paths: dict[str, tuple[Hop, ...]] = {}
        episodes = read_shard(home, self._plan.shard, "episodes").to_pylist()
        self.episode = next(row for row in episodes if row["episode_id"] == episode_id)
        self._rows: dict[str, dict[str, Any]] = {}

    def choose(self, policy: Policy | SavedPolicy) -> Selection:
        cases = {}
        if isinstance(policy, SavedPolicy):
            previews = {letter: preview(self._row(letter)) for letter in policy.structures}
            context = context_of(self.episode, "", policy.structures, previews, policy.metadata)
            cases[self.id] = Case(self.id, self.question, context)
        return choose(policy, [self.id], cases)[0]

    def read(self, letter: str) -> Read:
        row = self._row(letter)
        numbers = row["n_tokens"], row["localised"], row["ms"], row["access_tokens"]
        return Read(letter, row["text"], tuple(row["steps"]), *numbers, self._paths.get(letter, ()))

    def sections(self, subset: str) -> list[Section]:
        if subset == LONG_CONTEXT:
            return [trajectory_section(self._steps, self._settings.compose)]
        rows = ((letter, self._row(letter)) for letter in _letters(subset))
        return [Section(letter, r["text"], tuple(r["block_starts"]), r["n_tokens"]) for letter, r in rows]

    @cached_property
    def _steps(self) -> list[StepRow]:
        return steps_by_episode(read_shard(self._home, self._plan.shard, "steps"))[self.episode["episode_id"]]

    @cached_property
    def _vector(self) -> np.ndarray:
        [vector] = embedder(self._settings.embedder).embed_queries([self.question])
        return np.asarray(vector)

    def _row(self, letter: str) -> dict[str, Any]:
        """The evidence of one structure, a row of `schemas.EVIDENCE`."""
        if letter not in self._rows:
            structure, key = self._settings.structure(letter), str(self._plan.structures[letter])
            query = self._query(structure)
            index = structure.open(built(self._home, key), self.episode["episode_id"])
            started = time.perf_counter()
            evidence, access_tokens = self._access(letter, index, query)
            row = evidence_row(self.id, letter, evidence, (time.perf_counter() - started) * 1_000)
            [row["n_tokens"]] = count_tokens([evidence.text])
            self._rows[letter] = {**row, "access_tokens": access_tokens}
            if isinstance(index, EventGraphIndex):
                self._paths[letter] = index.explain(query)
        return self._rows[letter]

    def _query(self, structure: Structure) -> Query:
        episode = self.episode["episode_id"]
        vector = self._vector if needs_vectors(structure) else None
        if structure.letter != "H":
            return Query(self.question, vector)
        router = load_routers(self._home, self._build.router).of(episode) if self._build.router else None
        [intent] = self._asker.intents([self.question], [episode])
        return Query(self.question, vector, router=router, intent=intent)

    def _access(self, letter: str, index: EpisodeIndex, query: Query) -> tuple[Evidence, int]:
        """The evidence and the tokens that a model was asked for it."""
        if letter != "T" or not self._settings.checker:
            return index.access(query), 0
        episode = CheckedEpisode(index, self._steps, self._settings.step_search)
        [found] = self._asker.checked([(self.question, self.episode["task"], episode)], [self.episode["episode_id"]])
        return found


def _letters(subset: str) -> list[str]:
    return [] if subset == LONG_CONTEXT else subset.split(SEPARATOR)


def _plan_of(
    home: Home, dataset: str, episode_id: str, letters: tuple[str, ...], settings: Settings
) -> tuple[BuildPlan, ShardPlan]:
    live = require_dataset(home, dataset)
    if episode_id not in live.live:
        some = ", ".join(list(live.live)[:5])
        raise ArtifactError(f"episode {episode_id!r} is not in {dataset}; it has {len(live.live)} episodes, such as {some}")
    plan = BuildPlan.of(home, live, letters, settings)
    return plan, next(shard for shard in plan.shards if episode_id in shard.episodes)
