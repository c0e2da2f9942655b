"""G: an episode as triples, read by linking the question to entities and relations (MESA, Appendix A.1, Graph).

The access is lexical: no model, no PageRank. Its evidence is one block per focal relation, its neighbours below it:

    [step 12] (agent, opened, cabinet 3)
      [step 11] (agent, go to, cabinet 3)
      [step 14] (soapbar 1, take from, cabinet 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from storage.structures.base import BuildInputs, BuiltShard, Evidence, Query
from storage.structures.graph_index import Relation, RelationGraph
from storage.structures.render import DIALOGUE, StepRow, cut, step_rows
from storage.structures.step_refs import explicit_steps
from storage.tables import TABLE, by_episode, read_episode, write_table

_TRIPLES = pa.list_(
    pa.struct([("step", pa.int64()), ("head", pa.string()), ("relation", pa.string()), ("tail", pa.string())])
)
GRAPH = pa.schema(
    [
        ("episode_id", pa.string()),
        ("labels", pa.list_(pa.int64())),
        ("anchors", pa.list_(pa.string())),
        ("triples", _TRIPLES),
    ]
)
"""One row per episode, also for one without triples; `anchors[i]` is how step `labels[i]` is named in evidence."""


@dataclass(frozen=True)
class GraphStructure:
    """Reads the derived table `triples` (`schemas.TRIPLES`).

    A relation's score is the share of the question's words that it carries, weighted by rarity (`lexical_weight`), plus how
    much of its entities the question names (`entity_weight`), plus `proximity / (1 + |l - r|)` for an anchor l and a step r
    that the question names. An entity is linked when the question has `link_share` of its words. A relation one hop from a
    linked entity gains `hop_weight`, two hops half of it; an entity with more than `hub_share` of all relations (never
    fewer than `min_hub`) links nothing across steps.
    """

    focal: int = 8
    neighbours: int = 4
    lexical_weight: float = 2.0
    entity_weight: float = 1.0
    proximity: float = 1.25
    seed_window: int = 1
    hop_weight: float = 0.2
    link_share: float = 0.75
    hub_share: float = 0.1
    min_hub: int = 20
    max_part_chars: int = 300

    @property
    def letter(self) -> str:
        return "G"

    @property
    def name(self) -> str:
        return "graph"

    @property
    def version(self) -> int:
        return 2

    @property
    def derives(self) -> tuple[str, ...]:
        return ("triples",)

    def build(self, inputs: BuildInputs, out: Path) -> int:
        """Write each episode's distinct triples in step order; return their number.

        A triple anchored at a step that the episode does not have is dropped; one without an anchor is kept.
        """
        found: dict[str, list[dict[str, object]]] = {}
        for row in inputs.derived["triples"].to_pylist():
            found.setdefault(row.pop("episode_id"), []).append(row)
        rows: list[dict[str, object]] = []
        total = 0
        for episode_id, steps in by_episode(inputs.steps):
            turns = step_rows(steps)
            triples = _distinct(found.get(episode_id, []), {turn.step for turn in turns})
            total += len(triples)
            anchors = [_anchor(turn) for turn in turns]
            labels = [turn.step for turn in turns]
            rows.append({"episode_id": episode_id, "labels": labels, "anchors": anchors, "triples": triples})
        write_table(out / TABLE, pa.Table.from_pylist(rows, schema=GRAPH))
        return total

    def open(self, shard: BuiltShard, episode_id: str) -> GraphIndex:
        """Read one episode's graph and index it. `KeyError` when the shard does not hold the episode."""
        (row,) = read_episode(shard.fs, f"{shard.folder}/{TABLE}", episode_id).to_pylist()
        relations = [Relation(**triple) for triple in row["triples"]]
        anchors = dict(zip(row["labels"], row["anchors"], strict=True))
        return GraphIndex(self, RelationGraph(relations, self.hub_share, self.min_hub), anchors)


def _distinct(triples: Sequence[dict[str, object]], labels: set[int]) -> list[dict[str, object]]:
    kept = {
        tuple(triple.values()): triple
        for triple in triples
        if (triple["step"] is None or triple["step"] in labels) and triple["head"] and triple["relation"] and triple["tail"]
    }
    last = max(labels, default=0) + 1
    return sorted(kept.values(), key=lambda triple: last if triple["step"] is None else int(str(triple["step"])))


def _anchor(row: StepRow) -> str:
    if row.action != DIALOGUE:
        return f"step {row.step}"
    when = f" {row.timestamp:%Y-%m-%d}" if row.timestamp else ""
    return f"{row.ref or f'turn {row.step}'}{when}"


@dataclass(frozen=True, slots=True)
class GraphIndex:
    """One episode's graph, ready for questions."""

    settings: GraphStructure
    graph: RelationGraph
    anchors: dict[int, str]

    def access(self, query: Query) -> Evidence:
        """The focal relations, best first, each with its best neighbours; empty when nothing matches the question."""
        settings = self.settings
        named = explicit_steps(query.text, tuple(self.anchors))
        scores = self.graph.scores(query.text, named, settings)
        focal = self.graph.best(scores, settings.focal)
        shown = set(focal)
        blocks: list[str] = []
        steps: dict[int, None] = {}
        for relation in focal:
            around = self.graph.neighbours(relation, scores, settings.neighbours, exclude=shown)
            shown.update(around)
            lines = [self._line(relation), *(f"  {self._line(other)}" for other in around)]
            blocks.append("\n".join(lines))
            anchored = (self.graph.relations[i].step for i in (relation, *around))
            steps.update(dict.fromkeys(step for step in anchored if step is not None))
        return Evidence(tuple(blocks), tuple(steps), tuple(float(scores[i]) for i in focal), localised=bool(focal))

    def _line(self, index: int) -> str:
        relation = self.graph.relations[index]
        parts = (cut(text, self.settings.max_part_chars) for text in (relation.head, relation.relation, relation.tail))
        where = "" if relation.step is None else f"[{self.anchors[relation.step]}] "
        return f"{where}({', '.join(parts)})"
