"""The grammar of step references, over the tokens of `step_tokens.py`.

    reference := [lead] KEYWORD [label] items [trail]  |  ordinals KEYWORD (step_ordinals.py)
    items     := item ((',' | 'and' | 'or' | '/') item)*
    item      := NUMBER [note] [('-' | 'to' | 'through' | 'until' | 'and' after 'between') [KEYWORD] NUMBER]
    lead      := until | before | by | up to | after | since | between | [count] steps before | just after | ...
    KEYWORD   := step(s) | turn(s) | action(s) | observation(s), in any case

Readings where English is open:
- a number that is written is named, so "before step 78" and "after step 76" hold 78 and 76 too;
- "the difference between step 3 and step 9" compares two steps, any other "between" is a range;
- an ordinal counts positions ("the third step" is the third one there is), a number is a label ("step 3");
- "the first three actions" beside numbers counts within those, and names no steps of its own.

A number without a keyword before it ("12 steps", "port 8080"), or with a unit, a decimal point or a letter, is no step.
"""

from __future__ import annotations

from collections.abc import Set
from itertools import pairwise

from storage.structures.step_ordinals import LAST, Slice, ordinal_slices
from storage.structures.step_tokens import AND, EVENTS, KEYWORDS, LABELS, TO, Reader

Span = tuple[int | None, int | None]
"""First and last label, both included; None is the start or the end of the episode."""

_UNITS = frozenset(
    "degree degrees percent year years month months day days hour hours minute minutes second seconds times tiles".split()
)
_START = frozenset({"start", "beginning", "outset"})
_BOUNDARIES = frozenset({"end", "start", "beginning"})
_NEXT_TO = frozenset({"immediately", "just", "right", "directly", "state", "states"})
_RELATIONS = frozenset(
    "difference differences relationship relation link connection contrast comparison distinction discrepancy similarity "
    "similarities correlation dependency distinguish compare mismatch".split()
)
_NOTE_TOKENS = 12
"""The longest note in brackets that may stand between two numbers, as in "steps 43 (action: north) and 44"."""
_CLAUSE_TOKENS = 14


