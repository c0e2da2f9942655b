"""Triples without a language model: rules over actions, observations and turns, each triple anchored at its step.

The stand-in for two-stage OpenIE (MESA, C.2) where no model is at hand. It reads tool calls, commands, page elements,
`key: value` states, simple sentences and clauses; a sentence that fits no rule is kept whole as something shown or said, so
no language is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.extract.action_triples import action_triples
from models.extract.dialogue_triples import dialogue_triples
from models.extract.observation_triples import observation_triples
from models.extract.pieces import split_lines
from models.extract.triple_text import Triple
from storage.structures.lexical import content_tokens
from storage.structures.render import DIALOGUE, StepRow


@dataclass(frozen=True)
class RuleTriplesConfig:
    """Limits of the rules. Of an observation longer than `scan_chars` only the head and the tail are read."""

    max_per_step: int = 16
    max_per_episode: int = 6_000
    max_part_chars: int = 160
    max_source_chars: int = 60
    max_line_chars: int = 400
    max_candidates: int = 120
    scan_chars: int = 8_000


def rule_triples(rows: Sequence[StepRow], config: RuleTriplesConfig | None = None) -> list[dict[str, object]]:
    """The triples of one episode in reading order: rows of `schemas.TRIPLES` without `episode_id`.

    A triple that was stated before is not repeated: a state is recorded when it changes. Of a step with more than
    `max_per_step` new triples those with the most new words stay; what the agent did always stays.
    """
    config = config or RuleTriplesConfig()
    others = _other_speakers(rows)
    stated: dict[tuple[str, str], str] = {}
    words: set[str] = set()
    found: list[dict[str, object]] = []
    for row in rows:
        done = [] if row.action == DIALOGUE else list(action_triples(row.action, config.max_part_chars))
        seen = [made for made in _observed(row, done, others, config) if stated.get(made[:2]) != made.tail]
        chosen = done[: config.max_per_step] + _newest(seen, words, config.max_per_step - len(done))
        for made in chosen:
            stated[made[:2]] = made.tail
            words.update(content_tokens(" ".join(made)))
        found.extend({"step": row.step, **made._asdict()} for made in dict.fromkeys(chosen))
    return found[: config.max_per_episode]


def _observed(row: StepRow, done: Sequence[Triple], others: dict[str, str], config: RuleTriplesConfig) -> list[Triple]:
    speaker = row.speaker or "speaker"
    source = _source(done[0], config.max_source_chars) if done else "observation"
    found: list[Triple] = []
    for _, line in split_lines(row.observation, config.max_line_chars, config.scan_chars):
        if row.action == DIALOGUE:
            made = dialogue_triples(line, speaker, others.get(speaker, ""), row.timestamp, config.max_part_chars)
        else:
            made = observation_triples(line, source, config.max_part_chars)
        found.extend(made)
        if len(found) >= config.max_candidates:
            break
    return list(dict.fromkeys(found))


def _source(action: Triple, max_chars: int) -> str:
    """What a step's observation is about: what the action acted on, or the action's output where that is too long."""
    return action.tail if len(action.tail) <= max_chars else f"{action.relation} output"


def _newest(candidates: Sequence[Triple], known: set[str], count: int) -> list[Triple]:
    """The `count` candidates with the most words that the episode did not use before, in reading order."""
    if len(candidates) <= count:
        return list(candidates)
    ranked = sorted(range(len(candidates)), key=lambda i: (-len(set(content_tokens(" ".join(candidates[i]))) - known), i))
    return [candidates[i] for i in sorted(ranked[: max(count, 0)])]


def _other_speakers(rows: Sequence[StepRow]) -> dict[str, str]:
    """Whom each speaker talks to, when a conversation has exactly two."""
    names = list(dict.fromkeys(row.speaker for row in rows if row.speaker))
    return {names[0]: names[1], names[1]: names[0]} if len(names) == 2 else {}
