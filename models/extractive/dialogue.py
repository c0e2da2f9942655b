"""A short answer from the turns of a conversation: a date, a number, yes or no, or a few phrases."""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.extractive.config import ExtractiveConfig
from models.extractive.dates import plain_date, time_phrase
from models.extractive.phrases import pick_phrases
from models.extractive.ranking import Ranking
from models.extractive.units import Unit
from models.extractive.words import sentences

_WHEN = re.compile(r"\bwhen\b|\b(?:what|which) (?:date|day|month|year)\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\bhow many\b", re.IGNORECASE)
_HOW_LONG = re.compile(r"\bhow (?:long|old|often)\b", re.IGNORECASE)
_YES_NO = re.compile(r"\s*(?:is|are|was|were|do|does|did|has|have|had|can|could|would|will|should)\b", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|never|no|nobody|nothing|\w+n['’]t)\b", re.IGNORECASE)
_COUNT = r"\d+|one|two|three|four|five|six|seven|eight|nine|ten|several"
_NUMBER = re.compile(rf"\b(?:{_COUNT}|once|twice)\b", re.IGNORECASE)
_DURATION = re.compile(
    rf"\b(?:{_COUNT}|an?|few|a few) (?:years?|months?|weeks?|days?|hours?|minutes?)\b(?: old)?"
    r"|\b(?:every|once a|twice a) (?:\w+ )?(?:years?|months?|weeks?|days?|hours?|morning|evening)\b",
    re.IGNORECASE,
)
_TURNS = 2
"""How many of the best turns are read for an answer."""


def answer_from_turns(question: str, ranking: Ranking, config: ExtractiveConfig) -> str:
    """The answer to a question about a conversation; empty where the evidence holds nothing that matches."""
    best = ranking.best(_TURNS)
    if _WHEN.search(question):
        return _when(best, ranking) or pick_phrases(question, best, ranking, config)
    if _YES_NO.match(question):
        return _yes_or_no(best, ranking)
    for asked, answer in ((_HOW_MANY, _NUMBER), (_HOW_LONG, _DURATION)):
        if asked.search(question) and (found := _first(answer, best)):
            return found
    return pick_phrases(question, best, ranking, config)


def _when(best: Sequence[Unit], ranking: Ranking) -> str:
    """The time that the best dated turn names, first in its best sentence, or else its own date."""
    dated = next((turn for turn in best if turn.said_on is not None), None)
    if dated is None or dated.said_on is None:
        return ""
    by_match = sorted(sentences(dated.text), key=lambda sentence: -ranking.score(sentence))
    phrases = (time_phrase(sentence, dated.said_on) for sentence in by_match)
    return next(filter(None, phrases), plain_date(dated.said_on))


def _yes_or_no(best: Sequence[Unit], ranking: Ranking) -> str:
    said = [sentence for turn in best[:1] for sentence in sentences(turn.text)]
    if not said:
        return ""
    return "No" if _NEGATION.search(max(said, key=ranking.score)) else "Yes"


def _first(pattern: re.Pattern[str], turns: Sequence[Unit]) -> str:
    return next((found.group() for turn in turns if (found := pattern.search(turn.text))), "")
