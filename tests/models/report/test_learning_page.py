from __future__ import annotations

import re
from dataclasses import replace

import pytest

from models.report.data import PageData
from models.report.document import visible
from models.report.learning import LearningPage, Trial
from models.report.learning_page import noise_note, render
from tests.models.report.learning_sample import SOURCE, ablation, cases, gap, method, search, sweep
from tests.models.report.sample import HOSTILE
from tests.models.report.test_page import Page

PAGES = [sweep(), search(), ablation()]
HOSTILE_PAGES: list[LearningPage] = [
    sweep(cases((HOSTILE, "WEB", "名前 🧭"), (HOSTILE, "causal", "x")), title=HOSTILE, answerer=HOSTILE, command=HOSTILE),
    search(
        proposer=HOSTILE,
        champion=replace(search().champion, source=f"{SOURCE}\n</pre>{HOSTILE}", direction=HOSTILE, params=HOSTILE),
        trials=(Trial(1, HOSTILE, "invalid", HOSTILE), Trial(1, HOSTILE, "valid", "", 0.55)),
        notes=(HOSTILE,),
    ),
    ablation(rows=(method("mesa", 0.5, 10), method(HOSTILE, 0.4, 20)), differences=(gap(HOSTILE, -1, 1),), judge=HOSTILE),
]


@pytest.mark.parametrize("page", [*PAGES, *HOSTILE_PAGES])
def test_a_page_loads_and_runs_nothing_and_its_labels_point_to_something(page: LearningPage) -> None:
    html = render(page).html
    read = Page(html)
    assert not read.tags.keys() & {"script", "link", "img", "iframe", "object", "image"}
    assert read.handlers == []
    assert all(reference.startswith("#") for reference in read.references)
    assert len(read.ids) == len(set(read.ids))
    assert set(re.findall(r'aria-(?:labelledby|describedby)="([^"]+)"', html)) <= set(read.ids)


@pytest.mark.parametrize("page", HOSTILE_PAGES)
def test_hostile_text_stays_text_on_both_pages(page: LearningPage) -> None:
    rendered = render(page)
    assert "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;" in rendered.html
    assert "\x00" not in rendered.html + rendered.markdown
    (rendered.html + rendered.markdown).encode("utf-8")
    outside = re.sub(r"^(`{3,})\n.*?\n\1$", "", rendered.markdown, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"(?<!\\)<script", outside)
    assert r"\*\*b\*\*" in outside


@pytest.mark.parametrize("page", [*PAGES, *HOSTILE_PAGES])
def test_every_row_of_a_markdown_table_has_as_many_cells(page: LearningPage) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", render(page).markdown, flags=re.MULTILINE)
    assert len(tables) >= 2
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


@pytest.mark.parametrize("page", PAGES)
def test_equal_pages_give_equal_bytes(page: LearningPage) -> None:
    assert render(page) == render(page)


@pytest.mark.parametrize("page", PAGES)
def test_figures_follow_the_colours_of_the_page(page: LearningPage) -> None:
    html = render(page).html
    assert "currentColor" in html
    assert "#76767" not in html


def test_a_sweep_shows_its_parts_in_order() -> None:
    headings = re.findall(r"^## (.*)$", render(sweep()).markdown, flags=re.MULTILINE)
    assert headings == [
        "All subsets",
        "Fixed selection on held-out episodes",
        "Best subset by domain",
        "Best subset by capability",
        "Best subset by domain and capability",
        "Use of structures",
        "How much to read",
        "What a prefix cache can reuse",
        "Get these numbers again",
    ]


def test_one_domain_is_not_told_apart_from_all_questions() -> None:
    text = render(sweep(cases(("conversation",)))).markdown
    assert "Best subset by capability" in text
    assert "by domain" not in text
    assert "conversation" not in text


def test_a_sweep_in_which_everything_failed_is_still_a_page() -> None:
    failed = sweep((), outcomes=70, errors=70, held_out=())
    text = render(failed).markdown
    assert "outcomes: **70** (70 errors, 2 unreadable verdicts)" in text
    assert "What a prefix cache can reuse" in text
    assert Page(render(failed).html).tags["svg"] == 0


def test_the_champion_is_shown_as_it_runs() -> None:
    text = render(search()).markdown
    assert f"```\n{SOURCE}" in text
    assert "Source of the champion, 02-explore: cost guard (explore)" in text
    assert '{"edge":3}' in text


def test_long_parameters_are_cut_and_say_so() -> None:
    long = replace(search().champion, params="7" * 10_000)
    assert "… and 4,000 more characters" in render(search(champion=long)).markdown


def test_characters_that_hide_what_code_does_are_written_as_numbers() -> None:
    assert visible("a\u202eb\n\tc\u200b\ud800 é") == "a\\u202eb\n    c\\u200b\\ud800 é"


def test_an_ablation_says_which_differences_are_noise() -> None:
    assert noise_note(ablation()) == (
        "Noise: the objective of mesa cannot be told from that of without ucb; the 95 % interval of each paired difference "
        "holds 0."
    )
    assert noise_note(ablation(differences=(gap("all", 0.01, 0.02),))) == ""
    assert "Noise: the objective of mesa" in render(ablation()).markdown


def test_the_oracle_is_no_method_to_beat() -> None:
    assert "methods that mesa beats: **1 of 2** (0 worse, 1 noise)" in render(ablation()).markdown


def test_an_unknown_kind_of_page_is_refused() -> None:
    with pytest.raises(TypeError, match="PageData has no layout"):
        render(PageData(title="t", dataset="d", metric="judge", answerer="a"))  # type: ignore[arg-type]
