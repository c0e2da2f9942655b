"""What a search found: its numbers, its page, and its MLflow run, a parent per split with a child per candidate."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from models.report.learning import FoundPolicy, PartResult, SearchPage, Trial
from models.selector.analysis import StructureUse, structure_use
from models.selector.contract import ArmStats, Evaluation
from models.selector.lookups import letters_of
from storage.artifacts import ArtifactKey, Home, canonical_json
from tasks.champion import save_champion
from tasks.outcomes import outcome_table
from tasks.pages import page_paths, publish, sweep_facts
from tasks.search import part_of, run_champion, score_on_test
from tasks.selector_config import SelectorConfig
from tasks.sweep import Sweep
from tasks.tracking import RunRecord, log_runs


def write_search_report(
    home: Home, sweep: Sweep, config: SelectorConfig, key: ArtifactKey, found: Mapping[str, Any], new: bool
) -> dict[str, Any]:
    """Score the frozen champion on test, log the search, promote the champion if it wins; return the summary.

    A search that was finished before is reported again from its file and logged once; a lost page is made again.
    """
    path = home.path("policies", sweep.dataset, "runs", f"{'-'.join(str(key).split('/')[-2:])}.json")
    saved = None if new else home.read_json(path)
    if saved is not None and "page" in saved and home.has(saved["page"]):
        return {**saved, **page_paths(home, saved["page"])}
    test = score_on_test(home, sweep, config, found)
    summary = saved or _summary(sweep, config, found, {name: asdict(result) for name, result in test.items()})

    def log(pages: Mapping[str, str]) -> str:
        return saved["run_id"] if saved else _log(home, sweep, config, found, summary, pages)

    page = search_page(home, sweep, config, key, found, test)
    published = publish(home, "search", page, log)
    summary |= {"run_id": published["run_id"], "page": published["page"]}
    if "policy" not in summary:
        summary["policy"] = save_champion(home, sweep, config, key, found, summary["run_id"])
    home.replace_json(path, summary)
    return {**summary, **published}


def search_page(
    home: Home,
    sweep: Sweep,
    config: SelectorConfig,
    key: ArtifactKey,
    found: Mapping[str, Any],
    test: Mapping[str, Evaluation],
) -> SearchPage:
    """Everything that a finished search says. Of the test part it has what was measured on it, once, in `test`."""
    champion, baseline = found["champion"], found["archive"][0]
    on_validation = {name: Evaluation(**e["validation"]) for name, e in (("champion", champion), ("all", baseline))}
    return SearchPage(
        title=f"{sweep.dataset}: a policy that selects what to read",
        **sweep_facts(sweep, config.structures, config.cost),
        split=config.split,
        proposer=config.proposer,
        search=str(key),
        champion=FoundPolicy(
            **{name: champion[name] for name in ("id", "direction", "role", "note", "source")},
            params=canonical_json(champion["params"]),
        ),
        results=tuple(
            PartResult(policy, part, evaluations[policy])
            for part, evaluations in (("test", test), ("validation", on_validation))
            for policy in ("champion", "all")
        ),
        curve=tuple(found["curve"]),
        baseline=baseline["validation"]["objective"],
        trials=tuple(_trial(candidate) for candidate in found["candidates"]),
        arms=tuple(ArmStats(**arm) for arm in found["arms"]),
        tries=found["tries"],
        use=_use_on_validation(home, sweep, config, found),
        notes=tuple(f"The {gap['part']} part has no episode of {gap['kind']} {gap['value']}." for gap in found["uncovered"]),
    )


def _trial(candidate: Mapping[str, Any]) -> Trial:
    evaluation = candidate["evaluation"] or {}
    objective = evaluation.get("objective")
    known = objective is not None and math.isfinite(objective)
    return Trial(
        candidate["iteration"],
        candidate["proposal"]["role"],
        candidate["status"],
        candidate["reason"],
        objective if known else None,
    )


def _use_on_validation(
    home: Home, sweep: Sweep, config: SelectorConfig, found: Mapping[str, Any]
) -> tuple[StructureUse, ...]:
    """What the champion selects on validation, by cell, also where the policy itself was not told the cell."""
    seen = part_of(outcome_table(home, sweep, config.structures, config.metadata), found["split"]["validation"])
    chosen = run_champion(found["champion"], seen.cases, letters_of(seen))
    told = seen
    if not config.metadata:
        told = part_of(outcome_table(home, sweep, config.structures), found["split"]["validation"])
    return structure_use(told.cases, [selection.subset for selection in chosen])


def _summary(sweep: Sweep, config: SelectorConfig, found: Mapping[str, Any], test: Mapping[str, Any]) -> dict[str, Any]:
    champion = found["champion"]
    states = Counter(candidate["status"] for candidate in found["candidates"])
    return {
        "dataset": sweep.dataset,
        "metric": sweep.metric,
        "answerer": sweep.settings.answerer if sweep.needs_answers else "none",
        "split": config.split,
        "proposer": config.proposer,
        "lambda": config.cost,
        "beta": config.beta,
        "candidates": len(found["candidates"]),
        "valid": states["valid"],
        "invalid": states["invalid"],
        "duplicates": states["duplicate"],
        "directions_visited": sum(tries > 0 for tries in found["tries"].values()),
        "directions": len(found["tries"]),
        "champion": {name: champion[name] for name in ("id", "direction", "role", "note", "source")},
        "validation": champion["validation"],
        "validation_objective": champion["validation"]["objective"],
        "all_validation_objective": found["archive"][0]["validation"]["objective"],
        "test": test["champion"],
        "test_all": test["all"],
        "episodes": {name: len(ids) for name, ids in found["split"].items()},
        "uncovered": found["uncovered"],
    }


def _log(
    home: Home,
    sweep: Sweep,
    config: SelectorConfig,
    found: Mapping[str, Any],
    summary: Mapping[str, Any],
    pages: Mapping[str, str],
) -> str:
    tags = {"split": str(config.split), "answerer": summary["answerer"]}
    params = {name: summary[name] for name in ("metric", "split", "proposer", "lambda", "beta", "candidates")}
    parent = RunRecord(
        name=f"search split {config.split}",
        params=params,
        metrics={
            "validation_objective": summary["validation_objective"],
            "all_validation_objective": summary["all_validation_objective"],
            **{f"test/{name}": float(summary["test"][name]) for name in ("score", "tokens", "objective")},
            **{f"test_all/{name}": float(summary["test_all"][name]) for name in ("score", "tokens", "objective")},
        },
        tags=tags,
        texts={
            **pages,
            "champion.py": found["champion"]["source"],
            "champion.json": canonical_json(found["champion"]),
            "archive.json": canonical_json(found["archive"]),
            "ucb.json": canonical_json(found["arms"]),
            "settings.json": canonical_json({"search": config, "settings": sweep.settings}),
        },
        curves={"best_objective": found["curve"]},
    )
    return log_runs(home, sweep.dataset, "search", parent, [_child(candidate) for candidate in found["candidates"]])


def _child(candidate: Mapping[str, Any]) -> RunRecord:
    proposal, evaluation = candidate["proposal"], candidate["evaluation"]
    metrics = {} if evaluation is None else {name: float(evaluation[name]) for name in ("score", "tokens", "objective")}
    return RunRecord(
        name=candidate["id"],
        params={"direction": proposal["direction"], "role": proposal["role"], "iteration": candidate["iteration"]},
        metrics={name: value for name, value in metrics.items() if value == value},
        tags={"status": candidate["status"], "reason": candidate["reason"][:500], "parent": proposal["parent"]},
        texts={"policy.py": proposal["source"]},
    )
