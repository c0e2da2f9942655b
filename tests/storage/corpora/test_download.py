"""Pinned downloads, tried on file URLs: no network."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from storage.corpora.base import CorpusError
from storage.corpora.download import fetch

CONTENT = b'{"a": 1}\n'
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def test_a_download_lands_under_its_own_name_and_is_not_repeated(tmp_path: Path) -> None:
    origin = tmp_path / "set.json"
    origin.write_bytes(CONTENT)
    path = fetch(origin.as_uri(), SHA256, tmp_path / "cache")
    assert path == tmp_path / "cache" / "set.json"
    assert path.read_bytes() == CONTENT
    origin.unlink()
    assert fetch(origin.as_uri(), SHA256, tmp_path / "cache") == path


def test_a_damaged_copy_is_downloaded_again(tmp_path: Path) -> None:
    origin = tmp_path / "set.json"
    origin.write_bytes(CONTENT)
    fetch(origin.as_uri(), SHA256, tmp_path / "cache").write_bytes(b"damaged")
    assert fetch(origin.as_uri(), SHA256, tmp_path / "cache").read_bytes() == CONTENT


def test_other_content_than_the_pinned_one_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    origin = tmp_path / "set.json"
    origin.write_bytes(b"changed")
    with pytest.raises(CorpusError, match=rf"set\.json: has SHA-256 {hashlib.sha256(b'changed').hexdigest()}, not {SHA256}"):
        fetch(origin.as_uri(), SHA256, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_failed_download_says_to_pass_a_path(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"the download failed .* pass its path"):
        fetch((tmp_path / "missing.json").as_uri(), SHA256, tmp_path / "cache")
