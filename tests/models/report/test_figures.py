from __future__ import annotations

from xml.etree import ElementTree

import pytest

from models.aggregate import summarise
from models.report import PolicyRow, figures
from models.report.figures import caption, describe
from tests.models.report.sample import hostile_report, policy, report, rows

TEXT = "{http://www.w3.org/2000/svg}text"


def labels(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(TEXT)]


def test_equal_data_gives_equal_bytes() -> None:
    assert figures(report()) == figures(report())


def test_every_figure_is_drawn_and_described() -> None:
    drawn = figures(report())
    assert set(drawn) == {"tokens", "by-capability", "by-domain"} == set(describe(report()))
    for name, svg in drawn.items():
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img"
        assert root[0].text == describe(report())[name]
        assert caption(name, report())


def test_text_stays_text_and_names_the_points() -> None:
    assert {"S", "S+T", "learned", "evidence tokens per question"} <= set(labels(figures(report())["tokens"]))


def test_the_description_names_the_frontier_only() -> None:
    text = describe(report())["tokens"]
    assert "S (49.5 % at 1,000 tokens), learned (69.5 % at 9,000 tokens)" in text
    assert "S+T" not in text


def test_the_background_is_transparent_and_nothing_is_loaded() -> None:
    for svg in figures(report()).values():
        assert "fill: #ffffff" not in svg
        assert "<image" not in svg
        assert 'href="http' not in svg


def test_ids_of_different_figures_never_meet() -> None:
    seen: set[str] = set()
    for svg in figures(report()).values():
        ids = [element.get("id") for element in ElementTree.fromstring(svg).iter() if element.get("id")]
        assert len(ids) == len(set(ids))
        assert seen.isdisjoint(ids)
        seen.update(i for i in ids if i)


def test_hostile_names_are_drawn_as_text() -> None:
    drawn = figures(hostile_report())
    assert "<script" not in "".join(drawn.values())
    assert any('<script>alert("x")</script>' in label for label in labels(drawn["tokens"]))
    assert "名前 🧭" in labels(drawn["tokens"])


def test_a_crowd_is_labelled_on_the_frontier_and_where_chosen() -> None:
    crowd = [policy(f"dull {i}", 0.2, 3000 + 100 * i) for i in range(30)]
    best, chosen = policy("best", 0.9, 2000), policy("mine", 0.5, 5000, chosen=True)
    found = labels(figures(report(policies=(*crowd, best, chosen)))["tokens"])
    assert {"best", "mine"} <= set(found)
    assert not any(label.startswith("dull") for label in found)


@pytest.mark.parametrize("tokens", [0, 1, 10_000_000])
def test_any_token_count_can_be_drawn(tokens: int) -> None:
    assert "tokens" in figures(report(policies=(policy("a", 0.6, tokens), policy("b", 0.5, 100))))


def test_what_has_no_score_is_not_drawn() -> None:
    failed = [{**row, "status": "error", "score": None} for row in rows(0.5, 10)]
    assert figures(report(policies=(PolicyRow("broken", summarise(failed)),))) == {}
    assert figures(report(policies=())) == {}


def test_one_domain_alone_is_no_comparison() -> None:
    single = PolicyRow("a", summarise(rows(0.5, 10, domains=("conversation",))))
    assert set(figures(report(policies=(single,)))) == {"tokens", "by-capability"}
