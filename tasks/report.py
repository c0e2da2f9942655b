"""The report of an evaluation: from outcome tables to a page, a summary, Prefect artifacts and MLflow runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from models.aggregate import PolicySummary, Summary, summarise_by
from models.report.data import PolicyRow, ReportData, StructureRow
from models.report.page import render_html, render_markdown
from models.retrieval import AccessSummary, summarise_access
from models.selector.subsets import ORDER
from storage.artifacts import ArtifactError, ArtifactKey, Home, canonical_json
from storage.corpora.locomo import read_audit
from storage.shards import load_dataset, read_shard
from storage.tables import TABLE
from tasks.evaluation import SUPPORT, Evaluation
from tasks.pages import HTML, MARKDOWN, origin, page_paths, show_page, write_page
from tasks.sections import evidence_rows, letters_of
from tasks.tracking import RunRecord, log_runs

VERSION = 3


def latest_path(home: Home, dataset: str) -> str:
    """The small file that points to the last evaluation of a data set."""
    return home.path("corpora", dataset, "evaluation.json")


def write_report(home: Home, evaluation: Evaluation, audit: str | None) -> dict[str, Any]:
    """Write the report of a finished evaluation, or find it written, and return its summary.

    The summary is what `--json` prints. Equal outcomes give the same report folder, and no second MLflow run.
    """
    wrong = _wrong_golds(home, evaluation.dataset, audit)
    key = _key(evaluation, wrong)
    if not home.has(key):
        data, summary = _report(home, evaluation, wrong)
        texts = {HTML: render_html(data), MARKDOWN: render_markdown(data)}
        summary["run_id"] = _log(home, evaluation, data, summary, texts)
        write_page(home, key, {**texts, "summary.json": canonical_json(summary)})
        show_page(evaluation.dataset, "report", texts[MARKDOWN])
        _show_scores(evaluation.dataset, summary)
    home.replace_json(
        latest_path(home, evaluation.dataset),
        {
            "report": str(key),
            "answers": [str(plan.answers) for plan in evaluation.plans if evaluation.needs_answers],
            "outcomes": [str(outcome) for plan in evaluation.plans for outcome in _outcome_keys(evaluation, plan)],
        },
    )
    return read_report(home, str(key))


def read_report(home: Home, key: str) -> dict[str, Any]:
    """The summary of a report with the paths of its pages."""
    folder = home.require(key)
    summary: dict[str, Any] = json.loads(home.fs.cat_file(f"{folder}/summary.json"))
    return {**summary, **page_paths(home, key)}


def read_latest(home: Home, dataset: str) -> dict[str, Any]:
    """The summary of the last evaluation with its Markdown text. `ArtifactError` when there is none."""
    latest = home.read_json(latest_path(home, dataset))
    if latest is None:
        raise ArtifactError(f"{dataset} has no evaluation in {home.url}: run `strata evaluate --dataset {dataset}` first")
    summary = read_report(home, latest["report"])
    return {**summary, "text": home.fs.cat_file(summary["markdown"]).decode("utf-8")}


def _key(evaluation: Evaluation, wrong: Mapping[str, str]) -> ArtifactKey:
    outcomes = [str(outcome) for plan in evaluation.plans for outcome in _outcome_keys(evaluation, plan)]
    named = [f"{plan.policy}:{plan.support}" for plan in evaluation.plans]
    config = {"policies": evaluation.policies, "notes": evaluation.notes, "wrong_golds": sorted(wrong)}
    return ArtifactKey("reports", evaluation.dataset, VERSION, config, (*outcomes, *named))


def _outcome_keys(evaluation: Evaluation, plan: Any) -> Iterable[ArtifactKey]:
    return (plan.outcomes, plan.support) if evaluation.needs_answers else (plan.support,)


def _wrong_golds(home: Home, dataset: str, audit: str | None) -> dict[str, str]:
    return {} if audit is None else read_audit(audit, list(load_dataset(home, dataset).live))


def _report(home: Home, evaluation: Evaluation, wrong: Mapping[str, str]) -> tuple[ReportData, dict[str, Any]]:
    questions = _questions(home, evaluation)
    scores = summarise_by(_rows(home, evaluation, questions, support=not evaluation.needs_answers), wrong_golds=wrong)
    supports = summarise_by(_rows(home, evaluation, questions, support=True), wrong_golds=wrong)
    access = _access(home, evaluation, questions)
    costs = {letter: _build_cost(home, evaluation, letter) for letter in access}
    data = ReportData(
        title=f"{evaluation.dataset}: accuracy against token cost",
        dataset=evaluation.dataset,
        metric=evaluation.metric,
        answerer=evaluation.answerer,
        judge=evaluation.judge,
        split="" if evaluation.split is None else f"{evaluation.split}, test part",
        policies=tuple(
            _policy_row(name, scores[name], supports.get(name), evaluation, access, costs) for name in evaluation.policies
        ),
        structures=tuple(_structure_row(letter, access[letter], evaluation, costs[letter]) for letter in access),
        warnings=_warnings(home, evaluation.dataset),
        notes=_notes(evaluation),
        **origin(),
    )
    return data, _summary(evaluation, scores, supports, access)


def _questions(home: Home, evaluation: Evaluation) -> dict[str, dict[str, Any]]:
    """Every question of the evaluation with its episode's domain, by id."""
    asked = {question for plan in evaluation.plans for question, _ in plan.assignment}
    found: dict[str, dict[str, Any]] = {}
    for plan in evaluation.build.shards:
        episodes = {row["episode_id"]: row for row in read_shard(home, plan.shard, "episodes").to_pylist()}
        for row in read_shard(home, plan.shard, "questions").to_pylist():
            if row["question_id"] in asked:
                found[row["question_id"]] = {**row, "domain": episodes[row["episode_id"]]["domain"]}
    return found


