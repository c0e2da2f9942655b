from __future__ import annotations

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from models.report.svg import Figure
from models.report.training import ExampleWalk, ModeScores, TrainingPage
from models.report.training_curves import panels
from models.report.training_figures import training_figures
from models.report.training_page import render_training
from models.report.walk_picture import MOST_EVENTS, Arc, arcs, strongest
from models.router.learner import EpochRecord
from storage.structures.event_index import Hop
from tests.models.report.sample import HOSTILE
from tests.models.report.test_page import Page
from tests.models.report.training_sample import HOPS, MODES, epochs, fold, gap, ranked, recalls, training

TEXT = "{http://www.w3.org/2000/svg}text"

PLAIN = training()
TWO_STAGES = training(
    preset="best",
    walks=(),
    folds=tuple(fold(n, ranked("events", 2) + ranked("exchange", 3)) for n in (0, 1)),
)
EMPTY = training(folds=(), walks=(), recall={}, gaps={}, by_fold={}, by_capability={}, walk=None, questions=0)
HOSTILE_PAGE = training(
    title=HOSTILE,
    preset=HOSTILE,
    router=HOSTILE,
    folds=(fold(0, epochs(HOSTILE, 4), HOSTILE, test=(HOSTILE,)),),
    walks=(ModeScores(HOSTILE, None, None, None, None),),
    recall={**recalls(), HOSTILE: {15: 0.5}},
    by_capability={HOSTILE: recalls(), "b": {}},
    walk=ExampleWalk(HOSTILE, HOSTILE, HOSTILE, (Hop(1, HOSTILE, 1.0, None, {}), Hop(2, "b", 0.5, 1, {HOSTILE: 0.5}))),
    command=HOSTILE,
    notes=(HOSTILE,),
)
PAGES = {"plain": PLAIN, "two stages": TWO_STAGES, "empty": EMPTY, "hostile": HOSTILE_PAGE}


def labels(figure: Figure) -> list[str]:
    return ["".join(element.itertext()) for element in ElementTree.fromstring(figure.svg()).iter(TEXT)]


@pytest.mark.parametrize("page", PAGES.values(), ids=list(PAGES))
def test_a_page_loads_and_runs_nothing_and_its_labels_point_to_something(page: TrainingPage) -> None:
    html = render_training(page).html
    read = Page(html)
    assert not read.tags.keys() & {"script", "link", "img", "iframe", "object", "image"}
    assert read.handlers == []
    assert all(reference.startswith("#") for reference in read.references)
    assert len(read.ids) == len(set(read.ids))
    assert set(re.findall(r'aria-(?:labelledby|describedby)="([^"]+)"', html)) <= set(read.ids)


def test_hostile_text_stays_text_on_both_pages() -> None:
    rendered = render_training(HOSTILE_PAGE)
    assert "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;" in rendered.html
    assert "<script" not in rendered.html
    assert "\x00" not in rendered.html + rendered.markdown
    (rendered.html + rendered.markdown).encode("utf-8")
    outside = re.sub(r"^(`{3,})\n.*?\n\1$", "", rendered.markdown, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"(?<!\\)<script", outside)


@pytest.mark.parametrize("page", [PLAIN, TWO_STAGES, HOSTILE_PAGE])
def test_every_row_of_a_markdown_table_has_as_many_cells(page: TrainingPage) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", render_training(page).markdown, flags=re.MULTILINE)
    assert len(tables) >= 4
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_equal_pages_give_equal_bytes_and_follow_the_colours_of_the_page() -> None:
    first = render_training(PLAIN)
    assert first == render_training(training())
    assert "currentColor" in first.html
    assert "#76767" not in first.html


def test_a_training_shows_its_parts_in_order() -> None:
    headings = re.findall(r"<h2[^>]*>([^<]*)</h2>", render_training(TWO_STAGES).html)
    assert headings == [
        "Evidence recall",
        "Training, stage events",
        "Training, stage exchange",
        "Recall by fold",
        "Recall by capability",
        "One walk",
        "Chosen epochs",
        "Notes",
        "Get these numbers again",
    ]


def test_the_numbers_stand_where_they_belong_and_missing_ones_are_dashes() -> None:
    text = render_training(training(gaps={"fusion": (gap("fusion", 15, None), gap("fusion", 30))})).markdown
    assert "| **H** | **80.0** | **90.0** | **–** | **–** | **–** | **–** |" in text
    assert "| fusion | 50.0 | 60.0 | +20.0 | – | +20.0 | 10.0 to 30.0 |" in text
    assert "| dense | 70.0 | 80.0 | – | – | – | – |" in text
    assert "| **joint** | **50.0** | **40.0** | **60.0** | **4.25** |" in text
    assert "| random | 12.5 | – | 20.0 | -0.50 |" in text
    assert "| 2. D2:5 | 21 | 2.500 | D2:4 | semantic 0.75, temporal 0.50 |" in text
    assert "evidence recall of H at 30: **90.0 %** (+20.0 against fusion (10.0 to 30.0))" in text


