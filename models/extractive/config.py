"""The settings of the extractive answerer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExtractiveConfig:
    """Lengths and weights.

    `max_words` bounds an answer about a trajectory, whose gold answers are sentences (AMA-Bench: median 37 words);
    `phrases` phrases of at most `phrase_words` words, or `listed_phrases` where the question asks for several things, make
    an answer about a conversation (LoCoMo: median 3 words). Where the best turn of a conversation matches less than
    `min_coverage` of the question's weight, it abstains; questions about trajectories are long descriptions, of which a
    small share says nothing. `other_speaker`, `reply` and `line` weigh a turn of somebody who was not asked about, the turn
    before, and text that is neither a step nor a turn.
    """

    max_words: int = 50
    phrase_words: int = 8
    phrases: int = 2
    listed_phrases: int = 4
    min_coverage: float = 0.1
    other_speaker: float = 0.4
    reply: float = 0.25
    line: float = 0.5
