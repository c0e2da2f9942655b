from __future__ import annotations

from xml.etree import ElementTree

import pytest

from models.report.learning import Trial
from models.report.learning_figures import ablation_figures, cell_titles, search_figures, sweep_figures
from models.report.radar import Spoke, centre
from models.report.svg import Figure
from models.selector.lookups import ANY
from tests.models.report.learning_sample import ablation, cases, method, search, sweep
from tests.models.report.sample import HOSTILE

TEXT = "{http://www.w3.org/2000/svg}text"


def labels(figure: Figure) -> list[str]:
    return ["".join(element.itertext()) for element in ElementTree.fromstring(figure.svg()).iter(TEXT)]


def every() -> dict[str, Figure]:
    return sweep_figures(sweep()) | search_figures(search())


def test_each_page_has_its_figures() -> None:
    assert set(sweep_figures(sweep())) == {"tokens", "by-domain", "by-capability", "use"}
    assert set(search_figures(search())) == {"curve", "use"}
    assert set(ablation_figures(ablation())) == {"tokens"}


@pytest.mark.parametrize("figure", every().values(), ids=list(every()))
def test_a_figure_is_described_deterministic_and_transparent(figure: Figure) -> None:
    svg = figure.svg()
    root = ElementTree.fromstring(svg)
    assert (root.get("role"), root[0].text) == ("img", figure.description)
    assert figure.caption
    assert svg == figure.svg()
    assert "fill: #ffffff" not in svg
    assert "<image" not in svg


def test_a_radar_names_the_best_of_every_axis_and_each_structure() -> None:
    figure = sweep_figures(sweep())["by-domain"]
    found = labels(figure)
    assert {"WEB", "Game", "SOFTWARE", "S", "T", "V", "all structures", "highest score"} <= set(found)
    assert "S+T+V 100.0 %" in found
    assert "WEB: S+T+V (100.0 %)" in figure.description


def test_two_categories_make_no_radar() -> None:
    assert set(sweep_figures(sweep(cases(("WEB", "Game"))))) == {"tokens", "by-capability", "use"}


def test_the_centre_of_a_radar_is_0_unless_all_are_close() -> None:
    wide = Spoke("a", "S", {"S": 50.0, "T": 20.0})
    close = Spoke("b", "S", {"S": 50.0, "T": 45.0})
    assert centre([wide, close]) == 0
    assert 0.8 <= centre([close]) < 0.9


def test_a_category_in_which_nothing_scores_can_be_drawn() -> None:
    assert Spoke("hard", "S", {"S": 0.0, "T": 0.0}).share("T") == 1
    assert centre([Spoke("hard", "S", {"S": 0.0, "T": 0.0})]) <= 1


def test_the_heat_map_says_how_often_each_structure_is_read() -> None:
    figure = search_figures(search())["use"]
    assert {"S summary", "T temporal", "V vector", "WEB · recall (n 2)", "all questions (n 18)", "33"} <= set(labels(figure))
    assert "all questions: S 0, T 100, V 33" in figure.description


def test_the_curve_shows_where_it_started_and_leaves_out_what_is_far_below() -> None:
    figure = search_figures(search())["curve"]
    assert "0.5340 before the first, 0.5450 after 2; all structures have 0.5340" in figure.description
    assert {"best so far", "all structures", "exploit", "explore"} <= set(labels(figure))
    lowest = min(float(text) for text in labels(figure) if text.startswith("0."))
    assert lowest > 0.5


def test_a_search_that_never_improved_can_be_drawn() -> None:
    flat = search(curve=(0.5, 0.5), baseline=0.5, trials=(Trial(1, "exploit", "invalid"),))
    assert "best so far" in labels(search_figures(flat)["curve"])


def test_hostile_names_are_drawn_as_text() -> None:
    figures = sweep_figures(sweep(cases((HOSTILE, "b", "c"))))
    assert any("<script>" in label for label in labels(figures["by-domain"]))
    assert all("<script" not in figure.svg() for figure in figures.values())
    drawn = ablation_figures(ablation(rows=(method(HOSTILE, 0.5, 10),)))["tokens"].svg()
    assert "<script" not in drawn


def test_every_method_is_named_but_the_oracle() -> None:
    found = labels(ablation_figures(ablation())["tokens"])
    assert {"mesa", "all", "without ucb"} <= set(found)
    assert "oracle" not in found


def test_a_domain_that_all_cells_share_is_not_repeated() -> None:
    cells = [("conversation", "recall"), ("conversation", "multi_hop"), (ANY, ANY)]
    assert cell_titles(cells) == ["recall", "multi hop", "all questions"]
    assert cell_titles([("a", "x"), ("b", "x")]) == ["a · x", "b · x"]
    assert cell_titles([("", "")]) == ["unknown · unknown"]