def test_a_training_without_anything_measured_is_still_a_page() -> None:
    rendered = render_training(EMPTY)
    assert "test questions: **0**" in rendered.markdown
    assert Page(rendered.html).tags["svg"] == 0


def test_every_figure_is_described_and_transparent() -> None:
    figures = {**training_figures(TWO_STAGES), **training_figures(PLAIN)}
    assert set(figures) == {"curves-1", "curves-2", "walk"}
    for figure in figures.values():
        root = ElementTree.fromstring(figure.svg())
        assert (root.get("role"), root[0].text) == ("img", figure.description)
        assert figure.caption
        assert "fill: #ffffff; stroke" not in figure.svg()


def test_a_stage_has_a_panel_for_each_thing_that_it_measured() -> None:
    assert [measure.field for measure, _ in panels(PLAIN.folds, "reinforce")] == [
        "reward",
        "success",
        "recall",
        "loss",
        "edge_drift",
    ]
    assert [measure.field for measure, _ in panels(TWO_STAGES.folds, "exchange")] == ["recall", "loss"]
    assert panels(PLAIN.folds, "another") == ()


def test_curves_hold_a_line_per_fold_in_percent_and_their_mean() -> None:
    drawn = {measure.field: lines for measure, lines in panels(PLAIN.folds, "reinforce")}
    assert [line.mode for line in drawn["success"]] == list(MODES)
    first = drawn["success"][0]
    assert [epoch for epoch, _ in first.folds[0]] == list(range(1, 30, 2))
    assert len(first.folds) == 2
    assert first.folds[0][0][1] == pytest.approx(100 * 0.5 * (1 - math.exp(-0.1)))
    assert first.mean[0] == (1, pytest.approx((first.folds[0][0][1] + first.folds[1][0][1]) / 2))


def test_a_mean_is_of_all_folds_or_it_is_not_drawn() -> None:
    short, long = fold(0, ranked("events", 2)), fold(1, ranked("events", 4))
    [_, (_, [loss])] = panels((short, long), "events")
    assert loss.mean == ((0, 4.0), (1, 3.0))
    assert len(loss.folds[1]) == 4


def test_numbers_that_are_none_or_not_finite_leave_a_gap() -> None:
    records = (EpochRecord("a", 0, math.nan), EpochRecord("a", 1, 2.0), EpochRecord("a", 2, math.inf))
    [(measure, [line])] = panels((fold(0, records),), "a")
    assert (measure.field, line.folds) == ("loss", (((1, 2.0),),))
    assert training_figures(training(folds=(fold(0, records[:1]),), walk=None)) == {}


def test_a_curve_names_its_panels_and_modes_and_says_both_ends() -> None:
    figure = training_figures(PLAIN)["curves-1"]
    assert {"loss", "edge drift", "success on validation (%)", "reward per sampled walk", *MODES} <= set(labels(figure))
    assert "joint, loss: 3.00 to 2.06" in figure.description


def test_a_single_mode_needs_no_legend() -> None:
    assert "joint" not in labels(training_figures(TWO_STAGES)["curves-1"])


def test_the_walk_names_its_events_marks_anchors_and_colours_by_the_strongest_relation() -> None:
    figure = training_figures(PLAIN)["walk"]
    found = labels(figure)
    assert [text for text in found if text in {"D1:7", "D2:4", "D2:5", "step 40"}] == ["D1:7", "D2:4", "D2:5", "step 40"]
    assert {"anchor", "semantic", "causal"} <= set(found)
    assert not {"temporal", "entity"} & set(found)
    assert "Anchors: D2:4, step 40. Reached: D2:5 from D2:4 by semantic, D1:7 from D2:4 by causal." in figure.description


def test_arcs_join_places_in_step_order() -> None:
    assert arcs(HOPS) == [Arc(1, 2, "semantic"), Arc(1, 0, "causal")]
    assert arcs(HOPS[1:]) == []
    assert strongest({}) == ""


def test_a_long_walk_is_cut_to_its_best_events_and_says_so() -> None:
    hops = tuple(Hop(step, f"e{step}", -float(step), None if step < 2 else step - 1, {}) for step in range(40))
    figure = training_figures(training(walk=ExampleWalk("e", "q?", "general", hops)))["walk"]
    assert f"The best {MOST_EVENTS} of 40 events." in figure.caption
    assert len([text for text in labels(figure) if re.fullmatch(r"e\d+", text)]) == MOST_EVENTS


def test_a_walk_of_one_event_can_be_drawn_and_none_is_left_out() -> None:
    one = ExampleWalk("e", "q?", "general", HOPS[:1])
    assert "D2:4" in labels(training_figures(training(walk=one))["walk"])
    assert "walk" not in training_figures(training(walk=replace(one, hops=())))
