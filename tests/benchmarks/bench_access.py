"""Access: the time of one question to one structure, against a scan of the shard that holds its episode.

    python -m tests.benchmarks.bench_access [--structures S,T,G,V,R] [--limit N] [--questions M] [--home HOME]

Prints one JSON line. It asks M questions (100 by default), spread over the built episodes: of HOME, which is only read, or
of the first N episodes (12 by default), built in a temporary home. Per structure, `open` is the opening of an episode and
`access` one question to an open one, the case of an agent that asks about its own history; V's `with_embedding` adds the
embedding of the question. `scan` reads the whole shard and ranks the steps of the episode by the question's words (for V: by
the inner product with every vector), which is what there is without a structure; `ratio` is its median CPU time over that
of `access`. The CPU time of an embedding counts every thread of the encoder, which also wait by counting.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from models.embedders import Embedder, embedder
from storage.artifacts import Home
from storage.shards import read_shard
from storage.structures.base import BuiltShard, Query, Structure
from storage.structures.lexical import tokens
from storage.structures.render import render_step, step_rows
from storage.tables import TABLE, by_episode
from tasks.evaluation import require_dataset
from tasks.plan import BuildPlan, ShardPlan, built
from tasks.settings import Settings
from tests.benchmarks.source import Source, find_source
from tests.benchmarks.usage import Usage, measured, milliseconds, strata


@dataclass(frozen=True)
class Asked:
    """A question about an episode, and where that episode is built."""

    plan: ShardPlan
    episode: str
    question: str


def main(structures: str, limit: int, count: int, home: str | None) -> dict[str, Any]:
    """Time every structure on the same questions."""
    source = find_source()
    with _built(source, structures, limit, home) as url:
        store, letters = Home(url), tuple(structures.split(","))
        plan = BuildPlan.of(store, require_dataset(store, source.dataset), letters, Settings())
        asked = _questions(store, plan, count)
        timed = {letter: _timed(store, plan, letter, asked) for letter in letters}
    return {"source": source.dataset, "questions": len(asked), "structures": timed}


@contextmanager
def _built(source: Source, structures: str, limit: int, home: str | None) -> Iterator[str]:
    if home is not None:
        yield home
        return
    with tempfile.TemporaryDirectory() as folder:
        strata("ingest", source.dataset, source.source, "--home", folder, "--limit", str(limit))
        strata("build", "--dataset", source.dataset, "--structures", structures, "--home", folder)
        yield folder


def _questions(home: Home, plan: BuildPlan, count: int) -> list[Asked]:
    """`count` questions at equal distances, those of an episode one after the other."""
    found = [
        Asked(shard, episode, question)
        for shard in plan.shards
        for episode, rows in by_episode(read_shard(home, shard.shard, "questions"))
        if episode in shard.episodes
        for question in rows.column("question").to_pylist()
    ]
    return [found[i * len(found) // min(count, len(found))] for i in range(min(count, len(found)))]


def _timed(home: Home, plan: BuildPlan, letter: str, asked: list[Asked]) -> dict[str, Any]:
    structure, usages = plan.structures[letter], defaultdict[str, list[Usage]](list)
    encoder = embedder(Settings().embedder) if "embeddings" in structure.derives else None
    for number, one in enumerate([asked[0], *asked]):
        for name, usage in _ask(home, structure, one, encoder):
            if number:  # the first time imports, and opens the LanceDB table
                usages[name].append(usage)
    result: dict[str, Any] = {name: milliseconds(times) for name, times in usages.items()}
    return {**result, "ratio": round(result["scan"]["cpu_p50_ms"] / max(result["access"]["cpu_p50_ms"], 1e-3), 1)}


def _ask(home: Home, structure: Structure, one: Asked, encoder: Embedder | None) -> Iterator[tuple[str, Usage]]:
    """Ask one question in every way; yield what each cost."""
    shard = built(home, str(one.plan.structures[structure.letter]))
    vector = None if encoder is None else encoder.embed_queries([one.question])[0]
    index, usage = measured(lambda: structure.open(shard, one.episode))
    yield "open", usage
    index.access(Query("What happened?", vector))  # an index may make something at the first question
    yield "access", measured(lambda: index.access(Query(one.question, vector)))[1]
    if encoder is None or vector is None:
        yield "scan", measured(lambda: _by_words(home, one))[1]
        return
    yield "with_embedding", measured(lambda: index.access(Query(one.question, encoder.embed_queries([one.question])[0])))[1]
    yield "scan", measured(lambda: _nearest(shard, one.episode, vector))[1]


def _by_words(home: Home, asked: Asked) -> list[str]:
    """The five steps that share most words with the question."""
    steps = read_shard(home, asked.plan.shard, "steps")
    words = set(tokens(asked.question))
    texts = [render_step(row, 8_000) for row in step_rows(steps.filter(pc.equal(steps["episode_id"], asked.episode)))]
    return sorted(texts, key=lambda text: -len(words.intersection(tokens(text))))[:5]


def _nearest(shard: BuiltShard, episode: str, vector: np.ndarray) -> list[str]:
    """The five steps with the greatest inner product."""
    rows = pq.read_table(f"{shard.folder}/{TABLE}", filesystem=shard.fs)
    rows = rows.filter(pc.equal(rows["episode_id"], episode))
    matrix = np.stack(rows.column("vector").to_numpy())
    best = np.argsort(-(matrix @ vector), kind="stable")[:5]
    return list(rows.column("text").take(best).to_pylist())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--structures", default="S,T,G,V,R", help="letters, such as S,T,G,V,R")
    parser.add_argument("--limit", type=int, default=12, help="how many episodes are built for it")
    parser.add_argument("--questions", type=int, default=100, help="how many questions are asked")
    parser.add_argument("--home", help="a home that is built already")
    options = parser.parse_args()
    print(json.dumps(main(options.structures, options.limit, options.questions, options.home)))
