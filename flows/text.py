"""The command line's output for people: tables on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

Result = dict[str, Any]


def ingest(result: Result) -> None:
    """What was read and what was odd about it."""
    out = _console()
    out.print(f"{result['dataset']}: {result['episodes']:,} episodes, {result['steps']:,} steps")
    out.print(
        f"  {result['questions']:,} questions; "
        f"{result['new']} new, {result['changed']} changed, {result['unchanged']} unchanged, {result['duplicate']} duplicate"
    )
    for name, count in {**result["warnings"], **result["cleaned"]}.items():
        out.print(f"  {name.replace('_', ' ')}: {count:,}")


def build(result: Result) -> None:
    """What was built, by stage."""
    table = Table(title=f"{result['dataset']}: {result['built']} built, {result['cached']} cached", title_justify="left")
    for column in ("stage", "artifacts", "built now", "rows", "seconds", "tokens"):
        table.add_column(column, justify="left" if column == "stage" else "right")
    for name, s in result["stages"].items():
        table.add_row(
            name, str(s["artifacts"]), str(s["built"]), f"{s['rows']:,}", f"{s['seconds']:.1f}", f"{s['tokens']:,}"
        )
    _console().print(table)


def pipeline(result: Result) -> None:
    """The three stages of `strata run`."""
    ingest(result["ingest"])
    _console().print(f"build: {result['build']['built']} artifacts built, {result['build']['cached']} cached")
    evaluation(result)


def evaluation(result: Result) -> None:
    """The table of policies and where the report is, or the estimate of a dry run."""
    out = _console()
    if result.get("dry_run"):
        _lines(out, result)
        return
    out.print(policy_table(result))
    for note in result["notes"]:
        out.print(f"note: {escape(note)}")
    out.print(f"report: {result['report']}", soft_wrap=True)


def policy_table(result: Result) -> Table:
    """Score against cost, one row per policy, best first."""
    judged = f", judged by {result['judge']}" if result["judge"] else ""
    title = f"{result['dataset']}: {result['metric']}, answers by {result['answerer']}{judged}"
    table = Table(title=escape(title), title_justify="left")
    table.add_column("policy")
    for column in ("score", "95 % interval", "n", "errors", "parse errors", "evidence tokens", "structures", "support"):
        table.add_column(column, justify="right")
    for row in sorted(result["policies"], key=lambda row: -(row["score"] or 0.0)):
        low_high = "–" if row["interval"] is None else f"{row['interval'][0]:.3f}–{row['interval'][1]:.3f}"
        counts = (str(row["n"]), str(row["errors"]), str(row["parse_errors"]))
        costs = (_number(row["evidence_tokens"], 0), _number(row["structures_per_question"], 1), _number(row["support"], 3))
        table.add_row(escape(row["policy"]), _number(row["score"], 3), low_high, *counts, *costs)
    return table


def swept(result: Result) -> None:
    """Counts of a sweep, its best subsets, and what a prefix cache saves; or the estimate of a dry run."""
    out = _console()
    if result.get("dry_run"):
        _lines(out, result)
        return
    out.print(
        f"{result['dataset']}: {result['questions']:,} questions x {result['subsets']} subsets = "
        f"{result['outcomes']:,} outcomes, {result['new']:,} new; "
        f"errors {result['errors']}, parse errors {result['parse_errors']}"
    )
    table = Table(title=f"{result['metric']}, answers by {escape(result['answerer'])}", title_justify="left")
    for column in ("subset", "score", "evidence tokens", "objective"):
        table.add_column(column, justify="left" if column == "subset" else "right")
    for row in sorted(result["by_subset"], key=lambda row: -row["objective"]):
        numbers = (_number(row["score"], 4), _number(row["evidence_tokens"], 0), _number(row["objective"], 4))
        table.add_row(row["subset"], *numbers)
    out.print(table)
    oracle = result["oracle"]
    out.print(f"per-question oracle: {_number(oracle['score'], 4)} at {_number(oracle['evidence_tokens'], 0)} tokens")
    for name, reuse in result["prefix_cache"].items():
        saved = f"{reuse['reused_share']:.1%} of prompt tokens reused, {reuse['ratio']:.1f} times fewer to compute"
        out.print(f"prefix cache, {name} order: {saved}")
    out.print(f"page: {result['report']}", soft_wrap=True)


def searched(result: Result) -> None:
    """The champion of a search, on validation and on test."""
    out = _console()
    out.print(
        f"{result['dataset']}, split {result['split']}: {result['candidates']} candidates, {result['invalid']} invalid, "
        f"{result['duplicates']} duplicates; {result['directions_visited']} of {result['directions']} directions visited"
    )
    table = Table(title=f"{result['metric']}, answers by {escape(result['answerer'])}", title_justify="left")
    for column in ("policy", "part", "score", "evidence tokens", "objective", "structures", "n"):
        table.add_column(column, justify="left" if column in ("policy", "part") else "right")
    for name, part, row in (
        ("champion", "validation", result["validation"]),
        ("champion", "test", result["test"]),
        ("all", "test", result["test_all"]),
    ):
        numbers = (_number(row["score"], 4), _number(row["tokens"], 0), _number(row["objective"], 4))
        table.add_row(name, part, *numbers, _number(row["n_structures"], 2), str(row["n"]))
    out.print(table)
    policy_ = result["policy"]
    out.print(f"policy {policy_['name']}: {'promoted' if policy_['promoted'] else 'not promoted'}, {policy_['reason']}")
    out.print(f"page: {result['report']}", soft_wrap=True)


def ablated(result: Result) -> None:
    """The ablation table, best objective first, and what the differences are worth."""
    out = _console()
    title = f"{result['dataset']}: {result['metric']}, answers by {escape(result['answerer'])}, {result['splits']} splits"
    table = Table(title=f"{title}, lambda {result['lambda']:g}", title_justify="left")
    for column in ("method", "score", "std", "evidence tokens", "structures", "objective", "std", "mesa minus it, 95 %"):
        table.add_column(column, justify="left" if column == "method" else "right")
    gaps = {entry["other"]: entry["objective"] for entry in result["differences"]}
    for row in sorted(result["rows"], key=lambda row: -row["objective"]):
        score = (_number(row["score"], 4), _number(row["score_std"], 4), _number(row["evidence_tokens"], 0))
        objective = (_number(row["structures"], 2), _number(row["objective"], 4), _number(row["objective_std"], 4))
        table.add_row(row["name"], *score, *objective, _gap(gaps.get(row["name"])))
    out.print(table)
    out.print(f"page: {result['report']}", soft_wrap=True)


def _gap(difference: Result | None) -> str:
    if difference is None or difference["interval"] is None:
        return ""
    low, high = difference["interval"]
    return f"{difference['mean']:+.4f} ({low:+.4f} to {high:+.4f})"


def policy(result: Result) -> None:
    """A policy as it runs."""
    print(
        f"# {result['name']}: {result['direction']} ({result['role']}), found by {result['search']}, run {result['run_id']}"
    )
    print(f"# {result['note']}")
    print(result["source"])
    print(f"# fitted parameters: {json.dumps(result['params'])}")


def compared(result: Result) -> None:
    """Runs side by side."""
    table = Table(title=f"{result['dataset']} {result['stage']}, by {escape(result['metric'])}", title_justify="left")
    shown = ("run", "started", result["metric"], "evidence_tokens", "metric", "answerer", "split", "git_commit")
    for column in shown:
        table.add_column(column)
    for run in result["runs"]:
        values = {**run["tags"], **run["params"], **{k: f"{v:.4f}" for k, v in run["metrics"].items()}}
        cells = [run["name"], run["started"], *(str(values.get(name, "")) for name in shown[2:])]
        table.add_row(*(escape(cell[:40]) for cell in cells))
    _console().print(table)


def rescored(result: Result) -> None:
    """Scores of saved answers."""
    out = _console()
    if result.get("dry_run"):
        _lines(out, result)
        return
    overall = result["overall"]
    out.print(f"{result['dataset']}: {result['metric']} {_number(overall['score'], 4)} over {overall['n']} answers")
    for capability, entry in result["by_capability"].items():
        out.print(f"  {capability}: {_number(entry['score'], 4)} over {entry['n']}")
    out.print(f"  without an answer: {result['missing']}; errors {result['errors']}; parse errors {result['parse_errors']}")
    for judge in [*result.get("judges", []), *([result["majority"]] if "majority" in result else [])]:
        out.print(f"  {escape(judge['policy'])}: {_number(judge['score'], 4)} over {judge['n']}")
    for pair in result.get("agreement", []):
        names = f"{escape(pair['first'])} and {escape(pair['second'])}"
        out.print(
            f"  {names}: agreement {_number(pair['agreement'], 4)}, kappa {_number(pair['kappa'], 4)} over {pair['n']}"
        )


def report(result: Result) -> None:
    """The Markdown page and where the files are."""
    print(result["text"])
    print(f"page: {result['report']}")


def asked(result: Result) -> None:
    """The answer and what was read for it."""
    out = _console()
    out.print(f"[bold]{escape(result['answer'] or result['error'])}[/bold]")
    table = Table(
        title=f"policy {escape(result['policy'])} read {result['subset']}, answer by {escape(result['answerer'])}: "
        f"{result['evidence_tokens']:,} evidence tokens",
        title_justify="left",
    )
    for column in ("structure", "tokens", "ms", "steps", "found"):
        table.add_column(column)
    for read in result["evidence"]:
        steps = ", ".join(map(str, read["steps"][:12])) + (" …" if len(read["steps"]) > 12 else "")
        table.add_row(
            read["structure"], f"{read['n_tokens']:,}", f"{read['ms']:.1f}", steps, "yes" if read["localised"] else "no"
        )
    out.print(table)
    for read in result["evidence"]:
        for hop in read["path"]:
            origin = "anchor" if hop["origin"] is None else f"from {hop['origin']} by {', '.join(hop['relations'])}"
            out.print(f"  {read['structure']} {hop['ref'] or hop['step']}: score {hop['score']:.3f}, {origin}")


def status(result: Result) -> None:
    """One table of data sets."""
    table = Table(title=f"home {escape(result['home'])}", title_justify="left")
    for column in ("data set", "episodes", "superseded", "shards", "evidence built", "tokens spent", "report"):
        table.add_column(column)
    for d in result["datasets"]:
        built = " ".join(f"{letter} {count}" for letter, count in d["built"].items())
        counts = (str(d["episodes"]), str(d["superseded"]), str(d["shards"]))
        table.add_row(d["dataset"], *counts, built, f"{d['tokens_spent']:,}", d["report"] or "–")
    _console().print(table)
    if result["ledger"]:
        _console().print(_ledger_table(result["ledger"]))


def _ledger_table(ledger: list[Result]) -> Table:
    """What language models cost, by stage and model."""
    table = Table(title="language models", title_justify="left")
    columns = ("calls", "errors", "prompt_tokens", "cached_tokens", "completion_tokens", "seconds", "cost")
    for column in ("stage", "model", *columns):
        table.add_column(column.replace("_", " "), justify="left" if column in ("stage", "model") else "right")
    for entry in ledger:
        numbers = ("–" if entry[c] is None else f"{entry[c]:,.4f}" if c == "cost" else f"{entry[c]:,.0f}" for c in columns)
        table.add_row(entry["stage"], escape(entry["model"]), *numbers)
    return table


def trained(result: Result) -> None:
    """Recall of H beside plain search, success of walks, and what the difference is worth."""
    out = _console()
    out.print(f"{result['dataset']}, preset {result['preset']}: {result['questions']:,} test questions")
    table = Table(title="evidence recall on unseen episodes", title_justify="left")
    depths = list(next(iter(result["recall"].values())))
    for column in ("method", *(f"at {depth}" for depth in depths), "H minus it, 95 %"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for method, by_depth in result["recall"].items():
        gaps = "; ".join(_recall_gap(gap) for gap in result["gaps"].get(method, []))
        table.add_row(method, *(f"{by_depth[depth]:.4f}" for depth in depths), gaps)
    out.print(table)
    for mode, scores in result["walks"].items():
        out.print(f"  walk {mode}: " + ", ".join(f"{name} {_number(value, 4)}" for name, value in scores.items()))
    champion = result["champion"]
    out.print(f"page: {result['report']}", soft_wrap=True)
    out.print(f"router {result['router']}: {'promoted' if champion['promoted'] else 'not promoted'}, {champion['reason']}")


def _recall_gap(gap: Result) -> str:
    interval = gap["interval"]
    return f"{gap['mean']:+.3f}" + ("" if interval is None else f" ({interval[0]:+.3f} to {interval[1]:+.3f})")


def models(result: Result) -> None:
    """One line per configured model."""
    out = _console()
    for entry in result["models"]:
        out.print(f"{entry['role']} {escape(entry['model'])}: {'works' if entry['works'] else escape(entry['error'])}")
        for name in ("context_window", "seconds", "tokens_per_second", "dimension"):
            if entry.get(name) is not None:
                out.print(f"  {name.replace('_', ' ')}: {entry[name]:,}")


def exported(result: Result) -> None:
    """How many rows went where."""
    print(f"{result['rows']:,} rows of {result['dataset']} {result['table']} -> {result['out']}")


def _console() -> Console:
    """A terminal keeps its width; a pipe gets lines long enough for the tables."""
    return Console(width=None if sys.stdout.isatty() else 160)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _lines(out: Console, result: Result) -> None:
    for name, value in result.items():
        out.print(f"{name.replace('_', ' ')}: {escape(str(value))}")
