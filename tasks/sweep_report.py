"""What a finished sweep says: counts, the analysis of MESA's section 3.2, what a prefix cache can reuse; and its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from models.compose import PREFIX_ORDER
from models.prefix_cache import PrefixReuse, PromptParts, prefix_reuse
from models.prompts.answer import HEADINGS, render
from models.report.learning import SweepPage
from models.selector.ablation import AblationConfig, AblationRow, ablate
from models.selector.analysis import SweepAnalysis, analyse
from models.selector.contract import OutcomeTable
from models.selector.lookups import ANY
from models.selector.subsets import ORDER, SEPARATOR
from models.splits import SPLITS
from models.tokens import count_tokens
from storage.artifacts import Home, canonical_json, digest
from tasks.outcomes import outcome_table
from tasks.pages import publish, sweep_facts
from tasks.search import part_of, split_of
from tasks.sections import ShardEvidence
from tasks.selector_config import SweepConfig
from tasks.sweep import Sweep, sweep_rows
from tasks.tracking import RunRecord, log_runs


def write_sweep_report(home: Home, sweep: Sweep, config: SweepConfig) -> dict[str, Any]:
    """Summarise a finished sweep; its page and MLflow run are made where its numbers are new. Return the summary."""
    page = sweep_page(home, sweep, config)
    summary = {
        "dataset": sweep.dataset,
        "metric": sweep.metric,
        "answerer": page.answerer or "none",
        "judge": sweep.judge,
        "structures": list(config.structures),
        "questions": page.questions,
        "subsets": len(sweep.subsets),
        "outcomes": page.outcomes,
        "new": sweep.missing,
        "errors": page.errors,
        "parse_errors": page.parse_errors,
        **_analysis_json(page.analysis),
        "held_out": [asdict(row) for row in page.held_out],
        "prefix_cache": {name: _reuse_json(reuse) for name, reuse in page.reuse.items()},
    }
    return {**summary, **publish(home, "sweep", page, lambda texts: _log(home, sweep, summary, texts))}


def sweep_page(home: Home, sweep: Sweep, config: SweepConfig) -> SweepPage:
    """Everything that a finished sweep says."""
    rows = sweep_rows(home, sweep)
    states = Counter(row["status"] for row in rows)
    table = outcome_table(home, sweep, config.structures)
    return SweepPage(
        title=f"{sweep.dataset}: every subset of {', '.join(config.structures)}",
        **sweep_facts(sweep, config.structures, config.cost),
        questions=sweep.questions,
        outcomes=len(rows),
        errors=states["error"],
        parse_errors=states["parse_error"],
        analysis=analyse(table, config.cost),
        reuse=prefix_orders(home, sweep),
        held_out=_held_out(home, sweep, table, config.cost),
        splits=SPLITS,
    )


def _held_out(home: Home, sweep: Sweep, table: OutcomeTable, cost: float) -> tuple[AblationRow, ...]:
    """Fixed selection on the test parts (MESA, Table 9); none when the swept episodes are too few to be split."""
    splits = [split_of(home, sweep, number) for number in range(SPLITS)]
    parts = [part_of(table, episodes) for split in splits for episodes in (split.train, split.validation, split.test)]
    if not all(part.cases for part in parts):
        return ()
    return ablate(table, splits, {}, AblationConfig(cost, reference="")).rows


def _analysis_json(analysis: SweepAnalysis) -> dict[str, Any]:
    """Per subset means, the best subset by domain and capability, sizes of the best, and the per-question oracle."""
    score, tokens = analysis.oracle or (None, None)
    return {
        "by_subset": [
            {"subset": b.subset, "score": b.score, "evidence_tokens": b.tokens, "objective": b.objective}
            for b in analysis.subsets
        ],
        "best": {
            kind: [
                {"cell": [c for c in group.cell if c != ANY], "subset": group.best.subset, "score": group.best.score}
                for group in groups
            ]
            for kind, groups in analysis.groups.items()
        },
        "best_sizes": {name: asdict(sizes) for name, sizes in analysis.sizes.items()},
        "oracle": {"score": score, "evidence_tokens": tokens},
    }


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


def _log(home: Home, sweep: Sweep, summary: Mapping[str, Any], pages: Mapping[str, str]) -> str:
    metrics = {f"score/{entry['subset']}": entry["score"] for entry in summary["by_subset"]}
    metrics |= {f"evidence_tokens/{entry['subset']}": entry["evidence_tokens"] for entry in summary["by_subset"]}
    record = RunRecord(
        name=f"sweep {sweep.metric}",
        params={name: summary[name] or "none" for name in ("metric", "answerer", "judge", "questions", "subsets")},
        metrics={**metrics, "outcomes": float(summary["outcomes"]), "new": float(summary["new"])},
        texts={**pages, "sweep.json": canonical_json(summary), "settings.json": canonical_json(sweep.settings)},
    )
    return log_runs(home, sweep.dataset, "sweep", record)
