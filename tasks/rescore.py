"""Scoring answers that were made elsewhere: `strata judge ANSWERS`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from models.aggregate import summarise
from models.agreement import agreements, majority
from models.metrics import METRICS
from models.saved_answers import read_answers
from storage.artifacts import Home
from storage.corpora.locomo import read_audit
from storage.shards import Dataset, read_shard
from tasks.budget import open_budget
from tasks.evaluation import JUDGE, require_dataset, resolve_metric
from tasks.readers import make_judge
from tasks.report import policy_json
from tasks.scoring import Asked, Scored, score_answers
from tasks.settings import Settings, SettingsError


@dataclass(frozen=True)
class RescoreConfig:
    """How saved answers are scored; `dry_run` only counts the judges' calls.

    Several `judges` (empty: that of the settings) judge the same answers, each by itself.
    """

    judges: tuple[str, ...] = ()
    metric: str = "f1"
    audit: str | None = None
    limit: int | None = None
    dry_run: bool = False
    max_tokens: int | None = None
    max_cost: float | None = None


def rescore(home: Home, path: str, dataset: str, settings: Settings, config: RescoreConfig) -> dict[str, Any]:
    """Score the answers in `path` against the questions of an ingested data set.

    Questions without an answer are counted under `missing` and are in no mean. `AnswersError` when the file does not fit the
    questions, `SettingsError` for a metric that needs evidence.
    """
    metric = resolve_metric(config.metric, dataset)
    if metric not in METRICS and metric != JUDGE:
        raise SettingsError(f"--metric {metric} scores evidence, not answers; use f1, judge, {', '.join(METRICS)}")
    live = require_dataset(home, dataset)
    questions = _questions(home, live, config.limit)
    saved = read_answers(path, list(questions.values()))
    scorers = {make_judge(s).name: s for s in _each_judge(settings, config)} if metric == JUDGE else {"": settings}
    if config.dry_run:
        return {"dry_run": True, "judge_calls": len(saved.answers) * len(scorers) if metric == JUDGE else 0}
    asked = [Asked(questions[question], questions[question]["task"], answer) for question, answer in saved.answers.items()]
    budget_id = open_budget(config.max_tokens, config.max_cost, settings.prices)
    scored = {name: score_answers(home, own, metric, asked, budget_id) for name, own in scorers.items()}
    asked_of = [questions[question] for question in saved.answers]
    wrong = {} if config.audit is None else read_audit(config.audit, list(live.live))
    return {
        "dataset": dataset,
        "answers": path,
        "metric": metric,
        "judge": next(iter(scored)),
        **_summary(path, asked_of, next(iter(scored.values())), wrong),
        "missing": len(saved.missing),
        **(_several(asked_of, scored, wrong) if len(scored) > 1 else {}),
    }


def _each_judge(settings: Settings, config: RescoreConfig) -> list[Settings]:
    return [replace(settings, judge=judge) for judge in dict.fromkeys(config.judges)] or [settings]


def _summary(name: str, questions: Sequence[Mapping[str, Any]], scores: Scored, wrong: Mapping[str, str]) -> dict[str, Any]:
    rows = [{**q, "score": score, "status": status} for q, (score, status) in zip(questions, scores, strict=True)]
    return policy_json(name, summarise(rows, wrong_golds=wrong), None)


def _several(
    questions: Sequence[Mapping[str, Any]], scored: Mapping[str, Scored], wrong: Mapping[str, str]
) -> dict[str, Any]:
    """Each judge's scores, how far each two agree, and what most of them say."""
    verdicts = {name: [score for score, _ in scores] for name, scores in scored.items()}
    most: Scored = [(score, "parse_error" if score is None else "ok") for score in majority(list(verdicts.values()))]
    return {
        "judges": [_summary(name, questions, scores, wrong) for name, scores in scored.items()],
        "agreement": [asdict(pair) for pair in agreements(verdicts)],
        "majority": _summary("majority", questions, most, wrong),
    }


def _questions(home: Home, dataset: Dataset, limit: int | None) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for shard, chosen in dataset.live_shards(limit).items():
        episodes = {row["episode_id"]: row for row in read_shard(home, shard, "episodes").to_pylist()}
        for row in read_shard(home, shard, "questions").to_pylist():
            if row["episode_id"] in chosen:
                episode = episodes[row["episode_id"]]
                found[row["question_id"]] = {**row, "domain": episode["domain"], "task": episode["task"]}
    return found
