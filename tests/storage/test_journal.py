from __future__ import annotations

from pathlib import Path

from storage.artifacts import Home
from storage.journal import Journal


def test_a_value_is_there_for_the_next_process(tmp_path: Path) -> None:
    Journal(Home(tmp_path), "answer").put("k1", "conv-26", {"text": "7 May 2023"})
    assert Journal(Home(tmp_path), "answer").get("k1") == {"text": "7 May 2023"}
    assert Journal(Home(tmp_path), "judge").get("k1") is None


def test_a_line_that_a_kill_tore_is_skipped_and_the_others_are_kept(tmp_path: Path) -> None:
    journal = Journal(Home(tmp_path), "answer")
    journal.put("k1", "e", {"text": "one"})
    journal.put("k2", "e", {"text": "two"})
    [segment] = (tmp_path / "journal" / "answer").iterdir()
    segment.write_bytes(segment.read_bytes()[:-10])
    again = Journal(Home(tmp_path), "answer")
    assert again.get("k1") == {"text": "one"}
    assert again.get("k2") is None
    again.put("k3", "e", {"text": "three"})
    assert Journal(Home(tmp_path), "answer").get("k3") == {"text": "three"}


def test_a_remote_home_keeps_every_record() -> None:
    home = Home("memory://journal-test/home")
    journal = Journal(home, "answer")
    for i in range(300):
        journal.put(f"k{i}", "e", {"i": i})
    again = Journal(home, "answer")
    assert all(again.get(f"k{i}") == {"i": i} for i in range(300))
