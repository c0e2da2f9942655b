from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

from models.report import render_html, render_markdown
from tests.models.report.sample import hostile_report, report

_VOID = {"meta", "br", "img"}


class Page(HTMLParser):
    """Collects what a browser would act on, and checks that tags close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.handlers: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "action", "data"):
                self.references.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    page = Page(render_html(report()))
    assert not page.tags.keys() & {"script", "link", "img", "iframe", "object", "image"}
    assert page.handlers == []
    assert all(reference.startswith("#") for reference in page.references)
    assert "default-src 'none'" in render_html(report())


def test_ids_are_unique_and_every_label_points_to_one() -> None:
    html = render_html(report())
    ids = Page(html).ids
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'aria-(?:labelledby|describedby)="([^"]+)"', html)) <= set(ids)


def test_every_table_has_a_caption_and_row_headings() -> None:
    page = Page(render_html(report()))
    assert page.tags["table"] == page.tags["caption"] == 7
    assert page.tags["svg"] == 3


def test_hostile_text_stays_text() -> None:
    html = render_html(hostile_report())
    page = Page(html)
    assert page.tags["script"] == 0
    assert "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;" in html
    assert "\x00" not in html
    html.encode("utf-8")  # no lone surrogate is left


def test_figures_follow_the_colour_of_the_page() -> None:
    html = render_html(report())
    assert "currentColor" in html
    assert "#767676" not in html
    assert "prefers-color-scheme: dark" in html


def test_equal_data_gives_equal_pages() -> None:
    assert render_html(report()) == render_html(report())
    assert render_markdown(report()) == render_markdown(report())


def test_the_headline_is_the_chosen_policy() -> None:
    assert "LLM-judged accuracy of learned: **69.5 %**" in render_markdown(report())


def test_command_versions_notes_and_warnings_are_on_both_pages() -> None:
    for page in (render_html(report()), render_markdown(report())):
        for text in ("strata evaluate --seed 7", "strata 0.1.0", "One note.", "empty observations", "170"):
            assert text in page


def test_markdown_tables_have_as_many_cells_in_every_row() -> None:
    for page in (render_markdown(report()), render_markdown(hostile_report())):
        tables = re.findall(r"(?:^\|.*\n)+", page, flags=re.MULTILINE)
        assert len(tables) >= 5
        for table in tables:
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_markdown_escapes_what_would_be_markup() -> None:
    text = render_markdown(hostile_report())
    outside = re.sub(r"^```+\n.*?\n```+$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"(?<!\\)<script", outside)
    assert r"\*\*b\*\*" in outside


def test_a_code_fence_is_longer_than_any_in_the_command() -> None:
    assert "````\na ``` b\n````" in render_markdown(report(command="a ``` b"))


def test_markdown_shows_the_figures_that_were_saved() -> None:
    text = render_markdown(report(), {"tokens": "figures/tokens.svg"})
    assert re.search(r"!\[LLM-judged accuracy.*\]\(<figures/tokens.svg>\)", text)
    assert text.count("![") == 1


def test_an_empty_report_is_still_a_page() -> None:
    empty = report(policies=(), structures=(), comparisons=(), warnings={}, notes=(), command="", versions={})
    assert Page(render_html(empty)).tags["table"] == 0
    assert render_markdown(empty).startswith("# A comparison\n")
