"""How far judges agree on the same answers: share of equal verdicts and Cohen's kappa by pair, and the majority of all.

A verdict is a score of 1 or 0; None where a judge gave none, which is in no number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

Verdicts = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judges over the `n` answers that both gave a verdict on. `kappa` and `agreement` are None for none."""

    first: str
    second: str
    n: int
    agreement: float | None
    kappa: float | None


def agreements(verdicts: Mapping[str, Verdicts]) -> list[Agreement]:
    """Every pair of judges, in the order given. `ValueError` for judges of different answers."""
    if len({len(given) for given in verdicts.values()}) > 1:
        raise ValueError("the judges did not judge the same answers")
    return [_agreement(first, second, verdicts[first], verdicts[second]) for first, second in combinations(verdicts, 2)]


def _agreement(first: str, second: str, a: Verdicts, b: Verdicts) -> Agreement:
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    if not pairs:
        return Agreement(first, second, 0, None, None)
    return Agreement(first, second, len(pairs), sum(x == y for x, y in pairs) / len(pairs), cohens_kappa(pairs))


def cohens_kappa(pairs: Sequence[tuple[float, float]]) -> float:
    """Agreement beyond chance (Cohen, 1960) for verdicts of 0 and 1; 1.0 when both always give the same one."""
    n = len(pairs)
    observed = sum(x == y for x, y in pairs) / n
    yes_a, yes_b = sum(x for x, _ in pairs) / n, sum(y for _, y in pairs) / n
    expected = yes_a * yes_b + (1 - yes_a) * (1 - yes_b)
    return 1.0 if expected == 1 else (observed - expected) / (1 - expected)


def majority(verdicts: Sequence[Verdicts]) -> list[float | None]:
    """What most judges say of each answer; None on a tie, or where nobody gave a verdict."""
    return [_most([v for v in given if v is not None]) for given in zip(*verdicts, strict=True)]


def _most(given: Sequence[float]) -> float | None:
    yes = sum(given)
    return None if 2 * yes == len(given) else float(2 * yes > len(given))
