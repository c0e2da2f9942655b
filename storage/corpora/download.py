"""One file from the web, pinned by its SHA-256."""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path

from storage.corpora.base import CorpusError

_TIMEOUT_SECONDS = 60


def fetch(url: str, sha256: str, folder: Path) -> Path:
    """The path of the file behind `url` in `folder`, downloaded unless it already lies there with the right hash.

    `sha256` is 64 hex digits. The file appears under its final name only when it is complete and verified.
    Raises `CorpusError` when the download fails or the content is not the pinned one.
    """
    path = folder / url.rsplit("/", 1)[-1]
    if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
        return path
    data = _download(url)
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise CorpusError(
            f"{url}: has SHA-256 {found}, not {sha256}: it changed at its source; pass a path to the original file"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(data)
    os.replace(file.name, path)
    return path


def _download(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as reply:
            data: bytes = reply.read()
    except (urllib.error.URLError, HTTPException, OSError) as error:
        raise CorpusError(f"{url}: the download failed ({error}); download it by other means and pass its path") from error
    return data
