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
    """The folder with the real data sets; a test that asks for it is skipped where there is none."""
    folder = Path(os.environ.get("STRATA_DATA_DIR", Path(__file__).parents[2] / "shared" / "data"))
    if not (folder / "ama_bench").is_dir():
        pytest.skip(f"the real data sets are not in {folder}; set STRATA_DATA_DIR to run this test")
    return folder


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Prefect server for the session, for flows in this process and in commands that tests start."""
    with prefect_api(Home(tmp_path_factory.mktemp("prefect-home"))):
        from prefect.settings import PREFECT_API_URL, temporary_settings

        wait_until_ready()
        url = os.environ["PREFECT_API_URL"]
        with temporary_settings({PREFECT_API_URL: url}):
            yield url