class Grammar(Reader):
    """One pass over a question. Every look back or ahead is bounded, or consumes what it reads.

    `exact` are the numbers that are written, `spans` the ranges, prefixes and suffixes, `slices` the ordinals.
    """

    def __init__(self, text: str, keywords: Set[str] = KEYWORDS):
        super().__init__(text, keywords)
        self.exact: set[int] = set()
        self.spans: set[Span] = set()
        self.slices: set[Slice] = set()
        self._event_slices: set[Slice] = set()  # ordinals of actions and observations
        self._asides: list[tuple[int, int, int]] = []  # "(step 3)": first token, token after, label
        i = 0
        while i < len(self.tokens):
            i = self._reference(i) if self.is_keyword(i) else i + 1
        self._add_spans_between_asides()
        if not self.exact:
            self.slices |= self._event_slices

    # -- numbers after the keyword --------------------------------------------------------------------------------------

    def _reference(self, keyword: int) -> int:
        """Read the reference that the keyword begins; return the token to go on from."""
        between = self.at(keyword - 1).text == "between" and not self._compares(keyword - 1)
        start, closer, range_word = self._label(keyword)
        items, end = self._items(start, keyword, between or range_word == "between")
        wrong_end = closer and self.at(end).text != closer
        if not items or wrong_end or (range_word and items[0][0] == items[0][1]):
            slices = self._event_slices if self.at(keyword).text in EVENTS else self.slices
            slices.update(ordinal_slices(self, keyword))
            return keyword + 1
        if closer and self.at(keyword).text in EVENTS and "," in self.words(*range(start, end)):
            return end  # a pair of coordinates: "actions (2,3)"
        self._add(keyword, items, end)
        return end

    def _label(self, keyword: int) -> tuple[int, str, str]:
        """Skip what may stand before the number: the number's place, the bracket to close, `from` or `between`."""
        i, closer, range_word = keyword + 1, "", ""
        for _ in range(4):
            token = self.at(i)
            if token.text in ("(", "[") and not closer:
                closer = ")" if token.text == "(" else "]"
            elif token.text in ("from", "between") and not range_word:
                range_word = token.text
            elif token.kind == "dash" and (token.spaced or self.at(i + 1).spaced or i > keyword + 1):
                break  # a negative number or a pause: only "step-7" is a label
            elif token.kind != "dash" and token.text not in LABELS and not self._is_label_mark(i):
                break
            i += 1
        return i, closer, range_word

    def _is_label_mark(self, i: int) -> bool:
        token = self.at(i)
        if token.text == ":":  # "Steps:8-10", not "next step: 3 apples"
            return not self.at(i + 1).spaced or not self.is_content(i + 2)
        if token.text == ".":
            return self.at(i - 1).text in ("no", "nr", "num")
        return token.text in ("#", "=", "*", "`", '"', "'")

    def _items(self, i: int, keyword: int, between: bool) -> tuple[list[tuple[int, int]], int]:
        """Read `item (separator item)*` from token `i`: inclusive ranges of labels, and the token after the last one."""
        spelt = self.at(i).kind == "word"
        plural = self.is_plural(keyword)
        first = self.number(i, spelt=spelt)
        if first is None:
            return [], i
        first, i = self._thousands(first, i, plural)
        high, end = self._range_end(first, i + 1, between, spelt)
        if end == i + 1 and self.at(end).text in _UNITS and self.at(end + 1).kind != "dash":
            return [], i
        found, closed = [(min(first, high), max(first, high))], False
        while (separator := self._separator(end)) is not None:
            text, place = separator
            number = self.number(place, spelt=spelt)
            if number is None or not self._continues(text, place, plural, found, closed):
                break
            high, end = self._range_end(number, place + 1, False, spelt)
            found.append((min(number, high), max(number, high)))
            closed = closed or text == "and"
        return found, end

    def _thousands(self, number: int, i: int, plural: bool) -> tuple[int, int]:
        """1,024 is one number after a singular keyword; after a plural one it is a list."""
        comma, rest = self.at(i + 1), self.at(i + 2)
        if plural or comma.text != "," or comma.spaced or rest.kind != "number" or rest.spaced or len(rest.text) != 3:
            return number, i
        return number * 1000 + rest.value, i + 2

    def _range_end(self, first: int, i: int, between: bool, spelt: bool) -> tuple[int, int]:
        """The last label of the range that `first` begins, and the token after it; `first` itself where there is none."""
        k = self._after_notes(i)
        token = self.at(k)
        if token.text == "up" and self.at(k + 1).text == "to":
            k += 1
        elif token.kind != "dash" and token.text not in TO and not (between and token.text in ("and", "&")):
            return first, i
        k = self._after_boundary(k + 1)
        if self.is_keyword(k):
            k, _, _ = self._label(k)
        number = self.number(k, spelt=spelt)
        if number is None or (token.kind == "dash" and token.spaced and self.is_content(k + 1)):
            return first, i
        return number, k + 1

    def _after_boundary(self, i: int) -> int:
        """The token after "the end of" at `i`."""
        k = i + 1 if self.at(i).text == "the" else i
        return k + 2 if self.at(k).text in _BOUNDARIES and self.at(k + 1).text == "of" else i

    def _separator(self, i: int) -> tuple[str, int] | None:
        """The separator after an item (`,`, `and` or `/`) and the token after it."""
        k = self._after_notes(i)
        text = self.at(k).text
        if text == "," and self.at(k + 1).text in AND:
            return "and", k + 2
        if text in (",", "/"):
            return text, k + 1
        return ("and", k + 1) if text in AND else None

    def _continues(self, separator: str, i: int, plural: bool, found: list[tuple[int, int]], closed: bool) -> bool:
        """Whether the number at token `i` is one more step, not the "3 apples" of "At step 5, 3 apples ..."."""
        content = self.is_content(i + 1)
        if separator == "/" or not plural:
            more = separator != "," or self.at(i + 1).text in AND or self.at(i + 1).text == ","
            return more and not content and (plural or separator != "/")
        if separator == "and":
            return not closed or not content
        ascending = self.at(i).kind == "word" or self.at(i).value > found[-1][1]
        return not content or (ascending and not closed and len(found) > 1)

    def _after_notes(self, i: int) -> int:
        """The token after the bracketed notes at `i`; `i` where a bracket is not closed soon or names a step itself."""
        while (opener := self.at(i).text) in ("(", "["):
            closer = ")" if opener == "(" else "]"
            k = i + 1
            while k < i + _NOTE_TOKENS and self.at(k).text != closer:
                if self.is_keyword(k) and self.at(k + 1).kind == "number":
                    return i
                k += 1
            if self.at(k).text != closer:
                return i
            i = k + 1
        return i

    # -- words around the numbers ---------------------------------------------------------------------------------------

    def _add(self, keyword: int, items: list[tuple[int, int]], end: int) -> None:
        """Record the numbers of a reference and what its lead and trail make of them."""
        low, high = min(item[0] for item in items), max(item[1] for item in items)
        self.exact.update(number for item in items for number in item)
        self.spans.update(item for item in items if item[0] != item[1])
        before, after = self._lead(keyword - 1, is_range=low != high)
        if self.at(end).text in ("'", "’") and self.at(end + 1).text == "s":
            before = after = 0  # "after step 12's action" is about step 12
        if self._runs_to_the_end(keyword, end):
            after = None
        if before != 0 or after != 0:
            self.spans.add((None if before is None else low - before, None if after is None else high + after))
        if low == high and self.at(keyword - 1).text == "(" and self.at(end).text == ")":
            self._asides.append((keyword - 1, end + 1, low))

    def _lead(self, i: int, *, is_range: bool) -> tuple[int | None, int | None]:
        """How many steps before and after the named ones the words that end at token `i` ask for; None is all of them."""
        if self.at(i).text == "of" and self.at(i - 1).text in _BOUNDARIES:
            i -= 3 if self.at(i - 2).text == "the" else 2
        word, previous, earlier = self.words(i, i - 1, i - 2)
        if word == "after" and previous == "and" and earlier == "before":
            return 1, 1
        if word in ("after", "beyond", "past"):
            return 0, self._distance(i - 1)
        if word == "before":
            return self._distance(i - 1), 0
        if word == "to" and previous == "prior":
            return self._distance(i - 2), 0
        if word in ("preceding", "following") and previous not in ("the", "immediately", "very"):
            steps = self._distance(i - 1) or 1
            return (steps, 0) if word == "preceding" else (0, steps)
        if word == "since":
            return 0, None
        through = word in ("through", "thru") and not is_range
        return (None, 0) if through or self._is_until(word, previous) else (0, 0)

    def _is_until(self, word: str, previous: str) -> bool:
        if word == "to":
            return previous == "up" or previous in _START
        if word == "and":
            return previous in _START
        if word == "by":
            return not previous.endswith(("ed", "en", "wn"))  # "enabled by step 9" names one step
        return word in ("until", "till") or (word == "of" and previous == "as")

    def _distance(self, i: int) -> int | None:
        """How far `before` or `after` reaches, by what ends at token `i`: "two steps" 2, "just" 1, else None (all)."""
        if self.at(i).text in _NEXT_TO:
            return 1
        if not self.is_keyword(i):
            return None
        return self.count(i - 1) or (None if self.is_plural(i) else 1)

    def _compares(self, between: int) -> bool:
        return not _RELATIONS.isdisjoint(self.words(*range(between - 3, between)))

    def _runs_to_the_end(self, keyword: int, end: int) -> bool:
        token, following, third = self.words(end, end + 1, end + 2)
        if token in ("onward", "onwards", "forward") or (token == "+" and not self.at(end).spaced):
            return True
        if token == "on":
            return self.at(keyword - 1).text == "from" and self.at(end + 1).kind != "word"
        to = token in TO or (token == "and" and self.at(keyword - 1).text == "between")
        ends = third in LAST or (third == "end" and self.at(end + 3).text != "of")
        return to and following == "the" and ends

    def _add_spans_between_asides(self) -> None:
        """ "Between the first click (step 3) and the second click (step 6)" is the range from 3 to 6."""
        for (start, after, low), (next_start, _, high) in pairwise(self._asides):
            head = self.words(*range(max(0, start - _CLAUSE_TOKENS), start))
            gap = self.words(*range(after, min(next_start, after + _CLAUSE_TOKENS + 1)))
            if "between" not in head or "and" not in gap or len(gap) > _CLAUSE_TOKENS:
                continue
            clause = head[len(head) - 1 - head[::-1].index("between") :] + gap
            if low < high and not _RELATIONS.intersection(head) and not {".", "?", "!"}.intersection(clause):
                self.spans.add((low, high))
