"""The outcome table that a policy is learned from: a finished sweep as matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.selector.contract import OutcomeTable
from storage.artifacts import Home
from tasks.cases import cases
from tasks.sweep import Sweep, sweep_rows


def outcome_table(home: Home, sweep: Sweep, structures: Sequence[str], metadata: bool = True) -> OutcomeTable:
    """The outcomes of a finished sweep, its questions in the order of the plan.

    A question without a score under any subset (its support says nothing) is left out; a single error is NaN.
    """
    rows = sweep_rows(home, sweep)
    width = len(sweep.subsets)
    column = {subset: i for i, subset in enumerate(sweep.subsets)}
    order = list(dict.fromkeys(row["question_id"] for row in rows))
    place = {question: i for i, question in enumerate(order)}
    scores, tokens = np.full((len(order), width), np.nan), np.zeros((len(order), width))
    for row in rows:
        at = place[row["question_id"]], column[row["subset"]]
        tokens[at] = row["evidence_tokens"]
        if row["status"] == "ok" and row["score"] is not None:
            scores[at] = row["score"]
    seen = {q: case for shard in sweep.shards for q, case in cases(home, shard.shard, structures, metadata).items()}
    kept = [i for i, question in enumerate(order) if not np.isnan(scores[i]).all()]
    return OutcomeTable(tuple(seen[order[i]] for i in kept), sweep.subsets, scores[kept], tokens[kept])
