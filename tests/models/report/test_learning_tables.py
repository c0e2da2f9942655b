from __future__ import annotations

import pytest

from models.report.learning import AblationPage, SearchPage, SweepPage
from models.report.learning_tables import ablation_tables, search_tables
from models.report.sweep_tables import sweep_tables
from models.report.tables import Table
from tests.models.report.learning_sample import COST, ablation, search, sweep


def every() -> dict[str, Table]:
    return sweep_tables(sweep()) | search_tables(search()) | ablation_tables(ablation())


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_every_row_has_a_cell_for_every_column() -> None:
    for table in every().values():
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_subsets_come_by_objective_with_the_ceiling_last() -> None:
    found = texts(sweep_tables(sweep())["tokens"])
    objectives = [float(row[3]) for row in found[:-1]]
    assert objectives == sorted(objectives, reverse=True)
    assert found[-1][0] == "best of each question"
    assert len(found) == 7 + 1
    score, tokens, objective = (float(text.replace(",", "")) for text in found[0][1:4])
    assert objective == pytest.approx(score / 100 - COST * tokens, abs=1e-3)


def test_the_best_of_a_domain_is_by_objective_and_the_highest_by_score() -> None:
    rows = {row[0]: row[1:] for row in texts(sweep_tables(sweep())["by-domain"])}
    assert rows["WEB"] == ["6", "S+T+V", "100.0", "6,600", "S+T+V", "100.0", "100.0"]
    assert rows["Game"][1:5] == ["S+T+V", "60.0", "6,600", "S+T+V"]


def test_a_page_without_structures_that_pay_reads_less() -> None:
    assert {"single", "intermediate", "all", "undecided"} <= set(sweep_tables(sweep())["sizes"].columns)
    assert texts(sweep_tables(sweep())["sizes"])[0][1:] == ["0 (0.0 %)", "0 (0.0 %)", "6 (100.0 %)", "0"]


def test_prefix_reuse_is_told_for_each_order() -> None:
    assert texts(sweep_tables(sweep())["prefix-cache"]) == [
        ["paper", "1,000", "600", "40.0", "1.7"],
        ["prefix", "1,000", "250", "75.0", "4.0"],
    ]


def test_use_of_structures_sums_to_structures_per_question() -> None:
    table = search_tables(search())["use"]
    rows = {row[0]: row[1:] for row in texts(table)}
    assert table.columns == ("questions of", "n", "S (%)", "T (%)", "V (%)", "structures")
    assert rows["WEB · recall"] == ["2", "0.0", "100.0", "100.0", "2.00"]
    assert rows["all questions"] == ["18", "0.0", "100.0", "33.3", "1.33"]


def test_candidates_are_counted_by_role_and_state() -> None:
    assert texts(search_tables(search())["candidates"]) == [
        ["exploit", "1", "0", "1", "2"],
        ["explore", "1", "1", "0", "2"],
        ["repair", "1", "0", "0", "1"],
        ["all", "3", "1", "1", "5"],
    ]


def test_directions_come_by_their_bound_and_the_champions_is_strong() -> None:
    table = search_tables(search())["arms"]
    assert texts(table)[0] == ["time words", "4", "2", "0.5200", "0.6100"]
    assert [row[0].strong for row in table.rows] == [False, True]


def test_a_difference_has_a_verdict() -> None:
    rows = {row[0]: row[1] for row in texts(ablation_tables(ablation())["differences"])}
    assert rows == {"mesa − oracle": "mesa worse", "mesa − without ucb": "noise", "mesa − all": "mesa better"}


def test_what_nobody_refused_has_no_table_of_reasons() -> None:
    assert "reasons" in search_tables(search())
    assert "reasons" not in search_tables(search(trials=()))
    assert "candidates" not in search_tables(search(trials=()))


@pytest.mark.parametrize("page", [sweep(), search(), ablation()])
def test_captions_name_metric_answerer_and_judge(page: SweepPage | SearchPage | AblationPage) -> None:
    name = "results" if isinstance(page, SearchPage) else "tokens"
    assert "LLM-judged accuracy, answers by model-a, judged by model-b" in every()[name].caption
