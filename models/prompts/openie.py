"""The two prompts of open information extraction: named entities, then triples with them (MESA, Appendix C.2; HippoRAG2).

    entities -> {"named_entities": ["Radio City", "India"]}
    triples  -> {"triples": [["Radio City", "located in", "India"]]}

The words are the paper's, with its one example as a turn of the conversation. Departures: paragraphs stand between fences
that they cannot close, as in HippoRAG's own template, and the system message calls them data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from models.llm.chat import Message
from models.llm.thinking import strip_thinking
from models.prompts.fence import NOTE, fenced
from models.prompts.json_reply import Values, complete_strings, json_values

VERSION = 1

ENTITIES_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"named_entities": {"type": "array", "items": {"type": "string"}}},
    "required": ["named_entities"],
    "additionalProperties": False,
}
TRIPLES_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "triples": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3},
        }
    },
    "required": ["triples"],
    "additionalProperties": False,
}
REMINDER = "Reply with nothing but the JSON."
"""Added to the prompt when a reply could not be read."""

_ENTITIES_SYSTEM = (
    "Your task is to extract named entities from the given paragraph. Respond with a JSON list of entities. " + NOTE
)
_TRIPLES_SYSTEM = f"""Your task is to construct an RDF (Resource Description Framework) graph from the given passages and named entity lists. Respond with a JSON list of triples, with each triple representing a relationship in the RDF graph.
Pay attention to the following requirements:
- Each triple should contain at least one, but preferably two, of the named entities in the list for each passage.
- Clearly resolve pronouns to their specific names to maintain clarity.
{NOTE}"""  # noqa: E501
_CONVERT = "Convert the paragraph into a JSON dict, it has a named entity list and a triple list.\nParagraph:"

_EXAMPLE = """Radio City
Radio City is India’s first private FM radio station and was started on 3 July 2001. It plays Hindi, English and regional songs. Radio City recently forayed into New Media in May 2008 with the launch of a music portal - PlanetRadiocity.com that offers music related news, videos, songs, and other music-related features."""  # noqa: E501
_EXAMPLE_ENTITIES = ["Radio City", "India", "3 July 2001", "Hindi", "English", "May 2008", "PlanetRadiocity.com"]
_EXAMPLE_TRIPLES = [
    ["Radio City", "located in", "India"],
    ["Radio City", "is", "private FM radio station"],
    ["Radio City", "started on", "3 July 2001"],
    ["Radio City", "plays songs in", "Hindi"],
    ["Radio City", "plays songs in", "English"],
    ["Radio City", "forayed into", "New Media"],
    ["Radio City", "launched", "PlanetRadiocity.com"],
    ["PlanetRadiocity.com", "launched in", "May 2008"],
    ["PlanetRadiocity.com", "is", "music portal"],
    ["PlanetRadiocity.com", "offers", "news"],
    ["PlanetRadiocity.com", "offers", "videos"],
    ["PlanetRadiocity.com", "offers", "songs"],
]

Parts = tuple[str, str, str]
"""Head, relation and tail, as the model wrote them."""


class Salvage(NamedTuple):
    """The triples of a reply, how many pieces of it were none, and whether the reply was anything but the JSON asked for."""

    triples: list[Parts]
    dropped: int
    salvaged: bool


def digest() -> str:
    """Names both prompts in cache keys (16 hex digits): it changes with the version and with every word of the text."""
    texts = [_ENTITIES_SYSTEM, _TRIPLES_SYSTEM, _CONVERT, _EXAMPLE, REMINDER]
    parts = json.dumps([VERSION, *texts, _EXAMPLE_ENTITIES, _EXAMPLE_TRIPLES, dict(ENTITIES_SCHEMA), dict(TRIPLES_SCHEMA)])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def render_entities(passage: str) -> tuple[Message, ...]:
    """The first prompt: which named entities `passage` holds."""
    return (
        Message("system", _ENTITIES_SYSTEM),
        Message("user", fenced(_EXAMPLE)),
        Message("assistant", _named(_EXAMPLE_ENTITIES)),
        Message("user", fenced(passage)),
    )


def render_triples(passage: str, entities: Sequence[str]) -> tuple[Message, ...]:
    """The second prompt: the triples of `passage` about `entities`."""
    return (
        Message("system", _TRIPLES_SYSTEM),
        Message("user", _conversion(_EXAMPLE, _EXAMPLE_ENTITIES)),
        Message("assistant", json.dumps({"triples": _EXAMPLE_TRIPLES})),
        Message("user", _conversion(passage, entities)),
    )


def _conversion(passage: str, entities: Sequence[str]) -> str:
    return f"{_CONVERT}\n{fenced(passage)}\n\n{_named(entities)}"


def _named(entities: Sequence[str]) -> str:
    return json.dumps({"named_entities": list(entities)}, ensure_ascii=False)


def parse_entities(reply: str) -> list[str] | None:
    """The distinct entities of a reply in order, also those of a list that was cut off; None where there is no list."""
    lists = list(_lists(json_values(reply)))
    if not lists:
        text = strip_thinking(reply)
        begin = text.find("[")
        cut = complete_strings(text[begin + 1 :]) if begin >= 0 else []
        return list(dict.fromkeys(cut)) or None
    names = (_text(item) for item in lists[0])
    return list(dict.fromkeys(name for name in names if name is not None and name.strip()))


def _lists(values: Values) -> Iterable[list[Any]]:
    """Lists that may be the entities: that under the key asked for first, then a bare one, then one under another key."""
    for value, _ in values.found:
        if isinstance(value, list):
            yield value
        elif isinstance(value, dict):
            named = value.get("named_entities")
            yield from [named] if isinstance(named, list) else [v for v in value.values() if isinstance(v, list)]


def parse_triples(reply: str) -> Salvage | None:
    """The complete triples of a reply in order; None where the reply holds nothing that could be a list of triples.

    Read are also a code fence, talk around the JSON, a bare array, another key, triples as objects, and what is complete of
    a reply that was cut off. A list of strings that is the value of a key is no triple: models repeat the entities.
    """
    values = json_values(reply)
    candidates: list[Any] = []
    is_list = False
    for value, keyed in values.found:
        taken = _candidates(value, keyed)
        is_list = is_list or taken is not None
        candidates.extend(taken or [])
    triples = [parts for candidate in candidates if (parts := _parts(candidate)) is not None]
    if not is_list or (values.broken and not triples):
        return None
    dropped = len(candidates) - len(triples) + values.broken
    return Salvage(triples, dropped, salvaged=not _as_asked(reply))


_HEADS = ("subject", "head", "s", "source")
_RELATIONS = ("predicate", "relation", "relationship", "p", "r")
_TAILS = ("object", "tail", "o", "target")


def _candidates(value: Any, keyed: bool) -> list[Any] | None:
    """What in a value may be a triple, and None where it is no place for triples."""
    if isinstance(value, dict):
        if _first(value, _HEADS) is not None and _first(value, _TAILS) is not None:
            return [value]
        if "triples" in value:
            listed = value["triples"]
            return _candidates(listed, keyed=True) if isinstance(listed, list) else None
        inner = [_candidates(item, keyed=True) for item in value.values() if isinstance(item, list)]
        found = [candidate for taken in inner if taken for candidate in taken]
        return found or None
    if any(isinstance(item, list | dict) for item in value):
        return list(value)
    if not value:
        return []
    return None if keyed else [value]


def _parts(candidate: Any) -> Parts | None:
    if isinstance(candidate, dict):
        candidate = [_first(candidate, names) for names in (_HEADS, _RELATIONS, _TAILS)]
    if not isinstance(candidate, list) or len(candidate) != 3:
        return None
    head, relation, tail = map(_text, candidate)
    return None if head is None or relation is None or tail is None else (head, relation, tail)


def _first(value: Mapping[str, Any], names: Sequence[str]) -> Any:
    lowered = {key.casefold(): item for key, item in value.items()}
    return next((lowered[name] for name in names if name in lowered), None)


def _text(value: Any) -> str | None:
    """Text or number as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def _as_asked(reply: str) -> bool:
    try:
        value = json.loads(strip_thinking(reply))
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and isinstance(value.get("triples"), list)
