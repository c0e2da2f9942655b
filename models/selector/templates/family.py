"""A policy family: source with named constants, rendered for drawn values and read back from the source.

\"\"\"hierarchical_shrinkage: shrunk means of a chain of groups.\"\"\"

import re

LAMBDA = 1e-05  # points of the objective that one evidence token costs
COST_WEIGHT = 0.83  # share of that price which is charged
FEATURES = ["domain", "size:S"]  # what questions are grouped by, coarse to fine
...
def fit(examples): ...
def select(question, context, params): ...
"""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.selector.templates import pieces
from models.selector.templates.constants import METADATA, Constant, Features, OneOf, Real

COST_WEIGHT = Real(
    "COST_WEIGHT",
    0.4,
    0.9,
    "share of that price which is charged: less than all, because shrunk estimates understate gains",
)
FEATURES = Features("FEATURES", METADATA, "what questions are grouped by, coarse to fine", low=2, high=4)
SHRINK = OneOf("SHRINK", (2, 4, 8, 12, 20, 30, 50), "weight of a group's parent, in questions")
BINS = OneOf("BINS", (2, 3, 4), "intervals that a numeric feature is cut into")

REPAIR_CONSTANTS: tuple[Constant, ...] = (
    OneOf("REPAIR_MOVE", ("add", "replace"), "in a weak cell, add to the policy's choice or replace it"),
    OneOf("REPAIR_SHRINK", (8, 16, 32, 64), "weight of all questions beside those of a weak cell, in questions"),
    Real("REPAIR_PRICE", 0.4, 1.0, "share of a token's charge that is charged in a weak cell"),
)
MAX_REPAIRS = 4
"""Weak cells that one policy repairs; a further repair takes the place of the oldest."""

Values = dict[str, Any]


@dataclass(frozen=True)
class Family:
    """One direction's policies. `body` defines `learn(examples)` and `route(question, context, params)`."""

    direction: str
    idea: str
    constants: tuple[Constant, ...]
    parts: tuple[str, ...]
    body: str

    def draw(self, rng: random.Random, letters: Sequence[str]) -> Values:
        """Fresh values for all constants."""
        return {constant.name: constant.draw(rng, letters) for constant in self.constants}

    def change(self, values: Values, rng: random.Random, letters: Sequence[str]) -> Values:
        """A neighbour: one or two constants changed. Includes the constants of repairs where `values` has some."""
        known = [constant for constant in (*self.constants, *REPAIR_CONSTANTS) if constant.name in values]
        chosen = rng.sample(known, rng.choice((1, 1, 2)))
        return values | {c.name: c.change(values[c.name], rng, letters) for c in chosen}

    def taken_over(self, values: Values, letters: Sequence[str]) -> Values:
        """The part of another source's values that fits this family's constants."""
        found = {c.name: values[c.name] for c in self.constants if c.name in values}
        return {c.name: found[c.name] for c in self.constants if c.name in found and c.accepts(found[c.name], letters)}

    def made(self, source: str) -> bool:
        """Whether a source was rendered from this family."""
        return source.startswith(f'"""{self.direction}: ')

    def render(self, values: Values, cost: float) -> str:
        """The source of one policy. `values` has all constants and, for repairs, `REPAIRS` and those of repairs."""
        repairs = values.get("REPAIRS") or []
        constants = (*self.constants, *(REPAIR_CONSTANTS if repairs else ()))
        lines = [_line("LAMBDA", cost, "points of the objective that one evidence token costs")]
        lines += [_line(constant.name, values[constant.name], constant.comment) for constant in constants]
        if repairs:
            lines.append(_line("REPAIRS", repairs, "weak cells (domain|capability) with estimates of their own"))
        frame = pieces.REPAIR_FRAME if repairs else pieces.FRAME
        head = f'"""{self.direction}: {self.idea}"""\n\nimport re\n\n' + "\n".join(lines)
        return "\n\n\n".join([head, *(part.strip() for part in (*self.parts, self.body, frame))]) + "\n"


def _line(name: str, value: Any, comment: str) -> str:
    return f"{name} = {json.dumps(value)}  # {comment}"


def read_values(source: str) -> Values:
    """The literal constants (upper-case names) at the top level of a source; empty where it does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    found: Values = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name.isupper():
                found |= _literal(name, node.value)
    return found


def _literal(name: str, node: ast.expr) -> Mapping[str, Any]:
    try:
        return {name: ast.literal_eval(node)}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return {}
