"""The pages of sweep, search and ablation from real flows, with a real Prefect server and a real MLflow store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows.ablate_selector import ablate_selector
from flows.build_memory import build_memory
from flows.ingest_episodes import ingest_episodes
from flows.search_selector import search_selector
from flows.sweep_subsets import sweep_subsets
from storage.artifacts import Home
from tasks.search import finished_sweep, read_search, score_on_test, search_key
from tasks.search_report import search_page
from tasks.selector_config import SelectorConfig, SweepConfig
from tasks.settings import Settings
from tasks.tracking import tracking_uri
from tests.fakes import write_ama

pytestmark = pytest.mark.usefixtures("prefect_server")

STRUCTURES = ("S", "T", "R")
SELECTOR = SelectorConfig(STRUCTURES, metric="support", iterations=2, cost=1e-4)
SHORT = SelectorConfig(STRUCTURES, metric="support", iterations=1, cost=1e-4)
OTHER = SelectorConfig(STRUCTURES, metric="support", iterations=1, cost=1e-4, split=1, metadata=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> Home:
    """A home with ten built and swept episodes."""
    folder = tmp_path_factory.mktemp("pages")
    home = Home(folder / "home")
    ingest_episodes("ama-bench", str(write_ama(folder / "episodes.jsonl", range(10))), home.url)
    build_memory("ama-bench", home.url, STRUCTURES)
    sweep_subsets("ama-bench", home.url, SELECTOR.sweep)
    return home


def logged(home: Home, run_id: str) -> set[str]:
    from mlflow import MlflowClient

    return {file.path for file in MlflowClient(tracking_uri(home)).list_artifacts(run_id)}


def text_of(result: dict[str, Any]) -> str:
    return Path(result["markdown"]).read_text(encoding="utf-8")


def test_a_sweep_has_a_page_and_nothing_new_finds_it_again(home: Home) -> None:
    first = sweep_subsets("ama-bench", home.url, SELECTOR.sweep)
    again = sweep_subsets("ama-bench", home.url, SELECTOR.sweep)
    assert (again["new"], again["report"], again["run_id"]) == (0, first["report"], first["run_id"])
    assert {"report.html", "report.md", "sweep.json"} <= logged(home, first["run_id"])
    assert "Fixed selection on held-out episodes" in text_of(first)
    assert {row["name"] for row in first["held_out"]} >= {"all", "S", "random", "route_to_one", "lookup_global", "oracle"}
    json.dumps(first, allow_nan=False)


def test_another_cost_of_tokens_is_another_page_of_the_same_outcomes(home: Home) -> None:
    cheap = sweep_subsets("ama-bench", home.url, SweepConfig(STRUCTURES, metric="support", cost=0.0))
    assert cheap["new"] == 0
    assert cheap["report"] != sweep_subsets("ama-bench", home.url, SELECTOR.sweep)["report"]


def test_episodes_too_few_to_be_split_have_a_page_without_held_out_numbers(home: Home) -> None:
    result = sweep_subsets("ama-bench", home.url, SweepConfig(STRUCTURES, metric="support", limit=1))
    assert (result["questions"], result["held_out"]) == (4, [])
    assert "held-out" not in text_of(result)


def test_a_search_has_a_page_with_its_champion(home: Home) -> None:
    result = search_selector("ama-bench", home.url, SELECTOR)
    text = text_of(result)
    assert result["champion"]["source"].rstrip() in text
    assert "Champion and all structures" in text
    assert {"report.html", "report.md", "champion.py"} <= logged(home, result["run_id"])


def test_a_lost_page_of_a_search_is_made_again_without_a_second_run(home: Home) -> None:
    first = search_selector("ama-bench", home.url, SELECTOR)
    home.discard(first["page"])
    again = search_selector("ama-bench", home.url, SELECTOR)
    assert again == first
    assert Path(again["report"]).is_file()


def test_searches_of_different_splits_keep_their_own_results(home: Home) -> None:
    results = [search_selector("ama-bench", home.url, config) for config in (SELECTOR, OTHER, SELECTOR, OTHER)]
    assert [result["split"] for result in results] == [0, 1, 0, 1]
    assert results[:2] == results[2:]
    assert results[0]["page"] != results[1]["page"]


def test_the_page_knows_the_cells_that_the_policy_was_not_told(home: Home) -> None:
    search_selector("ama-bench", home.url, OTHER)
    sweep = finished_sweep(home, "ama-bench", OTHER, Settings())
    key = search_key(home, sweep, OTHER)
    found = read_search(home, key)
    page = search_page(home, sweep, OTHER, key, found, score_on_test(home, sweep, OTHER, found))
    assert {use.cell[1] for use in page.use} >= {"recall", "causal"}
    assert page.use[-1].n == page.results[-1].evaluation.n
    assert page.use[-1].n_structures == pytest.approx(found["champion"]["validation"]["n_structures"])


def test_an_ablation_has_a_page_and_equal_numbers_no_second_run(home: Home) -> None:
    first = ablate_selector("ama-bench", home.url, SHORT)
    assert ablate_selector("ama-bench", home.url, SHORT) == first
    assert "What the differences are worth" in text_of(first)
    assert {"report.html", "report.md", "ablation.json"} <= logged(home, first["run_id"])


def test_prefect_shows_the_pages(home: Home) -> None:
    from prefect.client.orchestration import get_client

    search_selector("ama-bench", home.url, SELECTOR)
    ablate_selector("ama-bench", home.url, SHORT)
    with get_client(sync_client=True) as client:
        found = client.request("POST", "/artifacts/filter", json={"artifacts": {"type": {"any_": ["markdown"]}}}).json()
    assert {"strata-ama-bench-sweep", "strata-ama-bench-search", "strata-ama-bench-ablation"} <= {a["key"] for a in found}
