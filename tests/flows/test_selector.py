"""Sweep, search and champion on a small data set, with a real Prefect server and a real MLflow store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flows.build_memory import build_memory
from flows.evaluate_policy import evaluate_policy
from flows.ingest_episodes import ingest_episodes
from flows.search_selector import search_selector
from flows.sweep_subsets import sweep_subsets
from storage.artifacts import ArtifactError, Home
from tasks.ask import ask
from tasks.evaluation import EvaluationConfig, plan_evaluation
from tasks.outcomes import outcome_table
from tasks.policies import load_policy, policy_path
from tasks.search import finished_sweep, read_search, search_key
from tasks.selector_config import SelectorConfig, SweepConfig
from tasks.settings import Settings, SettingsError
from tasks.sweep import plan_sweep
from tasks.tracking import tracking_uri
from tests.fakes import write_ama

pytestmark = pytest.mark.usefixtures("prefect_server")

STRUCTURES = ("S", "T", "R")
SELECTOR = SelectorConfig(STRUCTURES, metric="support", iterations=2, cost=1e-4)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> Home:
    """A home with ten built episodes."""
    folder = tmp_path_factory.mktemp("selector")
    home = Home(folder / "home")
    ingest_episodes("ama-bench", str(write_ama(folder / "episodes.jsonl", range(10))), home.url)
    build_memory("ama-bench", home.url, STRUCTURES)
    return home


@pytest.fixture(scope="module")
def swept(home: Home) -> dict[str, Any]:
    return sweep_subsets("ama-bench", home.url, SELECTOR.sweep)


def test_a_sweep_has_every_question_under_every_subset(swept: dict[str, Any]) -> None:
    assert (swept["questions"], swept["subsets"], swept["outcomes"], swept["new"]) == (40, 7, 280, 280)
    assert {entry["subset"] for entry in swept["by_subset"]} == {"S", "T", "R", "S+T", "S+R", "T+R", "S+T+R"}
    assert swept["prefix_cache"]["prefix"]["prompt_tokens"] == swept["prefix_cache"]["paper"]["prompt_tokens"]


def test_a_second_sweep_makes_nothing_new(home: Home, swept: dict[str, Any]) -> None:
    again = sweep_subsets("ama-bench", home.url, SELECTOR.sweep)
    assert again["new"] == 0
    assert again["by_subset"] == swept["by_subset"]


def test_a_smaller_sweep_is_found_in_a_larger_one(home: Home, swept: dict[str, Any]) -> None:
    plan = plan_sweep(home, "ama-bench", SweepConfig(("T", "R"), metric="support"), Settings())
    assert (len(plan.subsets), plan.missing) == (3, 0)


def test_a_new_episode_costs_its_own_outcomes(home: Home, swept: dict[str, Any], tmp_path: Path) -> None:
    home.fs.copy(home.root, str(tmp_path / "home"), recursive=True)
    copy = Home(tmp_path / "home")
    ingest_episodes("ama-bench", str(write_ama(tmp_path / "more.jsonl", [77])), copy.url)
    build_memory("ama-bench", copy.url, STRUCTURES)
    assert sweep_subsets("ama-bench", copy.url, SELECTOR.sweep)["new"] == 4 * 7


def test_a_search_before_the_sweep_says_what_to_run(home: Home) -> None:
    with pytest.raises(ArtifactError, match="strata sweep --dataset ama-bench"):
        finished_sweep(home, "ama-bench", SelectorConfig(STRUCTURES, metric="exact_match"), Settings())


def test_the_outcome_table_says_what_the_sweep_says(home: Home, swept: dict[str, Any]) -> None:
    sweep = finished_sweep(home, "ama-bench", SELECTOR, Settings())
    table = outcome_table(home, sweep, STRUCTURES)
    means = dict(zip(table.subsets, np.nanmean(table.scores, axis=0), strict=True))
    assert means == pytest.approx({entry["subset"]: entry["score"] for entry in swept["by_subset"]})
    blind = outcome_table(home, sweep, STRUCTURES, metadata=False)
    assert {case.context["capability"] for case in blind.cases} == {""}
    assert {case.context["capability"] for case in table.cases} == {"recall", "causal", "update", "abstraction"}


def test_a_search_finds_a_champion_and_keeps_it(home: Home, swept: dict[str, Any]) -> None:
    result = search_selector("ama-bench", home.url, SELECTOR)
    assert result["candidates"] == 6
    assert result["validation_objective"] >= result["all_validation_objective"]
    assert result["episodes"] == {"train": 2, "validation": 2, "test": 6}
    assert result["test"]["n"] == 24
    policy = load_policy(home, "ama-bench")
    assert (policy["name"], policy["source"]) == (result["policy"]["name"], result["champion"]["source"])
    assert search_selector("ama-bench", home.url, SELECTOR) == result


def test_mlflow_holds_a_run_per_candidate_and_the_champion(home: Home, swept: dict[str, Any]) -> None:
    from mlflow import MlflowClient

    result = search_selector("ama-bench", home.url, SELECTOR)
    client = MlflowClient(tracking_uri(home))
    experiment = client.get_experiment_by_name("strata/ama-bench/search")
    link = f"tags.`mlflow.parentRunId` = '{result['run_id']}'"
    assert len(client.search_runs([experiment.experiment_id], link)) == 6
    assert client.get_model_version_by_alias("strata-ama-bench-selector", "champion").run_id == result["run_id"]
    curve = client.get_metric_history(result["run_id"], "best_objective")
    assert [point.step for point in curve] == [0, 1, 2]


def test_the_same_seed_finds_the_same_champion(home: Home, swept: dict[str, Any]) -> None:
    search_selector("ama-bench", home.url, SELECTOR)
    key = search_key(home, finished_sweep(home, "ama-bench", SELECTOR, Settings()), SELECTOR)
    first = read_search(home, key)
    home.discard(key)
    search_selector("ama-bench", home.url, SELECTOR)
    assert read_search(home, key)["champion"] == first["champion"]


def test_the_champion_is_evaluated_on_the_test_part_of_its_split(home: Home, swept: dict[str, Any]) -> None:
    searched = search_selector("ama-bench", home.url, SELECTOR)
    config = EvaluationConfig(("champion", "all"), metric="support", structures=STRUCTURES, split=0)
    result = evaluate_policy("ama-bench", home.url, config)
    champion = next(policy for policy in result["policies"] if policy["policy"] == searched["policy"]["name"])
    assert (champion["n"], result["notes"]) == (24, [])
    assert champion["score"] == pytest.approx(searched["test"]["score"])
    assert champion["evidence_tokens"] == pytest.approx(searched["test"]["tokens"])


def test_a_policy_evaluated_on_what_it_was_searched_on_says_so(home: Home, swept: dict[str, Any]) -> None:
    search_selector("ama-bench", home.url, SELECTOR)
    config = EvaluationConfig(("champion",), metric="support", structures=STRUCTURES)
    result = evaluate_policy("ama-bench", home.url, config)
    assert result["n"] == 40
    assert "was searched on split 0" in result["notes"][0]


def test_ask_reads_what_the_champion_selects(home: Home, swept: dict[str, Any]) -> None:
    searched = search_selector("ama-bench", home.url, SELECTOR)
    answer = ask(home, "ama-bench", "3", "What happened at step 2?", Settings(), STRUCTURES, "champion")
    assert (answer["policy"], answer["policy_error"]) == (searched["policy"]["name"], "")
    assert answer["subset"] == "+".join(read["structure"] for read in answer["evidence"])


def test_a_policy_that_fails_reads_everything_and_is_reported(home: Home, swept: dict[str, Any]) -> None:
    search_selector("ama-bench", home.url, SELECTOR)
    broken = {**load_policy(home, "ama-bench"), "name": "broken", "source": BROKEN, "params": None}
    home.replace_json(policy_path(home, "ama-bench", "broken"), broken)
    config = EvaluationConfig(("broken",), metric="support", structures=STRUCTURES, split=0)
    result = evaluate_policy("ama-bench", home.url, config)
    assert result["structures_per_question"] == 3
    assert "broken failed on 24 of 24 questions" in result["notes"][0]


BROKEN = """
def fit(examples):
    return None


