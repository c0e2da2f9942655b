"""Fixtures that every test may use. Real data is looked for in STRATA_DATA_DIR, then in ../shared/data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real data sets; a test that asks for it is skipped where there is none."""
    folder = Path(os.environ.get("STRATA_DATA_DIR", Path(__file__).parents[2] / "shared" / "data"))
    if not (folder / "ama_bench").is_dir():
        pytest.skip(f"the real data sets are not in {folder}; set STRATA_DATA_DIR to run this test")
    return folder
