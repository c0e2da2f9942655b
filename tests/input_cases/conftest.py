"""Fixtures of the input cases."""

from __future__ import annotations

import pytest

from tests.input_cases.encoder import RecordingEncoder, install_encoder


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> RecordingEncoder:
    """Stands in for every encoder."""
    return install_encoder(monkeypatch)
