"""Which relation a question asks to follow, from its words alone (HAGE, section 3.3, query analysis).

    intent("When did Caroline go to the support group?")  # "temporal"

The rules read English; a question in another language is `general`, which favours no relation. A language model's opinion
arrives in `Query.intent`, and these rules are not asked.
"""

from __future__ import annotations

import re

from storage.structures.step_refs import parse_steps

_CAUSAL = r"""
    why | how\ come | reasons? | because | caus(?:e[sd]?|ing) | purpose | motivat\w+ | inspir\w+ | led\ to | prompted
    | lead(?:s|ing)?\ to | result(?:ed|s)?\ (?:in|of|from) | as\ a\ result | consequences? | thanks\ to | due\ to | effects?
    | impact(?:ed|s)? | in\ response | in\ order\ to | what\ (?:made|makes|would\ happen|happens\ if)
    | if\ .{1,80}\ (?:had|were|would)
"""
_TEMPORAL = r"""
    when | (?:what|which)\ (?:date|day|week|month|year|time|season) | how\ (?:long|often|recently|soon|old)
    | how\ many\ .{0,60}(?:days?|weeks?|months?|years?|hours?|times) | before | after | since | until | ago | latest
    | earliest | january | february | march | april | (?:in|on|of|by|late|early)\ may | june | july | august | september
    | october | november | december | (?:19|20)\d\d
"""
_ENTITY = r"""
    who(?:m|se)? | where | which | names? | named | titles? | called | how\ many | both | in\ common | same | what\ (?:city
    | country|state|place|company|book|movie|film|song|game|band|team|pet|animal|file|object|item|tool|table|page)s?
"""
_SEMANTIC = r"""
    what\ (?:kind|type|sort|genre|style)s? | describe[sd]? | how\ (?:do|does|did|is|are|was|were) | feel(?:s|ings?)?
    | think | opinions? | summar\w+ | would | like(?:s|d|ly)? | about | related | similar | hobb(?:y|ies) | interest(?:s|ed)?
"""

_RULES = tuple(
    (name, re.compile(rf"\b(?:{words})\b", re.IGNORECASE | re.VERBOSE))
    for name, words in (("causal", _CAUSAL), ("temporal", _TEMPORAL), ("entity", _ENTITY), ("semantic", _SEMANTIC))
)
"""In the order in which they are tried: a question of why or when says so; whom and what it is about stands in most."""


def intent(text: str) -> str:
    """A word of `events.INTENTS`. Reads the question's text and nothing else: no capability, no gold."""
    for name, pattern in _RULES:
        if pattern.search(text):
            return name
    steps = parse_steps(text)
    return "temporal" if steps.exact or steps.spans or steps.slices else "general"
