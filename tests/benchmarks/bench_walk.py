"""Does the walk's setting generalise? Anchors and hops chosen on each fold's validation conversations, scored on its tests.

    python -m tests.benchmarks.bench_walk HOME [DATASET]

HOME holds a trained router (`strata train-router`), whose weights are used as they are. Prints one JSON object: the evidence
recall on the test conversations with the settings in use, and with those that each fold's validation conversations choose.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from models.metrics.evidence_recall import evidence_recall
from models.router.evaluate import DEPTHS
from models.router.learned import LearnedRouter
from storage.artifacts import Home
from storage.structures.event_walk import WalkConfig, traverse
from tasks.router_data import RouterData, read_router_data
from tasks.routers import FOLDS_FILE, load_routers, router_in_use
from tasks.settings import Settings

ANCHORS = (5, 10, 20, 30, 60)
HOPS = (0, 1, 2, 3, 5)
IN_USE = WalkConfig()
GRID = [replace(IN_USE, anchors=anchors, hops=hops) for anchors, hops in product(ANCHORS, HOPS)]


def main(url: str, dataset: str = "locomo") -> None:
    """Print the comparison."""
    home, settings = Home(url), Settings()
    key = router_in_use(home, dataset, settings)
    folds = json.loads(home.fs.cat_file(f"{home.require(key)}/{FOLDS_FILE}"))["folds"]
    data = read_router_data(home, dataset, settings)
    chosen: list[WalkConfig] = []
    fixed, tuned = [], []
    for router, fold in zip(load_routers(home, key).folds, folds, strict=True):
        best = int(recalls(data, fold["validation"], router).mean(axis=(0, 2)).argmax())
        test = recalls(data, fold["test"], router)
        chosen.append(GRID[best])
        fixed.append(test[:, GRID.index(IN_USE)])
        tuned.append(test[:, best])
    found = {
        "test_recall": {"in_use": _by_depth(fixed), "chosen_on_validation": _by_depth(tuned)},
        "chosen": Counter(map(_name, chosen)),
        "in_use": _name(IN_USE),
    }
    print(json.dumps(found))


def recalls(data: RouterData, episodes: Sequence[str], router: LearnedRouter) -> NDArray[np.float64]:
    """Evidence recall of every question about `episodes`, by setting and depth: (Q, G, D). A question is judged once."""
    rows = []
    for question in data.questions:
        if question.episode_id in episodes:
            graph = data.graphs[question.episode_id]
            asked = (graph, question.text, question.vector, question.intent)
            judgement = router.judge(*asked)
            orders = [
                [traverse(*asked, judgement, replace(walk, budget=depth)).order[:depth] for depth in DEPTHS] for walk in GRID
            ]
            rows.append(
                [[evidence_recall(graph.steps[list(o)].tolist(), question.targets) for o in by_depth] for by_depth in orders]
            )
    return np.array(rows, dtype=np.float64)


def _by_depth(folds: Sequence[NDArray[np.float64]]) -> dict[int, float]:
    return dict(zip(DEPTHS, np.concatenate(folds).mean(axis=0).round(4).tolist(), strict=True))


def _name(walk: WalkConfig) -> str:
    return f"anchors {walk.anchors}, hops {walk.hops}"


if __name__ == "__main__":
    main(*sys.argv[1:])
