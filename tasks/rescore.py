"""Scoring answers that were made elsewhere: `strata judge ANSWERS`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from models.aggregate import summarise
from models.metrics import METRICS
from models.saved_answers import read_answers
from storage.artifacts import Home
from storage.corpora.locomo import read_audit
from storage.shards import Dataset, read_shard
from tasks.budget import open_budget
from tasks.evaluation import JUDGE, require_dataset, resolve_metric
from tasks.readers import make_judge
from tasks.report import policy_json
from tasks.scoring import Asked, score_answers
from tasks.settings import Settings, SettingsError


@dataclass(frozen=True)
class RescoreConfig:
    """How saved answers are scored; `dry_run` only counts the judge's calls."""

    metric: str = "f1"
    audit: str | None = None
    limit: int | None = None
    dry_run: bool = False
    max_tokens: int | None = None


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
    if config.dry_run:
        return {"dry_run": True, "judge_calls": len(saved.answers) if metric == JUDGE else 0}
    asked = [Asked(questions[question], questions[question]["task"], answer) for question, answer in saved.answers.items()]
    scores = score_answers(home, settings, metric, asked, open_budget(config.max_tokens))
    rows = [
        {**questions[question], "score": score, "status": status}
        for question, (score, status) in zip(saved.answers, scores, strict=True)
    ]
    wrong = {} if config.audit is None else read_audit(config.audit, list(live.live))
    return {
        "dataset": dataset,
        "answers": path,
        "metric": metric,
        "judge": make_judge(settings).name if metric == JUDGE else "",
        **policy_json(path, summarise(rows, wrong_golds=wrong), None),
        "missing": len(saved.missing),
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
