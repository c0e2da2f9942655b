"""The shell of every report page: a `Document` to Markdown, or to one self-contained HTML file: no scripts, nothing from
the network.

All text of a document is escaped here: names of policies and domains, and the source of policies, come from data sets and
language models. The HTML page also forbids itself, by a content security policy, to run or load anything.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from models.report.data import PageData
from models.report.svg import BRIGHT_INK, INK
from models.report.tables import Table, plain

if TYPE_CHECKING:
    from jinja2 import Template

_MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#$])")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control and format characters, lone surrogates, line separators: what makes code look other than it runs."""


@dataclass(frozen=True, slots=True)
class Card:
    """One large number at the top of the page."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with a figure, code, a table, or several of them.

    `figure` names a drawing that the caller passes along; `caption` says how to read it and `description` what it shows.
    """

    name: str
    title: str
    table: Table | None = None
    figure: str = ""
    caption: str = ""
    description: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A page without its drawings. `facts` stand under the title; `command` and `versions` at the end."""

    title: str
    facts: tuple[str, ...] = ()
    cards: tuple[Card, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    command: str = ""
    versions: Mapping[str, str] | None = None


def document(data: PageData, facts: Sequence[str], cards: Sequence[Card], sections: Sequence[Section]) -> Document:
    """A page with the title, notes, command and versions of `data`; empty facts are left out."""
    kept = tuple(plain(fact) for fact in facts if fact)
    return Document(data.title, kept, tuple(cards), tuple(sections), data.notes, data.command, data.versions)


def html(page: Document, drawn: Mapping[str, str]) -> str:
    """The page as HTML with its figures, which are SVG elements made by `models.report.svg`."""
    sections = [
        {
            "name": s.name,
            "title": plain(s.title),
            "table": s.table,
            "svg": _inline(drawn[s.figure]) if s.figure in drawn else None,
            "caption": s.caption,
            "code": visible(s.code),
        }
        for s in page.sections
    ]
    return _template().render(
        title=plain(page.title),
        facts=page.facts,
        cards=page.cards,
        sections=sections,
        notes=[plain(note) for note in page.notes],
        command=_printable(page.command),
        versions=_versions(page),
    )


def markdown(page: Document, figure_paths: Mapping[str, str] | None = None) -> str:
    """The page as Markdown. `figure_paths` says where the caller saved which figure; others are left out."""
    parts = [f"# {escape(page.title)}", escape(" · ".join(page.facts))]
    if page.cards:
        parts.append("\n".join(_card_line(card) for card in page.cards))
    for section in page.sections:
        parts += _markdown_section(section, figure_paths or {})
    if page.notes:
        parts += ["## Notes", "\n".join(f"- {escape(note)}" for note in page.notes)]
    if page.command or page.versions:
        parts.append("## Get these numbers again")
    if page.command:
        parts.append(_fenced(_printable(page.command)))
    if page.versions:
        parts.append(escape(" · ".join(_versions(page))))
    return "\n\n".join(parts) + "\n"


def _markdown_section(section: Section, figure_paths: Mapping[str, str]) -> list[str]:
    """Heading and content; nothing when the section is a figure that was not saved."""
    body: list[str] = []
    if section.figure in figure_paths:
        picture = f"![{escape(section.description)}](<{figure_paths[section.figure]}>)"
        body += [picture, escape(section.caption)]
    if section.code:
        body.append(_fenced(visible(section.code)))
    if section.table:
        body.append(_markdown_table(section.table))
    return [f"## {escape(section.title)}", *body] if body else []


def escape(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", plain(text).replace("&", "&amp;"))


def visible(code: str) -> str:
    """Code as it stands, with every character that a reader could not see written as its number, such as `\\u202e`."""
    lines = code.replace("\r\n", "\n").split("\n")
    return "\n".join("".join(_seen(character) for character in line.expandtabs(4)) for line in lines)


def _seen(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN_CATEGORIES:
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def _inline(svg: str) -> object:
    """Safe to insert: `models.report.svg` built the element and escaped every text in it."""
    from markupsafe import Markup

    return Markup(svg.replace(INK, "currentColor").replace(BRIGHT_INK, "var(--ink)"))


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    source = resources.files("models.report").joinpath("page.html.j2").read_text(encoding="utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(source)


def _versions(page: Document) -> list[str]:
    return [plain(f"{name} {version}") for name, version in sorted((page.versions or {}).items())]


def _printable(text: str) -> str:
    return "\n".join(plain(line) for line in text.splitlines())


def _card_line(card: Card) -> str:
    detail = f" ({escape(card.detail)})" if card.detail else ""
    return f"- {escape(card.label)}: **{escape(card.value)}**{detail}"


def _fenced(text: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _markdown_table(table: Table) -> str:
    rows = [[f"**{escape(c.text)}**" if c.strong else escape(c.text) for c in row] for row in table.rows]
    rule = ["---"] + ["---:"] * (len(table.columns) - 1)
    lines = [[escape(column) for column in table.columns], rule, *rows]
    return "\n".join([escape(table.caption), "", *(f"| {' | '.join(line)} |" for line in lines)])
