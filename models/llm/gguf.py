"""Where a GGUF file is: a path, or a file of the Hugging Face hub with its checksum.

/models/qwen.gguf    ${STRATA_GGUF}    hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF/qwen2.5-1.5b-instruct-q4_k_m.gguf@<sha256>
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

HUB = "hf:"
_HUB_FILE = re.compile(r"hf:(?P<repo>[^/@]+/[^/@]+)/(?P<file>[^@]+\.gguf)@(?P<sha256>[0-9a-f]{64})")
_BLOCK = 1 << 20


def gguf_path(text: str) -> str:
    """A local path for what a user wrote; environment variables are filled in, a hub file is downloaded and verified.

    `ValueError` for a hub file without a checksum or with another one, `OSError` when it cannot be downloaded.
    """
    written = os.path.expandvars(text)
    return _from_hub(written) if written.startswith(HUB) else written


def _from_hub(written: str) -> str:
    match = _HUB_FILE.fullmatch(written)
    if match is None:
        raise ValueError(f"{written!r}: write hf:OWNER/REPOSITORY/FILE.gguf@SHA256, with 64 hex digits")
    from huggingface_hub import hf_hub_download

    path = hf_hub_download(match["repo"], match["file"])
    found = sha256_of(Path(path))
    if found != match["sha256"]:
        raise ValueError(f"{match['repo']}/{match['file']} has SHA-256 {found}, not {match['sha256']}: it is another file")
    return str(path)


def sha256_of(path: Path) -> str:
    """The file's SHA-256 in hex, read in blocks: a model does not fit in memory twice."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
