"""Templates: parametrised policies for the 20 prior directions, and the proposer that draws and changes them.

proposer = TemplateProposer(FAMILIES)
proposal = proposer.propose("explore", direction_named("parsimony"), view, random.Random(0))
"""

from __future__ import annotations

from collections.abc import Mapping

from models.selector.templates import axis_a, axis_b, axis_c, axis_d, axis_e
from models.selector.templates.family import Family, read_values
from models.selector.templates.proposer import TemplateProposer

FAMILIES: Mapping[str, Family] = {
    family.direction: family for axis in (axis_a, axis_b, axis_c, axis_d, axis_e) for family in axis.FAMILIES
}
"""One family per prior direction, in the order of `DIRECTIONS`."""

__all__ = ["FAMILIES", "Family", "TemplateProposer", "read_values"]
