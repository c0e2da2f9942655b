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
from typing import Any

from models.router.evaluate import WALK, RecallRow, mean_recall, recall_rows
from models.router.questions import RouterQuestion
from storage.artifacts import Home
from storage.structures.event_walk import WalkConfig
from tasks.router_data import RouterData, read_router_data
from tasks.routers import FOLDS_FILE, load_routers, router_in_use
from tasks.settings import Settings

ANCHORS = (5, 10, 20, 30, 60)
HOPS = (0, 1, 2, 3, 5)


def main(url: str, dataset: str = "locomo") -> None:
    """Print the comparison."""
    home, settings = Home(url), Settings()
    key = router_in_use(home, dataset, settings)
    routers = load_routers(home, key)
    folds = json.loads(home.fs.cat_file(f"{home.require(key)}/{FOLDS_FILE}"))["folds"]
    data = read_router_data(home, dataset, settings)
    in_use = WalkConfig()
    grid = [replace(in_use, anchors=anchors, hops=hops) for anchors, hops in product(ANCHORS, HOPS)]
    chosen: list[WalkConfig] = []
    fixed, tuned = [], []
    for router, fold in zip(routers.folds, folds, strict=True):
        rows = {walk: _rows(data, _of(data, fold["validation"]), router, walk) for walk in grid}
        chosen.append(max(grid, key=lambda walk: sum(row.recall for row in rows[walk])))
        test = _of(data, fold["test"])
        fixed += _rows(data, test, router, in_use)
        tuned += _rows(data, test, router, chosen[-1])
    found: dict[str, Any] = {
        "test_recall": {"in_use": mean_recall(fixed)[WALK], "chosen_on_validation": mean_recall(tuned)[WALK]},
        "chosen": Counter(f"anchors {walk.anchors}, hops {walk.hops}" for walk in chosen),
        "in_use": f"anchors {in_use.anchors}, hops {in_use.hops}",
    }
    print(json.dumps(found))


def _of(data: RouterData, episodes: Sequence[str]) -> list[RouterQuestion]:
    return [question for question in data.questions if question.episode_id in set(episodes)]


def _rows(data: RouterData, questions: Sequence[RouterQuestion], router: Any, walk: WalkConfig) -> list[RecallRow]:
    return [row for row in recall_rows(data.graphs, questions, router, walk) if row.method == WALK]


if __name__ == "__main__":
    main(*sys.argv[1:])
