"""H: the build's tables, what an access shows of a walk, and the walk told to people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.local import LocalFileSystem

from storage import schemas
from storage.structures import event_index
from storage.structures.base import BuildInputs, BuiltShard, Query
from storage.structures.event_graph import EventGraphStructure, counts, kind_of
from storage.structures.event_index import AccessConfig, EventGraphIndex
from storage.structures.event_links import LinkConfig
from storage.structures.event_table import EDGES, EDGES_FILE, NODES_FILE, events_schema
from storage.structures.event_walk import WalkConfig
from storage.structures.events import EventGraph, Judgement, Walk
from storage.structures.render import StepRow

MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
TURNS = [
    ("Ann", "What did you do yesterday?"),
    ("Bo", "I went to the lake."),
    ("Ann", "With whom?"),
    ("Bo", "With Cy, in a kayak."),
    ("Ann", "I had a kayak, too."),
]
DIMENSION = 6


def tables(turns: Sequence[tuple[str, str]] = TURNS, episode_id: str = "talk") -> tuple[pa.Table, pa.Table]:
    """Steps 10, 11, ... of one conversation, and their events; event i has the unit vector i."""
    steps, events = [], []
    for i, (speaker, text) in enumerate(turns):
        here = {"episode_id": episode_id, "step": 10 + i}
        turn = {"position": i, "action": "dialogue", "observation": text, "speaker": speaker, "session": 1}
        steps.append({**here, **turn, "timestamp": MAY, "ref": f"D1:{i + 1}"})
        vector = np.eye(DIMENSION)[i].tolist()
        events.append({**here, "content": f"{speaker}: {text}", "entities": ["kayak"] * ("kayak" in text), "vector": vector})
    return pa.Table.from_pylist(steps, schema=schemas.STEPS), pa.Table.from_pylist(events, schema=events_schema(DIMENSION))


def built(folder: Path, structure: EventGraphStructure | None = None, **derived: pa.Table) -> BuiltShard:
    folder.mkdir(parents=True, exist_ok=True)
    steps, events = tables()
    (structure or EventGraphStructure()).build(BuildInputs(steps, {"events": events} | derived), folder)
    return BuiltShard(LocalFileSystem(), str(folder))


def near(*positions: int) -> np.ndarray:
    """A question's vector: nearest to the first position, less near to each further one."""
    vector = np.zeros(DIMENSION, dtype=np.float32)
    for rank, position in enumerate(positions):
        vector[position] = 1 / (1 + rank)
    return vector / np.float32(np.linalg.norm(vector))


def test_a_build_writes_a_row_per_event_and_a_row_per_edge(tmp_path: Path) -> None:
    steps, events = tables()
    rows = EventGraphStructure().build(BuildInputs(steps, {"events": events}), tmp_path)
    nodes, edges = pq.read_table(tmp_path / NODES_FILE), pq.read_table(tmp_path / EDGES_FILE)
    assert rows == nodes.num_rows + edges.num_rows
    assert nodes.column("step").to_pylist() == [10, 11, 12, 13, 14]
    assert nodes.column("text")[0].as_py().startswith("[D1:1] 2023-05-08 13:56 (session 1) Ann: What did you do yesterday?")
    assert edges.schema == EDGES
    first = edges.slice(0, 1).to_pylist()[0]
    assert (first["source"], first["target"], first["temporal"], first["causal"]) == (10, 11, 1.0, 1.0)


def test_counts_say_how_many_edges_each_relation_has(tmp_path: Path) -> None:
    found = counts(built(tmp_path))
    # temporal: 4 neighbours and 3 at distance two, both ways; causal: 4 replies; entity: the kayaks, both ways
    assert found["nodes"] == 5
    assert found["edges_per_relation"] == {"temporal": 14, "semantic": 8, "causal": 4, "entity": 2}
    assert found["edges"] == pq.read_table(tmp_path / EDGES_FILE).num_rows


def test_an_opened_graph_is_what_was_linked(tmp_path: Path) -> None:
    graph = EventGraphStructure().open(built(tmp_path), "talk").graph
    assert graph.steps.tolist() == [10, 11, 12, 13, 14]
    assert graph.speakers == ("Ann", "Bo", "Ann", "Bo", "Ann")
    assert graph.entities == ((), (), (), ("kayak",), ("kayak",))
    assert graph.sessions.tolist() == [1] * 5
    assert graph.seconds.tolist() == [MAY.timestamp()] * 5
    np.testing.assert_array_equal(graph.vectors, np.eye(DIMENSION, dtype=np.float32)[:5])
    assert (graph.source.dtype, graph.target.dtype, graph.features.dtype) == (np.int32, np.int32, np.float32)
    edge = list(zip(graph.source.tolist(), graph.target.tolist(), strict=True)).index((3, 4))
    assert graph.features[edge].tolist() == pytest.approx([1.0, 0.01, 0.5, 1.0])


