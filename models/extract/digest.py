"""A summary without a language model: the key-turn digest, in the format of the paper's summary prompt (MESA, C.1).

    memory_summary: key_turns=0-4, 7; key_objective=Put two bars of soap into the trash can.; key_events=go x5 (0-4); ...
    turn_id: 2
    env_state:
    - action: go to sinkbasin 1
    - result: You arrive at sinkbasin 1. On the sinkbasin 1, you see a soapbar 1.

Everything shown is copied verbatim from the episode. What to show is a budgeted coverage problem: pieces of text are taken
by the content they bring per character, where a token counts less each time it was shown before (a monotone submodular
gain, for which greedy choice is near the best; Lin and Bilmes, 2011). Nothing here depends on a question.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import mul

from models.extract.digest_header import header
from models.extract.pieces import Piece, step_pieces
from models.extract.segments import segment_steps
from storage.structures.render import DIALOGUE, StepRow

_TURN_OVERHEAD = len("turn_id: 100000\nenv_state:\n")
_SESSION_OVERHEAD = len("- session: 100, 30 September 2023 13:56\n")
_LINE_OVERHEAD = len("- : \n")


@dataclass(frozen=True)
class DigestConfig:
    """The digest's numbers; sizes in characters (3 to 4 make a token).

    The budget of an episode is `share` (conversations: `dialogue_share`) of its text, within `min_chars` and `max_chars`;
    `header_share` of it is kept for the summary lines. An action earns `action_bonus` and an error `error_bonus` on top of
    its content; numbers and identifiers weigh `precise_weight`, other words 1; each time that a token was shown multiplies
    its worth by `repeat_decay`.
    """

    max_chars: int = 20_000
    min_chars: int = 2_000
    share: float = 0.35
    dialogue_share: float = 0.14
    header_share: float = 0.1
    window_chars: int = 120_000
    max_step_chars: int = 8_000
    max_piece_chars: int = 200
    min_turn_chars: int = 600
    turn_share: float = 3.0
    action_bonus: float = 6.0
    error_bonus: float = 3.0
    precise_weight: float = 1.5
    repeat_decay: float = 0.5


@dataclass(slots=True)
class _Turn:
    """A step while the digest is chosen: its pieces, and which of them are taken."""

    row: StepRow
    pieces: list[Piece]
    sizes: list[int]
    taken: set[int] = field(default_factory=set)
    used: int = 0

    @classmethod
    def of(cls, row: StepRow, pieces: list[Piece]) -> _Turn:
        return cls(row, pieces, [len(piece.key) + len(piece.text) + _LINE_OVERHEAD for piece in pieces])

    def cost(self, indices: Sequence[int]) -> int:
        """Characters that showing these pieces adds, at most."""
        cost = sum(map(self.sizes.__getitem__, indices))
        if self.taken:
            return cost
        return cost + _TURN_OVERHEAD + (_SESSION_OVERHEAD if self.row.session is not None else 0)


def digest(task: str, rows: Sequence[StepRow], config: DigestConfig | None = None) -> list[dict[str, object]]:
    """The digest of one episode: rows of `schemas.SUMMARIES` without `episode_id`, one per turn-aligned segment.

    An episode without steps has none. Their texts together keep the budget of `config`.
    """
    config = config or DigestConfig()
    segments = segment_steps(rows, config.window_chars, config.max_step_chars)
    budget = _budget(rows, config)
    header_chars = int(budget * config.header_share / max(len(segments), 1))
    turns = _turns(rows, config)
    _Chooser(turns, config).spend(budget - header_chars * len(segments))
    texts: list[dict[str, object]] = []
    for number, segment in enumerate(segments):
        part, turns = turns[: len(segment)], turns[len(segment) :]
        shown = [turn.row.step for turn in part if turn.taken]
        text = "\n".join((header(task, segment, shown, header_chars), *_body(part)))
        texts.append({"segment": number, "first_step": segment[0].step, "last_step": segment[-1].step, "text": text})
    return texts


def _budget(rows: Sequence[StepRow], config: DigestConfig) -> int:
    size = sum(min(len(text), config.max_step_chars) for row in rows for text in (row.action, row.observation))
    share = config.dialogue_share if rows and rows[0].action == DIALOGUE else config.share
    return min(config.max_chars, max(config.min_chars, int(size * share)))


def _turns(rows: Sequence[StepRow], config: DigestConfig) -> list[_Turn]:
    """The steps with their pieces. An observed line that stood in an earlier step says nothing new and is left out."""
    seen: set[str] = set()
    turns = []
    for row in rows:
        found = step_pieces(row, config.max_piece_chars, config.max_step_chars, config.precise_weight)
        pieces = [p for p in found if p.is_action or p.text not in seen]
        seen.update(p.text for p in pieces)
        turns.append(_Turn.of(row, pieces))
    return turns


_Offer = tuple[float, int, tuple[int, ...]]
"""(minus the gain per character, position of the turn, pieces of the turn): the heap's order, ties in reading order."""


