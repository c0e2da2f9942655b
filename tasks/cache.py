"""The only cache keys: what each stage's output depends on, and the task wrapper that makes an artifact from a key.

A stage is a plain function that fills a draft. `artifact_task` makes a Prefect task of it whose cache key is the artifact's
key, so that Prefect and the home agree on what is done; a cached state whose artifact is gone or damaged is not trusted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Generic, ParamSpec

from prefect import Task, task
from prefect.context import TaskRunContext
from prefect.futures import PrefectFuture

from models.judge import JudgeConfig
from models.prompts import answer as answer_prompt
from models.tokens import TOKENIZER
from storage.artifacts import ArtifactKey, Draft, Home, digest
from storage.shards import Shard
from storage.structures.base import Structure
from tasks.derivations import Derivation
from tasks.settings import Settings

Assignment = tuple[tuple[str, str], ...]
"""(question id, subset) of what is to be answered, in order."""

P = ParamSpec("P")

EVIDENCE_VERSION = 1
ANSWERS_VERSION = 1
OUTCOMES_VERSION = 1


def derived_key(derivation: Derivation, shard: Shard) -> ArtifactKey:
    """A derived table is made from the tables of one shard."""
    return ArtifactKey("derived", derivation.name, derivation.version, derivation.config, (shard.key,))


def structure_key(structure: Structure, derivations: Sequence[Derivation], shard: Shard) -> ArtifactKey:
    """A structure is built from a shard's steps and the derived tables that it names."""
    derived = [str(derived_key(d, shard)) for d in derivations if d.name in structure.derives]
    return ArtifactKey("structures", structure.letter, structure.version, structure, (shard.key, *derived))


def evidence_key(structure: Structure, derivations: Sequence[Derivation], shard: Shard) -> ArtifactKey:
    """Evidence answers the questions of the shard, which its key covers, from the structure built of the same shard."""
    inputs = (shard.key, str(structure_key(structure, derivations, shard)))
    return ArtifactKey("evidence", structure.letter, EVIDENCE_VERSION, None, inputs)


def answers_key(
    shard: Shard, answerer: str, settings: Settings, evidence: Sequence[str], assignment: Assignment
) -> ArtifactKey:
    """Answers of the answerer named `answerer` to the questions in `assignment`, from the evidence artifacts `evidence`."""
    return ArtifactKey("answers", _safe(answerer), ANSWERS_VERSION, _reading(settings), _inputs(shard, evidence, assignment))


def support_key(shard: Shard, settings: Settings, evidence: Sequence[str], assignment: Assignment) -> ArtifactKey:
    """The support of what a reader would see."""
    return ArtifactKey("outcomes", "support", OUTCOMES_VERSION, _reading(settings), _inputs(shard, evidence, assignment))


def outcomes_key(answers: ArtifactKey, metric: str, judge: str, judging: JudgeConfig) -> ArtifactKey:
    """Scores of answers by a metric and, for `judge`, the named judge (model and prompt)."""
    return ArtifactKey(
        "outcomes", metric, OUTCOMES_VERSION, {"judge": judge, "judging": judging if judge else None}, (str(answers),)
    )


def _reading(settings: Settings) -> dict[str, Any]:
    return {"answer": settings.answer, "tokenizer": TOKENIZER, "prompt": answer_prompt.digest()}


def _inputs(shard: Shard, evidence: Sequence[str], assignment: Assignment) -> tuple[str, ...]:
    return (shard.key, *sorted(evidence), *(f"{question}={subset}" for question, subset in assignment))


def _safe(name: str) -> str:
    """A model's name as one path part: the full name stays readable, its digest keeps it unique."""
    short = re.sub(r"[^\w.-]+", "-", name)[:60].strip("-.")
    return short if short == name else f"{short}-{digest(name)}"


class ArtifactTask(Generic[P]):
    """A stage as a Prefect task. Call `submit(home, key, ...)`; the future's result is the key's path."""

    def __init__(self, stage: Callable[Concatenate[Home, Draft, P], None]):
        self.stage = stage
        self.task: Task[..., str] = task(
            name=stage.__name__, cache_key_fn=_cache_key, persist_result=True, log_prints=False
        )(self._run)

    def _run(self, home_url: str, key: ArtifactKey, *args: P.args, **kwargs: P.kwargs) -> str:
        home = Home(home_url)
        if not home.has(key):
            with home.write(key) as draft:
                self.stage(home, draft, *args, **kwargs)
        return str(key)

    def submit(
        self, home: Home, key: ArtifactKey, wait_for: Sequence[PrefectFuture[Any]], *args: P.args, **kwargs: P.kwargs
    ) -> PrefectFuture[str]:
        """Submit the stage; Prefect answers from its cache only while the artifact is whole."""
        chosen = self.task.with_options(refresh_cache=not home.has(key))
        return chosen.submit(home.url, key, *args, wait_for=list(wait_for), **kwargs)


def artifact_task(stage: Callable[Concatenate[Home, Draft, P], None]) -> ArtifactTask[P]:
    """Decorate a stage function `(home, draft, ...) -> None`."""
    return ArtifactTask(stage)


def _cache_key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    # The home is part of the key: one Prefect server may serve several homes.
    return f"strata/{parameters['home_url']}/{parameters['key']}"
