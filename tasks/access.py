"""The evidence table: what each structure returns for each question, one cached task per structure and shard."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from models.sufficiency_episode import CheckedEpisode
from models.tokens import count_composed
from storage import schemas
from storage.artifacts import Draft, Home
from storage.shards import Shard, read_shard
from storage.structures.base import EpisodeIndex, Query, Structure
from storage.structures.render import steps_by_episode
from storage.tables import TABLE
from tasks.access_models import Asker
from tasks.artifact_task import artifact_task
from tasks.plan import built
from tasks.routers import load_routers
from tasks.sections import evidence_row
from tasks.settings import Settings


@artifact_task
def access_evidence(
    home: Home,
    draft: Draft,
    structure: Structure,
    key: str,
    shard: Shard,
    vectors: str | None,
    settings: Settings,
    router: str = "",
    budget_id: str = "",
) -> None:
    """Ask the structure built under `key` every question of the shard; `vectors` is the key of the questions' vectors.

    `router` is the artifact of the trained weights that walk H, "" for none. The structure sees the question's text, vector
    and intent and nothing else of it: no gold answer, no gold evidence.
    """
    questions = read_shard(home, shard, "questions").select(["question_id", "episode_id", "question"])
    asker = Asker(home, shard.dataset, settings, budget_id)
    opened = _Opened(home, structure, key)
    if structure.letter == "T" and settings.checker:
        rows = _checked_rows(home, shard, opened, asker, questions)
    else:
        rows = _rows(home, opened, asker, questions, vectors, router)
    counts = count_composed([row["text"] for row in rows], [row["block_starts"] for row in rows])
    for row, n_tokens in zip(rows, counts, strict=True):
        row["n_tokens"] = n_tokens
    pq.write_table(pa.Table.from_pylist(rows, schema=schemas.EVIDENCE), draft.folder / TABLE, compression="zstd")
    draft.manifest["rows"] = len(rows)
    draft.manifest["tokens"] = sum(row["access_tokens"] for row in rows)


class _Opened:
    """The episodes of a built structure, each opened once."""

    def __init__(self, home: Home, structure: Structure, key: str) -> None:
        self.structure = structure
        self._built = built(home, key)
        self._indices: dict[str, EpisodeIndex] = {}

    def __getitem__(self, episode_id: str) -> EpisodeIndex:
        if episode_id not in self._indices:
            self._indices[episode_id] = self.structure.open(self._built, episode_id)
        return self._indices[episode_id]


def _rows(
    home: Home, opened: _Opened, asker: Asker, questions: pa.Table, vectors: str | None, router: str
) -> list[dict[str, Any]]:
    letter = opened.structure.letter
    embedded = question_vectors(home, vectors)
    routers = load_routers(home, router) if router else None
    ids, episodes, texts = (questions.column(name).to_pylist() for name in ("question_id", "episode_id", "question"))
    intents = asker.intents(texts, episodes) if letter == "H" else [""] * len(ids)
    rows = []
    for question_id, episode_id, text, intent in zip(ids, episodes, texts, intents, strict=True):
        walker = None if routers is None else routers.of(episode_id)
        query = Query(text, embedded.get(question_id), router=walker, intent=intent)
        index = opened[episode_id]
        started = time.perf_counter()
        evidence = index.access(query)
        rows.append(evidence_row(question_id, letter, evidence, (time.perf_counter() - started) * 1_000))
    return rows


def _checked_rows(home: Home, shard: Shard, opened: _Opened, asker: Asker, questions: pa.Table) -> list[dict[str, Any]]:
    """T's evidence after its sufficiency loop, whose tokens are the access's; `ms` is a question's share of the loop."""
    steps = steps_by_episode(read_shard(home, shard, "steps"))
    columns = read_shard(home, shard, "episodes").select(["episode_id", "task"]).to_pydict()
    tasks = dict(zip(columns["episode_id"], columns["task"], strict=True))
    search = asker.settings.step_search
    episodes = {episode: CheckedEpisode(opened[episode], rows, search) for episode, rows in steps.items()}
    ids, owners, texts = (questions.column(name).to_pylist() for name in ("question_id", "episode_id", "question"))
    started = time.perf_counter()
    asked = [(text, tasks[owner], episodes[owner]) for text, owner in zip(texts, owners, strict=True)]
    found = asker.checked(asked, owners)
    milliseconds = (time.perf_counter() - started) * 1_000 / max(len(ids), 1)
    rows = []
    for question_id, (evidence, tokens) in zip(ids, found, strict=True):
        rows.append({**evidence_row(question_id, "T", evidence, milliseconds), "access_tokens": tokens})
    return rows


def question_vectors(home: Home, key: str | None) -> dict[str, np.ndarray]:
    """The vectors of a shard's questions by question id; none without a key."""
    if key is None:
        return {}
    table = pq.read_table(f"{home.require(key)}/{TABLE}", filesystem=home.fs)
    matrix = table.column("vector").combine_chunks().flatten().to_numpy().reshape(table.num_rows, -1)
    return dict(zip(table.column("question_id").to_pylist(), matrix, strict=True))
