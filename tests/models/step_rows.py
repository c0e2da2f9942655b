"""Steps made by hand, for extractors and the sufficiency loop."""

from __future__ import annotations

from datetime import UTC, datetime

from storage.structures.render import DIALOGUE, StepRow


def step(label: int, action: str, observation: str) -> StepRow:
    return StepRow(label, action, observation, None, None, None, None)


def turn(label: int, speaker: str, said: str) -> StepRow:
    at = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    return StepRow(label, DIALOGUE, said, speaker, 1, at, f"D1:{label}")


def kitchen(n: int) -> list[StepRow]:
    """`n` steps, each with a thing of its own."""
    return [step(i, f"take thing{i}", f"You hold the thing{i}, price {i * 10}.") for i in range(n)]
