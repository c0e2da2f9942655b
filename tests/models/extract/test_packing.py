"""Steps are packed whole and in order; only what is too long alone is split."""

from __future__ import annotations

import pytest

from models.extract.packing import pack, split


def test_groups_are_as_large_as_fits_and_miss_nothing() -> None:
    assert pack([3, 3, 3, 9, 1, 20, 2, 2], 9) == [range(0, 3), range(3, 4), range(4, 5), range(5, 6), range(6, 8)]
    assert pack([], 9) == []
    assert pack([1, 2], 9) == [range(0, 2)]


def test_pieces_overlap_and_cover_the_text() -> None:
    pieces = split("abcdefghij", 4, 1)
    assert pieces == ["abcd", "defg", "ghij"]
    assert split("abc", 4, 1) == ["abc"]
    assert split("", 4, 1) == [""]
    assert split("abcde", 4, 1) == ["abcd", "de"]
    with pytest.raises(ValueError, match="cannot overlap"):
        split("abc", 4, 4)