def test_a_graph_is_read_once_per_process(tmp_path: Path) -> None:
    shard = built(tmp_path)
    first = EventGraphStructure().open(shard, "talk").graph
    (tmp_path / NODES_FILE).unlink()
    assert EventGraphStructure(access=AccessConfig(max_chars=9)).open(shard, "talk").graph is first


def test_undated_steps_without_speaker_or_session_have_neutral_values(tmp_path: Path) -> None:
    steps = pa.Table.from_pylist(
        [{"episode_id": "e", "step": i, "action": "a", "observation": "o"} for i in (0, 1)], schemas.STEPS
    )
    rows = [{"episode_id": "e", "step": i, "content": "a", "entities": [], "vector": [1.0, 0.0]} for i in (1, 0)]
    EventGraphStructure().build(BuildInputs(steps, {"events": pa.Table.from_pylist(rows, events_schema(2))}), tmp_path)
    graph = EventGraphStructure().open(BuiltShard(LocalFileSystem(), str(tmp_path)), "e").graph
    assert (graph.speakers, graph.refs, graph.sessions.tolist()) == (("", ""), ("", ""), [-1, -1])
    assert np.isnan(graph.seconds).all()


def test_an_episode_of_one_event_has_no_edges_and_answers(tmp_path: Path) -> None:
    steps, events = tables(TURNS[:1])
    EventGraphStructure().build(BuildInputs(steps, {"events": events}), tmp_path)
    index = EventGraphStructure().open(BuiltShard(LocalFileSystem(), str(tmp_path)), "talk")
    assert len(index.graph.source) == 0
    assert index.access(Query("what?", near(0))).steps == (10,)


def test_a_step_without_an_event_is_named(tmp_path: Path) -> None:
    steps, events = tables()
    with pytest.raises(ValueError, match="step 12 of episode 'talk' has no event"):
        EventGraphStructure().build(BuildInputs(steps, {"events": events.slice(0, 2)}), tmp_path)


def test_scores_of_edges_take_the_place_of_features(tmp_path: Path) -> None:
    row = {
        "episode_id": "talk",
        "source": 10,
        "target": 11,
        "temporal": 0.25,
        "semantic": 0.5,
        "causal": 0.75,
        "entity": 0.0,
    }
    unknown = {**row, "source": 10, "target": 14}
    structure = EventGraphStructure(scored=True)
    assert structure.derives == ("events", "edge_scores")
    plain = EventGraphStructure().open(built(tmp_path / "plain"), "talk").graph
    scores = pa.Table.from_pylist([row, unknown], schema=EDGES)
    graph = structure.open(built(tmp_path / "scored", structure, edge_scores=scores), "talk").graph
    assert graph.features[0].tolist() == [0.25, 0.5, 0.75, 0.0]
    np.testing.assert_array_equal(graph.features[1:], plain.features[1:])
    np.testing.assert_array_equal(graph.target, plain.target)


@pytest.mark.parametrize("score", [-0.1, 1.5, float("nan"), None])
def test_a_score_outside_the_range_is_named(tmp_path: Path, score: float | None) -> None:
    row = {
        "episode_id": "talk",
        "source": 10,
        "target": 11,
        "temporal": score,
        "semantic": 0.5,
        "causal": 0.5,
        "entity": 0.0,
    }
    with pytest.raises(ValueError, match="'talk': the edge 10 -> 11 has a score outside"):
        built(tmp_path, EventGraphStructure(scored=True), edge_scores=pa.Table.from_pylist([row], schema=EDGES))


def test_a_question_without_a_vector_or_with_another_encoders_is_an_error(tmp_path: Path) -> None:
    index = EventGraphStructure().open(built(tmp_path), "talk")
    with pytest.raises(ValueError, match=r"needs Query\.vector"):
        index.access(Query("what?"))
    with pytest.raises(ValueError, match="the events have 6 numbers"):
        index.access(Query("what?", np.ones(3, dtype=np.float32)))
    with pytest.raises(ValueError, match=r"Query\.intent is 'spatial'"):
        index.access(Query("what?", near(0), intent="spatial"))
    assert not index.access(Query(" ")).localised


def test_the_real_walk_shows_the_nearest_event_first(tmp_path: Path) -> None:
    structure = EventGraphStructure(walk=WalkConfig(budget=2))
    evidence = structure.open(built(tmp_path, structure), "talk").access(Query("kayak?", near(3), intent="entity"))
    assert evidence.steps[0] == 13
    assert len(evidence.steps) == len(evidence.scores) == 2
    assert evidence.blocks[0] == "[D1:4] 2023-05-08 13:56 (session 1) Bo: With Cy, in a kayak."


