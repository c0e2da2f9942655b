"""The memory structures; `STRUCTURES` is the registry."""

from __future__ import annotations

from storage.structures.base import Structure
from storage.structures.event_graph import EventGraphStructure
from storage.structures.graph import GraphStructure
from storage.structures.raw import RawStructure
from storage.structures.summary import SummaryStructure
from storage.structures.temporal import TemporalStructure
from storage.structures.vector import VectorStructure

STRUCTURES: dict[str, Structure] = {
    "S": SummaryStructure(),
    "T": TemporalStructure(),
    "G": GraphStructure(),
    "V": VectorStructure(),
    "R": RawStructure(),
    "H": EventGraphStructure(),
}
"""By letter, in the fixed order of subsets. A new structure is one file and one line; it inherits the contract suite."""

DEFAULT_LETTERS = ("S", "T", "G", "V", "R")
"""What is built and read unless other letters are asked for: the five structures of MESA."""
