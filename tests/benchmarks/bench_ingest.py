"""Ingest: the whole command with its Prefect server, and reading and writing alone against the plainest way.

    python -m tests.benchmarks.bench_ingest [--limit N] [--no-command]

Prints one JSON line. `command` is `strata ingest` in an empty home, `again` the same once more, when every episode is
unchanged; `stage` is the ingest task without Prefect. `plain` is what anybody would write first: `json.loads` for each line
and one `pyarrow` write for each table, without cleaning, checking, hashing, shards or token counts (generated episodes are
generated in both). `ratio` is the CPU time of `stage` over that of `plain`, `ratio_without_tokens` without counting tokens.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from models.tokens import count_tokens
from storage.artifacts import Home
from storage.corpora import CORPORA
from storage.corpora.base import ReadReport
from storage.shards import load_dataset, read_shard
from tasks.ingest import ingest_corpus
from tasks.settings import Settings
from tests.benchmarks.source import Source, find_source
from tests.benchmarks.usage import Usage, measured, strata


def main(limit: int | None, with_command: bool) -> dict[str, Any]:
    """Measure both ways on the same episodes."""
    source = find_source()
    result: dict[str, Any] = {"source": source.dataset, "limit": limit}
    with tempfile.TemporaryDirectory() as folder:
        if with_command:
            result |= _command(source, f"{folder}/command", limit)
        home = Home(f"{folder}/stage")
        count_tokens(["load the tokenizer"])
        report, stage = measured(lambda: _stage(source, home, limit))
        texts = _texts(home, source.dataset)
        _, tokens = measured(lambda: count_tokens(texts))
        n_rows, plain = measured(lambda: _plain(source, Path(folder), limit))
    assert n_rows == report["steps"]
    return {
        **result,
        **{name: report[name] for name in ("episodes", "steps", "questions")},
        "stage": stage.as_json(),
        "tokens": tokens.as_json(),
        "plain": plain.as_json(),
        "ratio": _ratio(stage.cpu_s, plain),
        "ratio_without_tokens": _ratio(stage.cpu_s - tokens.cpu_s, plain),
    }


def _command(source: Source, home: str, limit: int | None) -> dict[str, Any]:
    arguments = (
        "ingest",
        source.dataset,
        source.source,
        "--home",
        home,
        *(() if limit is None else ("--limit", str(limit))),
    )
    (_, first), (_, again) = strata(*arguments), strata(*arguments)
    return {"command": first.as_json(), "again": again.as_json()}


def _stage(source: Source, home: Home, limit: int | None) -> dict[str, Any]:
    return ingest_corpus.fn(home.url, source.dataset, source.source, Settings(), limit)


def _texts(home: Home, dataset: str) -> list[str]:
    """What the ingest counts the tokens of."""
    steps = pa.concat_tables([read_shard(home, shard, "steps") for shard in load_dataset(home, dataset).shards])
    return [text for column in ("action", "observation") for text in steps.column(column).to_pylist()]


def _plain(source: Source, folder: Path, limit: int | None) -> int:
    """Write the steps and the questions as they come; return the number of steps."""
    steps, questions = [], []
    for episode in islice(_records(source), limit):
        steps += [{"episode_id": episode["episode_id"], **step} for step in episode["trajectory"]]
        questions += [{"episode_id": episode["episode_id"], **question} for question in episode["qa_pairs"]]
    for name, rows in (("steps", steps), ("questions", questions)):
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    return len(steps)


def _records(source: Source) -> Iterator[dict[str, Any]]:
    if source.dataset == "ama-bench":
        with Path(source.source).open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
        return
    for episode in CORPORA[source.dataset].read(source.source, ReadReport()):
        yield {
            "episode_id": episode.episode_id,
            "trajectory": [{"step": s.step, "action": s.action, "observation": s.observation} for s in episode.steps],
            "qa_pairs": [{"question": q.question, "answer": q.answer} for q in episode.questions],
        }


def _ratio(seconds: float, plain: Usage) -> float:
    return round(seconds / max(plain.cpu_s, 1e-3), 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, help="only the first N episodes")
    parser.add_argument("--no-command", action="store_true", help="leave out the whole command")
    options = parser.parse_args()
    print(json.dumps(main(options.limit, not options.no_command)))