class Asked:
    """A router, and a walk in place of the real one, that note what they are given."""

    name = "asked"

    def __init__(self, walk: Walk) -> None:
        self.seen: list[tuple[Any, ...]] = []
        self.walk = walk

    def judge(self, graph: EventGraph, text: str, vector: np.ndarray, intent: str) -> Judgement:
        self.seen.append((text, intent))
        return Judgement(np.zeros(len(graph), np.float32), np.ones(len(graph.source), np.float32))

    def traverse(self, *given: Any) -> Walk:
        self.seen.append(given[1:2] + given[3:])
        return self.walk


WALK = Walk((3, 0, 4, 2), (0.9, 0.8, 0.5, 0.1), {4: 3, 2: 0})


def index_with(walk: Walk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **showing: Any) -> tuple[EventGraphIndex, Asked]:
    asked = Asked(walk)
    monkeypatch.setattr(event_index, "traverse", asked.traverse)
    return EventGraphStructure(access=AccessConfig(**showing)).open(built(tmp_path), "talk"), asked


@pytest.mark.parametrize(
    ("intent", "steps"),
    [
        ("temporal", (10, 12, 13, 14)),
        ("causal", (13, 14, 10, 12)),  # the chain of the best event first, causes before effects
        ("semantic", (13, 10, 14, 12)),
        ("entity", (13, 10, 14, 12)),
        ("general", (13, 10, 14, 12)),
    ],
)
def test_events_are_read_in_the_order_that_the_intent_asks_for(
    intent: str, steps: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, _ = index_with(WALK, tmp_path, monkeypatch)
    evidence = index.access(Query("what?", near(0), intent=intent))
    assert evidence.steps == steps
    assert [block[1:5] for block in evidence.blocks] == [f"D1:{step - 9}" for step in steps]
    assert evidence.scores == (0.9, 0.8, 0.5, 0.1)


def test_an_event_too_long_for_the_budget_makes_way_but_the_best_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, _ = index_with(WALK, tmp_path, monkeypatch)
    lengths = [len(text) for text in index.graph.texts]
    assert lengths[0] > lengths[4]
    index, _ = index_with(WALK, tmp_path, monkeypatch, max_chars=lengths[3] + lengths[4])
    evidence = index.access(Query("what?", near(0), intent="general"))
    assert evidence.steps == (13, 14)
    assert evidence.scores == (0.9, 0.5)
    index, _ = index_with(WALK, tmp_path, monkeypatch, max_chars=1)
    assert index.access(Query("what?", near(0), intent="general")).steps == (13,)


def test_the_router_is_asked_with_the_intent_of_the_text_unless_the_query_brings_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, asked = index_with(WALK, tmp_path, monkeypatch)
    index.access(Query("When was it?", near(0), router=asked))
    index.access(Query("When was it?", near(0), router=asked, intent="causal"))
    index.access(Query("When was it?", near(0)))
    assert [seen[:2] for seen in asked.seen if len(seen) == 2] == [("When was it?", "temporal"), ("When was it?", "causal")]
    judgements = [seen[2] for seen in asked.seen if len(seen) == 4]
    assert isinstance(judgements[0], Judgement)
    assert judgements[2] is None


def test_a_walk_is_told_with_where_each_event_was_reached_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, _ = index_with(WALK, tmp_path, monkeypatch)
    hops = index.explain(Query("what?", near(0)))
    assert [(hop.step, hop.ref, hop.score, hop.origin) for hop in hops] == [
        (13, "D1:4", 0.9, None),
        (10, "D1:1", 0.8, None),
        (14, "D1:5", 0.5, 13),
        (12, "D1:3", 0.1, 10),
    ]
    assert hops[0].relations == {}
    assert hops[2].relations == pytest.approx({"temporal": 1.0, "semantic": 0.01, "causal": 0.5, "entity": 1.0})
    assert hops[3].relations["temporal"] == 0.5


@pytest.mark.parametrize(
    ("actions", "kind"),
    [
        (["dialogue", "dialogue"], "conversation"),
        (["passage: A", "passage: B"], "passages"),
        (["dialogue", "look"], "trajectory"),
        (["passage: A", "look"], "trajectory"),
    ],
)
def test_the_actions_tell_what_an_episode_is(actions: list[str], kind: str) -> None:
    assert kind_of([StepRow(i, action, "", None, None, None, None) for i, action in enumerate(actions)]) == kind


def test_settings_of_links_reach_the_graph(tmp_path: Path) -> None:
    structure = EventGraphStructure(links=LinkConfig(one_hot=True))
    graph = structure.open(built(tmp_path, structure), "talk").graph
    assert set(np.unique(graph.features).tolist()) == {0.0, 1.0}
