"""A small finished home that tests about homes may damage, forget in, and compact."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from storage.artifacts import Home
from storage.shards import ShardConfig
from tasks.settings import Settings
from tests.fakes import ama_row
from tests.input_cases.encoder import install_encoder
from tests.input_cases.pipeline import Pipeline, write_jsonl
from tests.models.llm.server import reply, serving

LETTERS = "STGVR"
POLICIES = ("S+T+G+V+R", "T")


def run(pipeline: Pipeline) -> None:
    pipeline.build(LETTERS)
    pipeline.evaluate(*POLICIES, letters=LETTERS)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """Four episodes that arrived one by one, the first of them twice; built, and answered by a model."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch, serving(lambda body, seen: reply("Answer: the lamp")) as server:
        install_encoder(patch)
        settings = Settings(answerer=f"openai:m@{server.url}", shards=ShardConfig(max_episodes=3))
        pipeline = Pipeline(Home(folder / "home"), settings=settings)
        rows = [ama_row(i, note=f"The porter of room {i} hums an old waltz.") for i in range(4)]
        for row in (ama_row(0, note="The first draft of the room was made of gingerbread."), *rows):
            pipeline.ingest(write_jsonl(folder / "episodes.jsonl", [row]))
        run(pipeline)
    return pipeline


@pytest.fixture
def pipeline(finished: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A copy; its model is gone, so that an answer that is not there already is an error."""
    install_encoder(monkeypatch)
    shutil.copytree(finished.home.root, tmp_path / "home")
    return replace(finished, home=Home(tmp_path / "home"))
