"""The only cache keys: what each stage's output depends on. Equal keys mean equal outputs.

A changed prompt, model, setting or version of the code gives another key, and so does everything that is made from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from models.judge import JudgeConfig
from models.prompts import answer as answer_prompt
from models.tokens import TOKENIZER
from storage.artifacts import ArtifactKey, digest
from storage.shards import Shard
from storage.structures.base import Structure
from tasks.derivations import Derivation
from tasks.settings import Settings

Assignment = tuple[tuple[str, str], ...]
"""(question id, subset) of what is to be answered, in order."""

ASSIGNMENT = "assignment:"
"""Before the digest of an assignment among the inputs of an artifact."""

EVIDENCE_VERSION = 1
ANSWERS_VERSION = 2
OUTCOMES_VERSION = 2


def derived_key(derivation: Derivation, derivations: Sequence[Derivation], shard: Shard) -> ArtifactKey:
    """A derived table is made from the tables of one shard, and from other derived tables where it needs them."""
    needed = [str(derived_key(d, derivations, shard)) for d in derivations if d.name in derivation.needs]
    return ArtifactKey("derived", derivation.name, derivation.version, derivation.config, (shard.key, *needed))


def structure_key(structure: Structure, derivations: Sequence[Derivation], shard: Shard) -> ArtifactKey:
    """A structure is built from a shard's steps and the derived tables that it names."""
    derived = [str(derived_key(d, derivations, shard)) for d in derivations if d.name in structure.derives]
    return ArtifactKey("structures", structure.letter, structure.version, structure, (shard.key, *derived))


def evidence_key(structure: Structure, derivations: Sequence[Derivation], shard: Shard, asked: str = "") -> ArtifactKey:
    """Evidence answers the questions of the shard, which its key covers, from the structure built of the same shard.

    `asked` names what models decide of it (`tasks/access_models.py`), "" where none do.
    """
    inputs = (shard.key, str(structure_key(structure, derivations, shard)), *([asked] if asked else []))
    return ArtifactKey("evidence", structure.letter, EVIDENCE_VERSION, None, inputs)


def answers_key(
    shard: Shard, answerer: str, settings: Settings, evidence: Sequence[str], assignment: Assignment
) -> ArtifactKey:
    """Answers of the answerer named `answerer` to the questions in `assignment`, from the evidence artifacts `evidence`."""
    return ArtifactKey("answers", _safe(answerer), ANSWERS_VERSION, _reading(settings), _inputs(shard, evidence, assignment))


def support_key(shard: Shard, settings: Settings, evidence: Sequence[str], assignment: Assignment) -> ArtifactKey:
    """The support of what a reader would see."""
    return ArtifactKey("outcomes", "support", OUTCOMES_VERSION, _reading(settings), _inputs(shard, evidence, assignment))


def outcomes_key(answers: ArtifactKey | str, metric: str, judge: str, judging: JudgeConfig) -> ArtifactKey:
    """Scores of answers by a metric and, for `judge`, the named judge (model and prompt)."""
    return ArtifactKey(
        "outcomes", metric, OUTCOMES_VERSION, {"judge": judge, "judging": judging if judge else None}, (str(answers),)
    )


def carried_key(old: ArtifactKey, renamed: Mapping[str, str], assignment: Assignment) -> ArtifactKey:
    """The key of an artifact's rows after its inputs moved to new keys; `assignment` is what it answers now, if it does."""
    inputs = [renamed.get(key, key) for key in old.inputs]
    if inputs[-1].startswith(ASSIGNMENT):
        shard, *evidence, _ = inputs
        inputs = [shard, *sorted(evidence), f"{ASSIGNMENT}{digest(assignment)}"]
    return replace(old, inputs=tuple(inputs))


def _reading(settings: Settings) -> dict[str, Any]:
    return {"answer": settings.answer, "tokenizer": TOKENIZER, "prompt": answer_prompt.digest()}


def _inputs(shard: Shard, evidence: Sequence[str], assignment: Assignment) -> tuple[str, ...]:
    return (shard.key, *sorted(evidence), f"{ASSIGNMENT}{digest(assignment)}")


def _safe(name: str) -> str:
    """A model's name as one path part: the full name stays readable, its digest keeps it unique."""
    short = re.sub(r"[^\w.-]+", "-", name)[:60].strip("-.")
    return short if short == name else f"{short}-{digest(name)}"
