"""`TemplateProposer`: candidates without a language model, from one parametrised family per prior direction.

Exploration draws all constants of the family afresh. Exploitation changes one or two constants of the direction's best
policy; where another direction holds the lead, it sometimes takes over the constants that both have. Repair gives the worst
cell of the best policy estimates of its own, learned from the training examples of that cell.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence

from models.selector.contract import Entry, Proposal, Role
from models.selector.directions import Direction
from models.selector.proposer import ProposerView
from models.selector.templates import pieces
from models.selector.templates.family import MAX_REPAIRS, REPAIR_CONSTANTS, Family, Values, read_values

TRANSPLANT = 0.3
"""How often exploitation takes over constants of a better policy of another direction."""


class TemplateProposer:
    """Implements `models.selector.proposer.Proposer`. `families` maps the name of a direction to its family.

    For a direction of number 0, which names no mechanism (the ablation without priors), exploration draws the family too,
    and the other roles work on the family of the best policy.
    """

    def __init__(self, families: Mapping[str, Family]) -> None:
        self._families = families

    @property
    def name(self) -> str:
        """The proposer in tables and cache keys: it changes with every word of a template."""
        parts = [*(repr(family) for family in self._families.values()), pieces.FRAME, pieces.REPAIR_FRAME]
        return f"templates-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:12]}"

    def propose(self, role: Role, direction: Direction, view: ProposerView, rng: random.Random) -> Proposal:
        """A policy of the direction's family. `KeyError` for a direction without one, `ValueError` for another role."""
        family = self._family(role, direction, view, rng)
        if role == "explore":
            return _proposal(family, role, family.draw(rng, view.letters), view, None, "drawn afresh")
        if role == "exploit":
            return _exploit(family, view, rng)
        if role == "repair":
            return _repair(family, view, rng)
        raise ValueError(f"templates make candidates to exploit, explore or repair, not {role!r}")

    def _family(self, role: Role, direction: Direction, view: ProposerView, rng: random.Random) -> Family:
        if direction.name in self._families:
            return self._families[direction.name]
        if direction.number:
            raise KeyError(f"no family of templates for direction {direction.name!r}: register one, or propose with an LLM")
        drawn = rng.choice(list(self._families.values()))
        found = (f for entry in view.entries for f in self._families.values() if f.made(entry.proposal.source))
        return drawn if role == "explore" else next(found, drawn)


def _proposal(family: Family, role: Role, values: Values, view: ProposerView, parent: Entry | None, note: str) -> Proposal:
    source = family.render(values, view.cost)
    return Proposal(source, family.direction, role, "" if parent is None else parent.id, note)


def _exploit(family: Family, view: ProposerView, rng: random.Random) -> Proposal:
    parent = next((entry for entry in view.entries if family.made(entry.proposal.source)), None)
    base = _values_of(parent, family, view.letters, rng)
    lead = view.entries[0] if view.entries else None
    if lead is not None and lead is not parent and rng.random() < TRANSPLANT:
        taken = family.taken_over(read_values(lead.proposal.source), view.letters)
        if any(base[name] != value for name, value in taken.items()):
            note = f"{', '.join(sorted(taken))} of {lead.id}"
            return _proposal(family, "exploit", base | taken, view, parent or lead, note)
    changed = family.change(base, rng, view.letters)
    note = ", ".join(name for name in changed if changed[name] != base[name])
    return _proposal(family, "exploit", changed, view, parent, f"changed {note}")


def _repair(family: Family, view: ProposerView, rng: random.Random) -> Proposal:
    parent = next((entry for entry in view.entries if family.made(entry.proposal.source)), None)
    base = _values_of(parent, family, view.letters, rng)
    if view.worst_cell is None:
        return _proposal(family, "repair", family.change(base, rng, view.letters), view, parent, "no weak cell known")
    cell = "|".join(view.worst_cell)
    cells = [*(one for one in base.get("REPAIRS", []) if one != cell), cell][-MAX_REPAIRS:]
    drawn = {constant.name: constant.draw(rng, view.letters) for constant in REPAIR_CONSTANTS}
    return _proposal(family, "repair", base | drawn | {"REPAIRS": cells}, view, parent, f"estimates of its own for {cell}")


def _values_of(parent: Entry | None, family: Family, letters: Sequence[str], rng: random.Random) -> Values:
    """The constants of `parent`; those that it lacks or has out of bounds are drawn."""
    fresh = family.draw(rng, letters)
    if parent is None:
        return fresh
    read = read_values(parent.proposal.source)
    return fresh | family.taken_over(read, letters) | _repairs_in(read, letters)


def _repairs_in(values: Values, letters: Sequence[str]) -> Values:
    cells = values.get("REPAIRS")
    if not isinstance(cells, list) or not all(isinstance(cell, str) for cell in cells):
        return {}
    if not all(c.name in values and c.accepts(values[c.name], letters) for c in REPAIR_CONSTANTS):
        return {}
    return {"REPAIRS": cells} | {constant.name: values[constant.name] for constant in REPAIR_CONSTANTS}
