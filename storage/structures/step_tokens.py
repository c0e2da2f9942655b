"""A question as the tokens that the step grammar reads (`step_refs.py`): words, whole numbers, ordinals, dashes, marks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Literal, NamedTuple

from storage.structures.lexical import STOP_WORDS, content_tokens

Kind = Literal["word", "number", "ordinal", "dash", "mark", "end"]


class Token(NamedTuple):
    """`text` is case-folded; `value` is the number of a `number` or an `ordinal`; `spaced`: white space stands before it."""

    kind: Kind
    text: str
    value: int
    spaced: bool


END = Token("end", "", 0, True)

# Numbers of more than nine digits are no step labels, and `int` refuses the very long ones: they are `other`, as are
# 30s, 3a and 2.5. Every branch is anchored where the last one ended and \w+ takes what is left, so the scan is linear.
_TOKEN = re.compile(
    r"""
      (?P<ordinal>\d{1,9})(?:st|nd|rd|th)\b
    | (?P<decimal>\d+(?:\.\d+)+)
    | (?P<number>\d{1,9})(?!\w)
    | (?P<glued>(?:time)?(?:step|turn)s?)(?=\d{1,9}(?!\w))      # step12
    | (?P<word>[^\W\d]\w*)
    | (?P<other>\w+)
    | (?P<dash>\.{2,3}|[-\u2010-\u2015\u2212]+>?|[~\uff5e\u2192])
    | (?P<mark>[^\w\s])
    """,
    re.VERBOSE | re.IGNORECASE,
)

NUMBER_WORDS: Mapping[str, int] = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty".split()
    )
}
ORDINAL_WORDS: Mapping[str, int] = {
    word: value
    for value, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        start=1,
    )
}


def tokenize(text: str) -> list[Token]:
    """The tokens of `text`, in order, without white space. Time and memory are linear in its length."""
    found: list[Token] = []
    at = 0
    for match in _TOKEN.finditer(text):
        found.append(_token(match, spaced=match.start() > at or at == 0))
        at = match.end()
    return found


def _token(match: re.Match[str], *, spaced: bool) -> Token:
    group = match.lastgroup
    text = match.group().casefold()
    if group == "number":
        return Token("number", text, int(text), spaced)
    if group == "ordinal":
        return Token("ordinal", text, int(match["ordinal"]), spaced)
    if group in ("word", "glued"):
        return Token("ordinal" if text in ORDINAL_WORDS else "word", text, ORDINAL_WORDS.get(text, 0), spaced)
    return Token("dash" if group == "dash" else "mark", text, 0, spaced)


EVENTS = frozenset({"action", "actions", "observation", "observations"})
KEYWORDS = EVENTS | {
    *("step", "steps", "turn", "turns", "timestep", "timesteps"),
    *("step_idx", "turn_idx", "step_id", "turn_id", "step_index", "turn_index"),
}
LABELS = frozenset({"number", "numbers", "no", "num", "nr", "index", "indices", "idx", "id", "ids"})
"""Words that may stand between a keyword and its number: "step number 5"."""
TO = frozenset({"to", "through", "thru", "until", "till"})
AND = frozenset({"and", "or", "&", "plus", "vs", "versus"})


def question_words(question: str) -> list[str]:
    """The tokens by which a question is matched with steps: no stop words, and no keywords, which stand in every step."""
    return [token for token in content_tokens(question) if token not in KEYWORDS]


class Reader:
    """The tokens of a question with the look-ups that the grammar needs; `END` lies before and after them.

    `keywords` are the words that make a number a reference.
    """

    def __init__(self, text: str, keywords: Set[str] = KEYWORDS):
        self.tokens = tokenize(text)
        self.keywords = keywords

    def at(self, i: int) -> Token:
        return self.tokens[i] if 0 <= i < len(self.tokens) else END

    def words(self, *places: int) -> tuple[str, ...]:
        return tuple(self.at(i).text for i in places)

    def is_keyword(self, i: int) -> bool:
        return self.at(i).text in self.keywords

    def is_plural(self, i: int) -> bool:
        return self.at(i).text.endswith("s")

    def is_content(self, i: int) -> bool:
        """Whether a word with a meaning of its own is here, so that a number before it may count that: "3 apples"."""
        token = self.at(i)
        known = token.text in STOP_WORDS or token.text in TO or token.text in AND or token.text in self.keywords
        return token.kind in ("word", "ordinal") and not known

    def number(self, i: int, *, spelt: bool) -> int | None:
        """The number at token `i`: as a word (`five`) when `spelt`, else in digits."""
        token = self.at(i)
        if spelt:
            return NUMBER_WORDS.get(token.text)
        return token.value if token.kind == "number" else None

    def count(self, i: int) -> int:
        """The number at token `i` in digits or as a word, 0 where there is none."""
        return self.number(i, spelt=False) or self.number(i, spelt=True) or 0
