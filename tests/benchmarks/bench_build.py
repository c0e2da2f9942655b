"""Build: the whole command, once more with nothing new, and with one episode appended; and what counting tokens costs.

    python -m tests.benchmarks.bench_build [--structures S,T,G,R] [--limit N]

Prints one JSON line. `build` is `strata build` of all episodes but the last in a new home, `again` the same with nothing to
do, `append_ingest` and `append_build` what the last episode costs. `stages` are the seconds that the stages took by their
manifests, added up although they run in threads. `evidence_tokens` counts the tokens of all evidence as the build does,
`one_by_one` with one call of the tokenizer for each row; `ratio` is the second's CPU time over the first's.
Embedding takes the encoder's time, which bench_embedding measures, so V is left out unless it is asked for.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from typing import Any

import pyarrow.parquet as pq

from models.tokens import count_composed, count_tokens
from storage.artifacts import Home
from storage.shards import load_dataset
from tasks.inventory import table_parts
from tasks.settings import Settings
from tests.benchmarks.source import Source, find_source
from tests.benchmarks.usage import measured, strata


def main(structures: str, limit: int | None) -> dict[str, Any]:
    """Measure the commands in one home, then the counting of its evidence."""
    source = find_source()
    count = min(limit or source.episodes, source.episodes)
    if count < 2:
        raise ValueError(f"--limit {count}: at least 2 episodes are needed, of which one is appended")
    with tempfile.TemporaryDirectory() as folder:
        commands = _commands(source, folder, structures, count)
        counting = _counting(Home(folder), source.dataset)
    return {"source": source.dataset, "episodes": count, "structures": structures, **commands, **counting}


def _commands(source: Source, home: str, structures: str, count: int) -> dict[str, Any]:
    def ingest(limit: int) -> tuple[dict[str, Any], Any]:
        return strata("ingest", source.dataset, source.source, "--home", home, "--limit", str(limit))

    def build() -> tuple[dict[str, Any], Any]:
        return strata("build", "--dataset", source.dataset, "--structures", structures, "--home", home)

    ingest(count - 1)
    report, first = build()
    repeated, again = build()
    appended, append_ingest = ingest(count)
    added, append_build = build()
    assert repeated["built"] == 0
    assert (appended["new"], added["built"]) == (1, len(added["stages"]))
    return {
        "build": first.as_json(),
        "again": again.as_json(),
        "append_ingest": append_ingest.as_json(),
        "append_build": append_build.as_json(),
        "stages": {name: round(stage["seconds"], 2) for name, stage in report["stages"].items()},
    }


def _counting(home: Home, dataset: str) -> dict[str, Any]:
    parts = table_parts(home, load_dataset(home, dataset), "evidence", Settings())
    rows = [row for part in parts for row in pq.read_table(part.path, columns=["text", "block_starts"]).to_pylist()]
    texts = [row["text"] for row in rows]
    count_tokens(["load the tokenizer"])
    counts, together = measured(lambda: count_composed(texts, [row["block_starts"] for row in rows]))
    reference, one_by_one = measured(lambda: [count_tokens([text])[0] for text in texts])
    assert counts == reference
    return {
        "evidence_rows": len(rows),
        "evidence_tokens": together.as_json(),
        "one_by_one": one_by_one.as_json(),
        "ratio": round(one_by_one.cpu_s / max(together.cpu_s, 1e-3), 2),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--structures", default="S,T,G,R", help="letters, such as S,T,G,V,R")
    parser.add_argument("--limit", type=int, help="only the first N episodes")
    options = parser.parse_args()
    print(json.dumps(main(options.structures, options.limit)))
