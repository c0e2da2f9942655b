"""What a finished sweep says: counts, the analysis of MESA's section 3.2, and what a prefix cache can reuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from models.compose import PREFIX_ORDER
from models.prefix_cache import PrefixReuse, PromptParts, prefix_reuse
from models.prompts.answer import HEADINGS, render
from models.selector.contract import OutcomeTable
from models.selector.lookups import KINDS, best_by, oracle, shares_of_groups, shares_of_questions
from models.selector.subsets import ORDER, SEPARATOR
from models.tokens import count_tokens
from storage.artifacts import Home, canonical_json, digest
from storage.shards import load_dataset
from tasks.outcomes import outcome_table
from tasks.sections import ShardEvidence
from tasks.sweep import Sweep, SweepConfig, sweep_rows
from tasks.tracking import RunRecord, log_runs


def write_sweep_report(home: Home, sweep: Sweep, config: SweepConfig) -> dict[str, Any]:
    """Summarise a finished sweep, log it to MLflow where anything was new, and return the summary."""
    rows = sweep_rows(home, sweep)
    states = Counter(row["status"] for row in rows)
    summary = {
        "dataset": sweep.dataset,
        "metric": sweep.metric,
        "answerer": sweep.settings.answerer if sweep.needs_answers else "none",
        "judge": sweep.judge,
        "structures": list(config.structures),
        "questions": sweep.questions,
        "subsets": len(sweep.subsets),
        "outcomes": len(rows),
        "new": sweep.missing,
        "errors": states["error"],
        "parse_errors": states["parse_error"],
        **analyse(outcome_table(home, sweep, config.structures), config.cost),
        "prefix_cache": {name: _reuse_json(reuse) for name, reuse in prefix_orders(home, sweep).items()},
    }
    if sweep.missing:
        summary["run_id"] = _log(home, sweep, summary)
    return summary


def analyse(table: OutcomeTable, cost: float) -> dict[str, Any]:
    """Per subset means, the best subset by domain and capability, sizes of the best, and the per-question oracle.

    These describe the outcomes that they are computed from; nothing here is a held-out result.
    """
    subsets = [
        {"subset": name, "score": float(score), "evidence_tokens": float(tokens), "objective": float(score - cost * tokens)}
        for name, score, tokens in zip(
            table.subsets, np.nanmean(table.scores, axis=0), table.tokens.mean(axis=0), strict=True
        )
    ]
    groups = {kind: best_by(table, cost, kind) for kind in KINDS}
    choice = oracle(table, cost)
    at = [table.subsets.index(subset) for subset in choice]
    questions = np.arange(len(choice))
    return {
        "by_subset": subsets,
        "best": {
            kind: [
                {"cell": [c for c in best.cell if c != "*"], "subset": best.subset, "score": best.score} for best in found
            ]
            for kind, found in groups.items()
        },
        "best_sizes": {
            "categories": _shares_json(shares_of_groups([*groups["domain"], *groups["capability"]], table)),
            "questions": _shares_json(shares_of_questions(table, cost)),
        },
        "oracle": {
            "score": float(np.nanmean(table.scores[questions, at])),
            "evidence_tokens": float(table.tokens[questions, at].mean()),
        },
    }


def _shares_json(shares: Any) -> dict[str, int]:
    return {name: getattr(shares, name) for name in ("single", "intermediate", "full", "undecided")}


def prefix_orders(home: Home, sweep: Sweep) -> dict[str, PrefixReuse]:
    """What a prefix cache can reuse of the sweep's prompts under the paper's order of sections and under `prefix`."""
    episodes = [parts for shard in sweep.shards for parts in _prompt_parts(home, sweep, shard).values()]
    return {
        name: prefix_reuse(episodes, sweep.subsets, order)
        for name, order in (("paper", tuple(HEADINGS)), ("prefix", PREFIX_ORDER))
    }


def _prompt_parts(home: Home, sweep: Sweep, shard: Any) -> dict[str, list[PromptParts]]:
    source = ShardEvidence(home, shard.shard.shard, shard.evidence, sweep.settings.compose)
    questions = list(dict.fromkeys(question for question, _ in shard.wanted))
    tails = count_tokens([render(source.questions[q]["question"], "", ()) for q in questions])
    tasks = count_tokens([source.task(q) for q in questions])
    everything = SEPARATOR.join(letter for letter in ORDER if letter in shard.evidence)
    episodes: dict[str, list[PromptParts]] = {}
    for question, task_tokens, tail_tokens in zip(questions, tasks, tails, strict=True):
        sections = {s.structure: (digest(s.text), s.n_tokens) for s in source.sections(question, everything)}
        parts = PromptParts(task_tokens, tail_tokens, sections)
        episodes.setdefault(source.questions[question]["episode_id"], []).append(parts)
    return episodes


def _reuse_json(reuse: PrefixReuse) -> dict[str, float]:
    return {
        "prompt_tokens": reuse.prompt_tokens,
        "computed_tokens": reuse.computed_tokens,
        "reused_share": round(reuse.reused_share, 4),
        "ratio": round(reuse.ratio, 3),
    }


def _log(home: Home, sweep: Sweep, summary: Mapping[str, Any]) -> str:
    metrics = {f"score/{entry['subset']}": entry["score"] for entry in summary["by_subset"]}
    metrics |= {f"evidence_tokens/{entry['subset']}": entry["evidence_tokens"] for entry in summary["by_subset"]}
    record = RunRecord(
        name=f"sweep {sweep.metric}",
        params={name: summary[name] or "none" for name in ("metric", "answerer", "judge", "questions", "subsets")},
        metrics={**metrics, "outcomes": float(summary["outcomes"]), "new": float(summary["new"])},
        tags={"dataset": sweep.dataset, "dataset_hash": load_dataset(home, sweep.dataset).digest},
        texts={"sweep.json": canonical_json(summary), "settings.json": canonical_json(sweep.settings)},
    )
    return log_runs(home, sweep.dataset, "sweep", record)
