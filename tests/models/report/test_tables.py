from __future__ import annotations

from models.aggregate import summarise
from models.report import PolicyRow
from models.report.tables import Table, tables
from tests.models.report.sample import policy, report, rows


def by_name(**more: object) -> dict[str, Table]:
    return {table.name: table for table in tables(report(**more))}


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_every_row_has_a_cell_for_every_column() -> None:
    for table in tables(report()):
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_policies_come_by_falling_score_and_those_without_one_last() -> None:
    failed = [{**row, "status": "error", "score": None} for row in rows(0.5, 10)]
    without = PolicyRow("broken", summarise(failed))
    found = texts(by_name(policies=(without, policy("b", 0.4, 10), policy("a", 0.6, 10)))["policies"])
    assert [row[0] for row in found] == ["a", "b", "broken"]


def test_a_missing_number_is_a_dash_and_a_failed_row_an_error() -> None:
    failed = [{**row, "status": "error", "score": None} for row in rows(0.5, 10)]
    table = by_name(policies=(PolicyRow("broken", summarise(failed)), policy("a", 0.6, 10)))["policies"]
    row = dict(zip(table.columns, texts(table)[1], strict=True))
    assert (row["score (%)"], row["95 % interval"], row["questions scored"]) == ("–", "–", "0")
    assert row["errors"] == "12 (100.0 %)"


def test_captions_name_metric_answerer_and_judge() -> None:
    found = by_name()
    for name in ("policies", "comparisons", "by-capability", "by-domain"):
        assert "LLM-judged accuracy, answers by model-a, judged by model-b" in found[name].caption


def test_a_metric_without_judge_names_none() -> None:
    caption = by_name(metric="locomo_f1", judge="")["policies"].caption
    assert caption.startswith("LoCoMo F1, answers by model-a. ")


def test_the_best_score_of_a_group_is_strong() -> None:
    table = by_name()["by-domain"]
    strong = {row[0].text: [cell.strong for cell in row[1:]] for row in table.rows}
    assert strong == {"learned": [True, True], "S": [False, False], "S+T": [False, False]}


def test_columns_and_tables_without_values_are_left_out() -> None:
    found = by_name(policies=(policy("a", 0.6, 10),), structures=(), warnings={}, comparisons=())
    assert set(found) == {"policies", "by-capability", "by-domain"}
    assert "adversarial, apart (%)" not in found["policies"].columns


def test_recall_and_support_say_on_how_many_questions_they_stand() -> None:
    row = texts(by_name()["structures"])[0]
    assert row[:4] == ["S summary", "1,000", "25.0 (n 8)", "–"]


def test_a_report_without_policies_has_no_policy_table() -> None:
    assert set(by_name(policies=())) == {"comparisons", "structures", "warnings"}
