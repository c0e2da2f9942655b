"""Text that every store takes."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """`text` without what no store takes: NUL bytes go, lone surrogates become U+FFFD."""
    return _SURROGATE.sub("\ufffd", text.replace("\0", ""))