class _Chooser:
    """Greedy choice with lazy evaluation: gains only shrink, so an offer that is still best after an update is the best."""

    def __init__(self, turns: Sequence[_Turn], config: DigestConfig):
        self.turns = turns
        self.config = config
        self.shown: Counter[str] = Counter()
        self.worth: dict[str, float] = {}  # what a shown token's weight counts still; 1 for one that was not shown
        self.heap = [offer for position in range(len(turns)) if (offer := self._opening(position))]
        heapq.heapify(self.heap)

    def spend(self, budget: int) -> None:
        """Mark pieces as taken until no offer fits what is left of `budget` characters."""
        turn_cap = max(self.config.min_turn_chars, int(budget * self.config.turn_share / max(len(self.turns), 1)))
        while self.heap:
            _, position, indices = heapq.heappop(self.heap)
            turn = self.turns[position]
            offer = self._offer(position, indices)
            if offer is None:
                continue
            if self.heap and offer > self.heap[0]:
                heapq.heappush(self.heap, offer)
            elif (cost := turn.cost(indices)) <= min(budget, turn_cap - turn.used):
                budget -= cost
                turn.used += cost
                self._take(position, indices)

    def _take(self, position: int, indices: tuple[int, ...]) -> None:
        turn = self.turns[position]
        is_opening = not turn.taken
        turn.taken.update(indices)
        for i in indices:
            tokens = turn.pieces[i].weights.keys()
            self.shown.update(tokens)
            self.worth.update((token, self.config.repeat_decay ** self.shown[token]) for token in tokens)
        if is_opening:
            rest = (self._offer(position, (i,)) for i in range(len(turn.pieces)) if i not in turn.taken)
            for offer in filter(None, rest):
                heapq.heappush(self.heap, offer)

    def _opening(self, position: int) -> _Offer | None:
        """What a turn shows first: its action and the line beside it that brings most."""
        pieces = self.turns[position].pieces
        lines = [offer for i, piece in enumerate(pieces) if not piece.is_action and (offer := self._offer(position, (i,)))]
        best = min(lines)[2] if lines else ()
        actions = tuple(i for i, piece in enumerate(pieces) if piece.is_action)
        return self._offer(position, actions + best)

    def _offer(self, position: int, indices: tuple[int, ...]) -> _Offer | None:
        turn = self.turns[position]
        gain = 0.0
        for i in indices:
            piece = turn.pieces[i]
            gain += self.config.action_bonus * piece.is_action + self.config.error_bonus * piece.is_error
            gain += sum(map(mul, piece.weights.values(), map(self.worth.get, piece.weights, repeat(1.0))))
        return (-gain / turn.cost(indices), position, indices) if indices and gain > 0 else None


def _body(turns: Sequence[_Turn]) -> Iterator[str]:
    session = None
    for turn in turns:
        if not turn.taken:
            continue
        yield f"turn_id: {turn.row.step}\nenv_state:"
        if turn.row.session != session:
            session = turn.row.session
            when = f", {turn.row.timestamp:%d %B %Y %H:%M}" if turn.row.timestamp else ""
            yield f"- session: {session}{when}"
        yield from _lines([turn.pieces[i] for i in sorted(turn.taken)])


def _lines(pieces: Sequence[Piece]) -> Iterator[str]:
    """`- key: value` for each run of pieces with one key; a bar stands where the source began a new line."""
    at = 0
    while at < len(pieces):
        key, text, line = pieces[at].key, pieces[at].text, pieces[at].line
        at += 1
        while key and at < len(pieces) and pieces[at].key == key:
            text += (" " if pieces[at].line == line else " | ") + pieces[at].text
            line = pieces[at].line
            at += 1
        yield f"- {key}: {text}" if key else f"- {text}"
