"""The shipped settings files load, and say what the papers say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.makers import derivations
from tasks.settings import Settings, load_settings

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_configuration_loads_and_names_known_models(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    settings = load_settings(str(path))
    if not settings.builder.startswith("llamacpp:"):  # that one wants its file to be there
        assert {d.name for d in derivations(settings)} >= {"summary", "triples", "embeddings", "events"}


def test_there_is_one_for_each_way_to_run() -> None:
    assert {path.stem for path in CONFIGS.glob("*.yaml")} == {"api", "llamacpp", "offline", "paper-ama", "paper-locomo"}


def test_offline_is_the_default() -> None:
    assert load_settings(str(CONFIGS / "offline.yaml")) == Settings()


@pytest.mark.parametrize(("name", "nearest"), [("paper-ama", 5), ("paper-locomo", 10)])
def test_the_papers_numbers_are_in_the_papers_files(name: str, nearest: int) -> None:
    settings = load_settings(str(CONFIGS / f"{name}.yaml"))
    assert "Qwen3-32B" in settings.answerer
    assert "Qwen3-Embedding-4B" in settings.embedder
    assert settings.compose.context_window == 32_768
    selector = settings.selector
    assert (selector.iterations, selector.cost, selector.beta) == (30, 1e-6, 0.08)
    assert settings.structure("V").top_k == nearest  # type: ignore[attr-defined]
    assert (settings.model_triples.passage_chars, settings.model_triples.overlap_chars) == (24_000, 300)