def _rows(
    home: Home, evaluation: Evaluation, questions: Mapping[str, Mapping[str, Any]], *, support: bool
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for plan in evaluation.plans:
        key = plan.support if support else plan.outcomes
        table: pa.Table = pq.read_table(f"{home.require(key)}/{TABLE}", filesystem=home.fs)
        for row in table.to_pylist():
            if row["metric"] == SUPPORT and row["score"] is None:
                continue
            question = questions[row["question_id"]]
            rows.append({**row, "policy": plan.policy, "capability": question["capability"], "domain": question["domain"]})
    return rows


def _access(home: Home, evaluation: Evaluation, questions: Mapping[str, Mapping[str, Any]]) -> dict[str, AccessSummary]:
    """How each structure that some policy reads works by itself, in the fixed order."""
    used = letters_of({subset for plan in evaluation.plans for _, subset in plan.assignment})
    return {
        letter: summarise_access(
            [row for shard in evaluation.build.shards for row in evidence_rows(home, str(shard.evidence[letter])).values()],
            questions,
        )
        for letter in ORDER
        if letter in used
    }


def _build_cost(home: Home, evaluation: Evaluation, letter: str) -> tuple[float, float]:
    """(seconds, tokens) of everything that a structure is built from; a derived table counts for each that needs it."""
    seconds = tokens = 0.0
    for shard in evaluation.build.shards:
        derived = [shard.derived[name][1] for name in evaluation.build.structures[letter].derives]
        for key in (*derived, shard.structures[letter]):
            manifest = home.manifest(key) or {}
            seconds += manifest.get("seconds", 0.0)
            tokens += manifest.get("tokens", 0)
    return seconds, tokens


def _policy_row(
    name: str,
    summary: PolicySummary,
    supports: PolicySummary | None,
    evaluation: Evaluation,
    access: Mapping[str, AccessSummary],
    costs: Mapping[str, tuple[float, float]],
) -> PolicyRow:
    letters = letters_of({subset for plan in evaluation.plans if plan.policy == name for _, subset in plan.assignment})
    return PolicyRow(
        name=name,
        summary=summary,
        support=None if supports is None or evaluation.metric == SUPPORT else supports.overall.score,
        build_seconds=sum(costs[letter][0] for letter in letters),
        build_tokens=sum(costs[letter][1] for letter in letters),
        access_p50_ms=_slowest(access[letter].p50_ms for letter in letters),
        access_p95_ms=_slowest(access[letter].p95_ms for letter in letters),
    )


def _slowest(milliseconds: Iterable[float | None]) -> float | None:
    """Structures are accessed side by side, so the slowest one decides."""
    return max((value for value in milliseconds if value is not None), default=None)


def _structure_row(letter: str, access: AccessSummary, evaluation: Evaluation, cost: tuple[float, float]) -> StructureRow:
    return StructureRow(
        letter=letter,
        name=evaluation.build.structures[letter].name,
        evidence_tokens=access.evidence_tokens,
        recall=access.recall,
        recall_n=access.recall_n,
        support=access.support,
        support_n=access.support_n,
        build_seconds=cost[0],
        build_tokens=cost[1],
        access_p50_ms=access.p50_ms,
        access_p95_ms=access.p95_ms,
    )


def _warnings(home: Home, dataset: str) -> dict[str, int]:
    report = home.read_json(home.path("corpora", dataset, "ingest.json")) or {}
    return {**report.get("warnings", {}), **report.get("cleaned", {})}


def _notes(evaluation: Evaluation) -> tuple[str, ...]:
    if evaluation.answerer != "extractive":
        return evaluation.notes
    return (
        *evaluation.notes,
        "The extractive reader is a stand-in that copies spans of the evidence: its scores compare the plumbing, not what a "
        "language model would answer. `support` is the model-free measure of what each structure brings.",
    )


def _summary(
    evaluation: Evaluation,
    scores: Mapping[str, PolicySummary],
    supports: Mapping[str, PolicySummary],
    access: Mapping[str, AccessSummary],
) -> dict[str, Any]:
    policies = [policy_json(name, scores[name], supports.get(name)) for name in evaluation.policies]
    return {
        "dataset": evaluation.dataset,
        "metric": evaluation.metric,
        "answerer": evaluation.answerer,
        "judge": evaluation.judge,
        "split": evaluation.split,
        "notes": list(evaluation.notes),
        **(policies[0] if len(policies) == 1 else {}),
        "policies": policies,
        "evidence_recall": {letter: summary.recall for letter, summary in access.items()},
        "structures": {letter: _access_json(summary) for letter, summary in access.items()},
    }


def policy_json(name: str, scores: PolicySummary, supports: PolicySummary | None) -> dict[str, Any]:
    """A policy's numbers as the command line prints them."""
    overall = scores.overall
    return {
        "policy": name,
        "score": overall.score,
        "interval": overall.interval,
        "n": overall.n,
        "errors": overall.errors,
        "parse_errors": overall.parse_errors,
        "overall": _score_json(overall),
        "by_capability": {capability: _score_json(s) for capability, s in scores.by_capability.items()},
        "by_domain": {domain: _score_json(s) for domain, s in scores.by_domain.items()},
        "cell_mean": scores.cell_mean,
        "adversarial": None if scores.adversarial is None else _score_json(scores.adversarial),
        "audited": None if scores.audited is None else _score_json(scores.audited),
        "evidence_tokens": overall.evidence_tokens,
        "structures_per_question": overall.n_structures,
        "support": None if supports is None else supports.overall.score,
        "support_n": 0 if supports is None else supports.overall.n,
    }


def _score_json(summary: Summary) -> dict[str, Any]:
    return {"score": summary.score, "n": summary.n, "interval": summary.interval}


def _access_json(summary: AccessSummary) -> dict[str, Any]:
    names = ("evidence_tokens", "recall", "recall_n", "support", "support_n", "localised", "p50_ms", "p95_ms")
    return {name: getattr(summary, name) for name in names}


def _show_scores(dataset: str, summary: Mapping[str, Any]) -> None:
    from prefect.artifacts import create_table_artifact
    from prefect.context import FlowRunContext

    if FlowRunContext.get() is None:
        return
    columns = ("policy", "score", "n", "errors", "parse_errors", "evidence_tokens", "structures_per_question", "support")
    table = [{name: policy[name] for name in columns} for policy in summary["policies"]]
    create_table_artifact(table, key=f"strata-{dataset}-scores", description=f"Scores of {dataset}")


def _log(home: Home, evaluation: Evaluation, data: ReportData, summary: Mapping[str, Any], pages: Mapping[str, str]) -> str:
    """One MLflow run for the evaluation with a child per policy; return its id."""
    params = {"metric": evaluation.metric, "answerer": evaluation.answerer, "judge": evaluation.judge or "none"}
    texts = {**pages, "settings.json": canonical_json(evaluation.settings)}
    parent = RunRecord(f"evaluate {evaluation.metric}", {**params, "policies": len(data.policies)}, texts=texts)
    children = [
        RunRecord(policy["policy"], {**params, "policy": policy["policy"]}, _metrics(policy))
        for policy in summary["policies"]
    ]
    return log_runs(home, evaluation.dataset, "evaluate", parent, children)


def _metrics(policy: Mapping[str, Any]) -> dict[str, float]:
    names = ("score", "n", "errors", "parse_errors", "evidence_tokens", "structures_per_question", "support", "cell_mean")
    values = {name: policy[name] for name in names}
    for group in ("by_capability", "by_domain"):
        values |= {f"{group}/{name}": entry["score"] for name, entry in policy[group].items()}
    return {name: float(value) for name, value in values.items() if value is not None}
