"""A build whose derived tables and sufficiency checks come from a language model behind a real HTTP server."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flows.build_memory import build_memory
from flows.ingest_episodes import ingest_episodes
from models.prompts import edges, events, sufficiency, summary
from storage.artifacts import Home
from storage.catalog import read_table
from storage.ledger import Ledger
from storage.shards import load_dataset
from tasks.ask import ask
from tasks.inventory import table_parts
from tasks.settings import Settings
from tests.fakes import write_ama
from tests.models.llm.server import FakeServer, Say, refusal, reply, serving

pytestmark = pytest.mark.usefixtures("prefect_server")

STRUCTURES = ("S", "T", "G", "H")
BY_MODEL = ("summary", "triples", "events", "edge_scores")
EVENT = {"summary": "The agent looked.", "entities": ["agent"], "topic": "look", "dates": [], "facts": []}


def stage_of(body: dict[str, Any]) -> str:
    """Which prompt a request is, by words that only this one has."""
    text = body["messages"][0]["content"]
    openings = {"summary": summary.MARKER, "events": events._OPENING[:40], "edges": edges._OPENING[:40]}
    openings |= {"sufficiency": sufficiency._OPENING[:40], "triples": "RDF"}
    return next((stage for stage, words in openings.items() if words in text), "entities")


SAID = {
    "summary": f"{summary.MARKER}\nThe model's own summary.",
    "entities": json.dumps({"named_entities": ["agent"]}),
    "triples": json.dumps({"triples": [["agent", "opened", "box 3"]]}),
    "events": json.dumps(EVENT),
    "edges": json.dumps({"temporal": 0.5, "semantic": 0.25, "causal": 0.0, "entity": 1.0}),
    "sufficiency": json.dumps({"verdict": "need_turns", "turns": [{"first": 7, "last": 8}], "search": ""}),
}


def script(body: dict[str, Any], seen: int) -> Say:
    return reply(SAID[stage_of(body)], prompt_tokens=10, completion_tokens=2)


def settings_for(server: FakeServer) -> Settings:
    spec = f"openai:m@{server.url}"
    scored = {"H": {"scored": True}}
    return Settings(builder=spec, built_by_model=BY_MODEL, checker=spec, structures=scored)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    ingest_episodes("ama-bench", str(write_ama(tmp_path / "episodes.jsonl", range(2))), home.url)
    return home


def exported(home: Home, table: str, settings: Settings) -> pa.Table:
    return read_table(home, table_parts(home, load_dataset(home, "ama-bench"), table, settings))


def test_every_table_is_the_models_and_is_paid_for_once(home: Home) -> None:
    with serving(script) as server:
        settings = settings_for(server)
        built = build_memory("ama-bench", home.url, STRUCTURES, settings)
        asked = Counter(map(stage_of, server.bodies))
        assert asked["events"] == 24
        assert set(asked) == {"summary", "entities", "triples", "events", "edges", "sufficiency"}
        assert set(exported(home, "summary", settings).column("text").to_pylist()) == {"The model's own summary."}
        assert {"agent"} == set(exported(home, "triples", settings).column("head").to_pylist())
        evidence = exported(home, "evidence", settings).to_pylist()
        temporal = [row for row in evidence if row["structure"] == "T"]
        assert all({7, 8} <= set(row["steps"]) and row["access_tokens"] > 0 for row in temporal)

        spent = Ledger(home).totals()
        assert sum(entry.calls for entry in spent) == len(server.bodies)
        derived = sum(stage["tokens"] for name, stage in built["stages"].items() if name.startswith("derived/"))
        by_stage = {entry.stage: entry.tokens for entry in spent}
        assert derived == sum(by_stage[stage] for stage in ("summary", "triples", "events", "edges"))
        assert built["stages"]["evidence/T"]["tokens"] == sum(row["access_tokens"] for row in temporal)
        assert build_memory("ama-bench", home.url, STRUCTURES, settings)["built"] == 0
        assert sum(entry.calls for entry in Ledger(home).totals()) == len(server.bodies)


def test_a_failed_request_stops_the_build_and_the_next_run_pays_for_the_rest_only(home: Home) -> None:
    broken = True

    def failing(body: dict[str, Any], seen: int) -> Say:
        return refusal(400, "no") if broken and len(server.bodies) == 5 else script(body, seen)

    with serving(failing) as server:
        settings = settings_for(server)
        with pytest.raises(RuntimeError, match=r"1 of \d+ requests failed"):
            build_memory("ama-bench", home.url, STRUCTURES, settings)
        broken = False
        build_memory("ama-bench", home.url, STRUCTURES, settings)
        prompts = Counter(json.dumps(body["messages"]) for body in server.bodies)
        assert sorted(prompts.values(), reverse=True)[:2] == [2, 1], "only the refused prompt was sent twice"


def test_a_budget_stops_a_build_before_it_spends_more(home: Home) -> None:
    with serving(script) as server:
        settings = settings_for(server)
        with pytest.raises(RuntimeError, match="--max-tokens 1,000"):
            build_memory("ama-bench", home.url, ("S",), settings, max_tokens=1_000)
        assert not server.bodies
        build_memory("ama-bench", home.url, ("S",), settings)
        assert server.bodies


def test_another_model_makes_its_own_tables_and_leaves_the_others(home: Home) -> None:
    build_memory("ama-bench", home.url, ("S", "G"))
    with serving(script) as server:
        settings = Settings(builder=f"openai:m@{server.url}", built_by_model=("summary",))
        built = build_memory("ama-bench", home.url, ("S", "G"), settings)
    assert {name for name, stage in built["stages"].items() if stage["built"]} == {
        "derived/summary",
        "structures/S",
        "evidence/S",
    }


def test_ask_uses_the_checker_and_counts_its_tokens(home: Home) -> None:
    with serving(script) as server:
        settings = settings_for(server)
        build_memory("ama-bench", home.url, STRUCTURES, settings)
        answer = ask(home, "ama-bench", "0", "What happened at step 2?", settings, ("T", "H"))
    temporal, graph = answer["evidence"]
    assert {2, 7, 8} <= set(temporal["steps"])
    assert temporal["access_tokens"] > 0
    assert len(graph["path"]) == len(graph["steps"])
    assert any(hop["origin"] is None for hop in graph["path"])
