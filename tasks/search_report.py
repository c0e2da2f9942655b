"""What a search found, in numbers, and its MLflow run: a parent per split, a child per candidate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from storage.artifacts import ArtifactKey, Home, canonical_json
from storage.shards import load_dataset
from tasks.champion import save_champion
from tasks.search import SelectorConfig, score_on_test
from tasks.sweep import Sweep
from tasks.tracking import RunRecord, log_runs


def write_search_report(
    home: Home, sweep: Sweep, config: SelectorConfig, key: ArtifactKey, found: Mapping[str, Any], new: bool
) -> dict[str, Any]:
    """Score the frozen champion on test, log the search, promote the champion if it wins; return the summary.

    A search that was finished before is reported again from its file and logged once.
    """
    path = home.path("policies", sweep.dataset, "runs", f"{str(key).rsplit('/', 1)[-1]}.json")
    saved = None if new else home.read_json(path)
    if saved is not None:
        return dict(saved)
    test = score_on_test(home, sweep, config, found)
    summary = _summary(sweep, config, found, {name: asdict(result) for name, result in test.items()})
    summary["run_id"] = _log(home, sweep, config, found, summary)
    summary["policy"] = save_champion(home, sweep, config, key, found, summary["run_id"])
    home.replace_json(path, summary)
    return summary


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


def _log(home: Home, sweep: Sweep, config: SelectorConfig, found: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    tags = {
        "dataset": sweep.dataset,
        "dataset_hash": load_dataset(home, sweep.dataset).digest,
        "split": str(config.split),
        "answerer": summary["answerer"],
    }
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
