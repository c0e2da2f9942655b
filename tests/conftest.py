"""Fixtures that every test may use. Real data is looked for in STRATA_DATA_DIR, then in ../shared/data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.artifacts import Home
from tasks.prefect_server import prefect_api, wait_until_ready


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real data sets. Skips where there is none; an error where STRATA_DATA_DIR names a wrong one."""
    named = os.environ.get("STRATA_DATA_DIR")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if (folder / "ama_bench").is_dir():
        return folder
    if named:
        raise FileNotFoundError(f"STRATA_DATA_DIR names {folder}, which has no folder ama_bench")
    pytest.skip(f"the real data sets are not in {folder}; set STRATA_DATA_DIR to run this test")


@pytest.fixture(scope="session")
def gguf() -> Path:
    """A GGUF model. Skips where STRATA_TEST_GGUF is not set; an error where it names no file."""
    named = os.environ.get("STRATA_TEST_GGUF")
    if not named:
        pytest.skip("set STRATA_TEST_GGUF to the path of a GGUF model to run this test")
    if not Path(named).is_file():
        raise FileNotFoundError(f"STRATA_TEST_GGUF names {named}, which is no file")
    return Path(named)


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Prefect server for the session, for flows in this process and in commands that tests start."""
    with prefect_api(Home(tmp_path_factory.mktemp("prefect-home"))):
        from prefect.settings import PREFECT_API_URL, temporary_settings

        wait_until_ready()
        url = os.environ["PREFECT_API_URL"]
        with temporary_settings({PREFECT_API_URL: url}):
            yield url
