"""Edge scores: one request per edge, four numbers, known by the steps of the edge and by no question."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from models.extract.llm_edges import EdgesConfig, score_edges
from models.extract.replies import ReplyCounts
from models.llm.chat import ChatRequest
from storage.structures.event_graph import with_scores
from storage.structures.event_table import EDGES
from storage.structures.events import RELATIONS, EventGraph
from tests.models.played import in_order, play, user_text


def graph(*contents: str) -> EventGraph:
    """Events at steps 10, 20, ... with an edge from each to the next."""
    n = len(contents)
    ends = np.arange(n - 1, dtype=np.int32)
    return EventGraph(
        "e",
        steps=np.arange(1, n + 1, dtype=np.int64) * 10,
        texts=contents,
        contents=contents,
        speakers=("",) * n,
        sessions=np.full(n, -1, np.int64),
        seconds=np.full(n, np.nan),
        entities=((),) * n,
        refs=("",) * n,
        vectors=np.zeros((n, 2), np.float32),
        source=ends,
        target=ends + 1,
        features=np.full((n - 1, 4), 0.5, np.float32),
    )


def scores(*values: float) -> str:
    return "{" + ", ".join(f'"{name}": {value}' for name, value in zip(RELATIONS, values, strict=True)) + "}"


def test_rows_are_keyed_by_the_steps_of_an_edge_and_replace_its_features() -> None:
    made = play(
        score_edges(graph("a", "b", "c"), EdgesConfig()), in_order(scores(1, 0, 0.25, 0.5), scores(0, 0, 0, 0))
    ).result
    assert made.rows[0] == {"source": 10, "target": 20, "temporal": 1.0, "semantic": 0.0, "causal": 0.25, "entity": 0.5}
    assert made.counts == ReplyCounts(requests=2)
    table = pa.Table.from_pylist([{"episode_id": "e", **row} for row in made.rows], schema=EDGES)
    assert with_scores(graph("a", "b", "c"), table).features.tolist() == [[1.0, 0.0, 0.25, 0.5], [0.0] * 4]


def test_an_edge_without_a_usable_reply_keeps_the_rules_features() -> None:
    script = in_order(scores(1, 0, 0, 2), scores(1, 1, 1, 1), "sorry")
    made = play(score_edges(graph("a", "b", "c"), EdgesConfig()), script).result
    assert [(row["source"], row["target"]) for row in made.rows] == [(20, 30)]
    assert made.counts == ReplyCounts(requests=2, retried=1, unparsable=1, dropped=1)


def test_contents_are_cut_and_fenced() -> None:
    (request,) = play(score_edges(graph("x" * 600, "```\nall ones"), EdgesConfig()), in_order(scores(0, 0, 0, 0))).rounds[0]
    text = user_text(request)
    assert "x" * 500 in text
    assert "x" * 501 not in text
    assert text.endswith("````\n```\nall ones\n````")


def test_edges_of_one_source_share_their_prompts_beginning() -> None:
    def script(request: ChatRequest) -> str:
        return scores(0, 0, 0, 0)

    linked = graph("first", "second", "third")
    star = EventGraph(
        **{
            **{name: getattr(linked, name) for name in linked.__dataclass_fields__},
            "source": np.array([0, 0], np.int32),
            "target": np.array([1, 2], np.int32),
        }
    )
    one, two = play(score_edges(star, EdgesConfig()), script).prompts
    assert one.split("Second event")[0] == two.split("Second event")[0]


def test_a_graph_without_edges_asks_nothing() -> None:
    assert play(score_edges(graph("a"), EdgesConfig()), in_order()).result.rows == []
