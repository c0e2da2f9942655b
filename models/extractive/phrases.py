"""Picking the phrases of a few turns that say what the question does not say already."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from models.extractive.config import ExtractiveConfig
from models.extractive.ranking import Ranking
from models.extractive.units import Unit
from models.extractive.words import sentences

_WORD = re.compile(r"\w[\w'’&-]*")
_BREAK = re.compile(r"[.,!?;:()\"|—–…]|\s-\s")
_NO_PHRASE = frozenset(
    """
    i you he she it we they me him us them i'm i've i'd i'll it's it'll that's you're we're they're he's she's there's don't
    didn't can't is are was were be been being am do does did done have has had having will would could should can may might
    must but because so if when while that which who what where why how this these those there here then than just really
    very also too still even ever never not no yes yeah wow hey hi thanks thank oh well sure definitely actually totally
    absolutely let's let get got getting go went going gone make made making think know feel felt like love loved loving
    start started been since hope glad great awesome cool nice good amazing lot bit thing things stuff gave give take took
    last next week weekend month year time recently lately currently today yesterday tomorrow tonight ago
    """.split()
)
"""Words that end a phrase: pronouns, auxiliaries, conjunctions, times, and the small talk of chats."""
_EDGES = frozenset(
    """
    a an the and or of to in on at for with from by as my your his her our their its some any all more most about into over
    out up down off such own same other another each few both during before after again
    """.split()
)
"""Words that may stand inside a phrase but not at its ends."""
_SEVERAL = re.compile(
    r"\b(?:what|which)(?: (?:kinds?|types?|sorts?) of)?(?: \w+)? (?!is|was|does|has|this|his)\w{3,}s\b"
    r"|\b(?:has|have|ways)\b",
    re.IGNORECASE,
)
_FAR = 8
"""From this many words on, a phrase is as far from the question's words as it can be."""


def pick_phrases(question: str, turns: Sequence[Unit], ranking: Ranking, config: ExtractiveConfig) -> str:
    """The best phrases of `turns`, comma-joined: by their sentence's match, their own length and their distance to it."""
    scored: dict[str, float] = {}
    for turn in turns:
        turn_score = ranking.score_of(turn)
        for sentence in sentences(turn.text):
            sentence_score = turn_score + 0.5 * ranking.score(sentence)
            for phrase, n_words, distance in _phrases(sentence, ranking):
                score = sentence_score + 0.5 * min(n_words, 4) - 0.2 * min(distance, _FAR)
                scored[phrase] = max(score, scored.get(phrase, score))
    wanted = config.listed_phrases if _SEVERAL.search(question) else config.phrases
    best = sorted(scored, key=lambda phrase: -scored[phrase])[:wanted]  # stable: equal scores stay in reading order
    return ", ".join(" ".join(phrase.split()[: config.phrase_words]) for phrase in best)


def _phrases(sentence: str, ranking: Ranking) -> Iterator[tuple[str, int, int]]:
    """Runs of words of neither the question nor small talk: (phrase, its content words, words to the nearest match)."""
    words = list(_WORD.finditer(sentence))
    bare = [word.group().lower().replace("’", "'") for word in words]
    matches = [i for i, word in enumerate(bare) if ranking.is_wanted(word.removesuffix("'s"))]
    stops = set(matches) | {i for i, word in enumerate(bare) if word in _NO_PHRASE}
    for start, end in _runs(sentence, words, stops):
        while start < end and bare[start] in _EDGES:
            start += 1
        while end > start and bare[end - 1] in _EDGES:
            end -= 1
        if start < end:
            distance = min((min(abs(start - m), abs(end - 1 - m)) for m in matches), default=_FAR)
            n_words = sum(word not in _EDGES for word in bare[start:end])
            yield sentence[words[start].start() : words[end - 1].end()], n_words, distance


def _runs(sentence: str, words: Sequence[re.Match[str]], stops: set[int]) -> Iterator[tuple[int, int]]:
    """Maximal ranges of word positions without a stop and without punctuation between them."""
    start = 0
    for i in range(len(words) + 1):
        ended = i == len(words) or i in stops
        broken = 0 < i < len(words) and _BREAK.search(sentence, words[i - 1].end(), words[i].start())
        if ended or broken:
            if start < i:
                yield start, i
            start = i + 1 if ended else i
