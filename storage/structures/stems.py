"""Words without their endings, so that "painted" finds "painting"."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

from storage.structures.lexical import content_tokens


def content_stems(text: str) -> list[str]:
    """The Porter stems of the content tokens of `text`, in order, repeats kept; words of other scripts stay whole."""
    return [_stem(token) for token in content_tokens(text)]


@lru_cache(maxsize=1 << 16)
def _stem(token: str) -> str:
    return _stemmer()(token) if token.isascii() else token


@cache
def _stemmer() -> Callable[[str], str]:
    from nltk.stem.porter import PorterStemmer  # slow to import

    stem: Callable[[str], str] = PorterStemmer().stem
    return stem
