"""Triples from a turn of a conversation: who did, has or likes what, and when; "I" is the speaker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

from models.extract.dates import resolve_dates
from models.extract.triple_text import Triple, triple
from storage.structures.lexical import content_tokens

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_AUXILIARY = (
    "am|is|are|was|were|be|been|being|have|has|had|do|does|did|will|would|can|could|should|might|may|gonna|going to|got to"
    "|just|really|also|always|never|not|recently|finally|already|still|even|definitely|actually|currently|totally|so|both|all"
    "|want to|plan to|planning to|trying to|need to|love to|hope to|used to"
)
_PREPOSITION = "to|in|on|at|for|with|about|from|of|up|out|into|by|like|as"
_END = re.compile(r",? (?:but|because|so that|and (?:I|we|my|it|they|he|she))\b| - ")
_VERBS_OF_MY = re.compile(r"^(?:am|is|are|was|were|has|have|had|can|will|would|did|does|do)\b|\w+(?:s|ed)\b")
_SHORT = {"'m": "am ", "'ve": "have ", "'ll": "will ", "'d": "would ", "'s": "is ", "'re": "are "}


def dialogue_triples(text: str, speaker: str, other: str, said: datetime | None, max_chars: int) -> Iterator[Triple]:
    """The relations of one turn. `other` is whom the speaker talks to (empty when unknown); `said` dates the turn."""
    for sentence in _SENTENCE.split(text.replace("’", "'")):
        clause = _clause(sentence, speaker, other, max_chars)
        if clause is None and len(content_tokens(sentence)) >= 2:
            clause = triple(speaker, "said", sentence, max_chars)
        if clause is None:
            continue
        yield clause
        for phrase, date in resolve_dates(sentence, said) if said else ():
            if when := triple(clause.tail, f"when ({phrase})", date, max_chars):
                yield when


@lru_cache(maxsize=64)
def _clause_pattern(speaker: str, other: str) -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in (speaker, other) if name)
    return re.compile(
        rf"\b(?P<subject>I|[Ww]e|[Mm]y (?:\w+ ){{0,2}}?\w+|[Oo]ur \w+|[Yy]ou|{names})"
        r"(?P<short>'(?:m|ve|ll|d|s|re))? "
        rf"(?P<relation>(?!(?:{_PREPOSITION})\b)(?:(?:{_AUXILIARY}|\w+n't) ){{0,6}}\w+(?: (?:{_PREPOSITION}))?)"
        r" (?P<tail>[^.!?;。！？]{2,300})"
    )


def _clause(sentence: str, speaker: str, other: str, max_chars: int) -> Triple | None:
    """The first clause about one of the speakers."""
    match = _clause_pattern(speaker, other).search(sentence)
    if match is None:
        return None
    subject = match["subject"]
    lower = subject.casefold()
    if lower.startswith(("my ", "our ")):
        if not _VERBS_OF_MY.match(match["relation"]):
            return None
        subject = f"{speaker}'s {subject.split(' ', 1)[1]}"
    elif lower in ("i", "we"):
        subject = speaker
    elif lower == "you":
        subject = other
    tail = match["tail"]
    end = _END.search(tail)
    relation = _SHORT.get(match["short"] or "", "") + match["relation"]
    return triple(subject, relation, tail[: end.start()] if end else tail, max_chars)
