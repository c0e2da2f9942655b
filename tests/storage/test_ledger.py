"""The ledger: every call once, in sum by stage and model, whatever process wrote it."""

from __future__ import annotations

import threading
from pathlib import Path

from storage.artifacts import Home
from storage.ledger import FOLDER, Ledger, Spent

ANSWER = Spent("answer", "openai:m", 1, 0, 100, 40, 7, 0.5)


def test_calls_are_summed_by_stage_and_model(tmp_path: Path) -> None:
    ledger = Ledger(Home(tmp_path))
    for spent in (ANSWER, ANSWER, Spent("judge", "openai:m", 1, 1), Spent("answer", "openai:n", 1, 0, 5)):
        ledger.add(spent)
    assert Ledger(Home(tmp_path)).totals() == [
        Spent("answer", "openai:m", 2, 0, 200, 80, 14, 1.0),
        Spent("answer", "openai:n", 1, 0, 5),
        Spent("judge", "openai:m", 1, 1),
    ]


def test_a_run_has_totals_of_its_own(tmp_path: Path) -> None:
    ledger = Ledger(Home(tmp_path))
    ledger.add(ANSWER, "first")
    ledger.add(ANSWER, "second")
    assert ledger.totals("second") == [ANSWER]
    assert ledger.totals("third") == []


def test_threads_and_writers_lose_nothing(tmp_path: Path) -> None:
    ledgers = [Ledger(Home(tmp_path)) for _ in range(3)]
    threads = [threading.Thread(target=lambda led=led: [led.add(ANSWER) for _ in range(50)]) for led in ledgers * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledgers[0].totals()[0].calls == 300


def test_a_torn_last_line_is_skipped(tmp_path: Path) -> None:
    home = Home(tmp_path)
    Ledger(home).add(ANSWER)
    [segment] = Path(home.path(FOLDER)).glob("*.jsonl")
    with segment.open("ab") as file:
        file.write(b'{"stage": "answer", "mod')
    assert Ledger(home).totals() == [ANSWER]