def select(question, context, params):
    return [1 / 0]
"""


def test_an_unknown_policy_lists_the_saved_ones(home: Home, swept: dict[str, Any]) -> None:
    name = search_selector("ama-bench", home.url, SELECTOR)["policy"]["name"]
    with pytest.raises(SettingsError, match=name):
        plan_evaluation(home, "ama-bench", EvaluationConfig(("wrong",), structures=STRUCTURES), Settings())


def test_a_policy_needs_the_structures_that_it_chooses_from(home: Home, swept: dict[str, Any]) -> None:
    search_selector("ama-bench", home.url, SELECTOR)
    with pytest.raises(SettingsError, match="needs structure R"):
        plan_evaluation(home, "ama-bench", EvaluationConfig(("champion",), structures=("S", "T")), Settings())


def test_a_search_for_another_objective_replaces_the_champion_only_if_it_wins(
    home: Home, swept: dict[str, Any], tmp_path: Path
) -> None:
    """The present champion is measured by the new objective on the new search's validation questions."""
    home.fs.copy(home.root, str(tmp_path / "home"), recursive=True)
    copy = Home(tmp_path / "home")
    search_selector("ama-bench", copy.url, SELECTOR)
    other = search_selector("ama-bench", copy.url, replace(SELECTOR, cost=2e-4))
    assert "validation objective" in other["policy"]["reason"]
