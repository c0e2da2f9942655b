"""Servers that fail and processes that die: nothing is lost, and nothing is paid for twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fsspec.implementations.local import LocalFileSystem

from models.answer import AnswerConfig
from models.compose import ComposeConfig
from storage import schemas
from storage.artifacts import Home
from storage.ledger import Ledger
from storage.structures.base import BuildInputs, BuiltShard, Query
from storage.structures.graph import GraphStructure
from tasks.budget import BudgetSpentError
from tasks.settings import Settings
from tests.input_cases.paid_run import N_TASKS, answer_tasks, run
from tests.input_cases.pipeline import Pipeline, Row, ama_episode, trajectory, write_jsonl
from tests.models.llm.server import FakeServer, Say, late, refusal, reply, serving

OVERFLOW = "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens in the messages."
BUSY, SLOW, LONG = "At step 1, what is busy?", "At step 2, what is slow?", "At steps 3, 4 and 5, what is long?"
ROOT = Path(__file__).parents[2]


def content(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


class Faulty:
    """429 twice for one question, a late reply for another, and a refusal of every prompt that shows three long steps."""

    def __init__(self) -> None:
        self.busy_at: list[float] = []

    def __call__(self, body: dict[str, Any], seen: int) -> Say:
        text = content(body)
        if BUSY in text:
            self.busy_at.append(time.monotonic())
            if seen < 2:
                return refusal(429, "slow down", **({"retry_after": "1.3"} if seen == 0 else {}))
        if SLOW in text and seen == 0:
            return late(reply("Answer: too late"), 1.5)
        if LONG in text and all(f"Step {i}:\nAction" in text for i in (3, 4, 5)):
            return refusal(400, OVERFLOW)
        return reply("Answer: fine", prompt_tokens=90, completion_tokens=3)


def test_a_busy_a_slow_and_a_short_sighted_server_cost_no_answer(tmp_path: Path) -> None:
    """Row 22: 429 twice and a time-out are tried again; a prompt that is too long is not, it is sent with less evidence."""
    turns = trajectory((f"enter hall {i}", f"Hall {i}: {'dust and chairs, ' * 40}end.") for i in range(6))
    pipeline = Pipeline(Home(tmp_path / "home"))
    pipeline.ingest(write_jsonl(tmp_path / "a.jsonl", [ama_episode(turns, (BUSY, "x"), (SLOW, "x"), (LONG, "x"))]))
    pipeline.build("T")
    config = AnswerConfig(compose=ComposeConfig(context_window=1_000, answer_tokens=100))
    faulty = Faulty()
    with serving(faulty) as server:
        settings = Settings(answerer=f"openai:m@{server.url}?timeout=1", answer=config)
        outcomes = Pipeline(pipeline.home, settings=settings).evaluate("T", letters="T")
    assert [(row["answer"], row["status"]) for row in outcomes] == [("fine", "ok")] * 3
    first, second, third = faulty.busy_at
    assert second - first >= 1.3, "the server asked for more patience than a first back-off has"
    assert third - second >= 1.0, "the second back-off is no longer than the first"
    busy, slow, long = ([content(b) for b in server.bodies if question in content(b)] for question in (BUSY, SLOW, LONG))
    assert (len(busy), len(set(busy))) == (3, 1)
    assert (len(slow), len(set(slow))) == (2, 1)
    assert len(long) == len(set(long)) >= 2, "a prompt that is too long was sent again as it was"
    assert [len(text) for text in long] == sorted((len(text) for text in long), reverse=True)
    assert all(f"Question: {LONG}\n\n## Instructions" in text for text in long)


def test_an_answer_that_failed_is_an_error_and_the_next_run_asks_for_that_one_only(tmp_path: Path) -> None:
    """Row 22, the end of the tries: an error is no wrong answer, and it is not kept as if it were one."""
    home = Home(tmp_path)
    broken = "What is in box 3?"
    with serving(lambda body, _: refusal(400, "bad") if broken in content(body) else reply("apple")) as server:
        first = run(home, server.url)
        assert [i for i, answer in enumerate(first) if answer.status == "error"] == [3]
        server.script = lambda *_: reply("apple")
        again = run(home, server.url)
        assert [answer.text for answer in again] == ["apple"] * N_TASKS
    assert times_asked(server) == {**dict.fromkeys(questions(), 1), broken: 2}


def questions(n: int = N_TASKS) -> list[str]:
    return [task.question for task in answer_tasks(n)]


def times_asked(server: FakeServer) -> Counter[str]:
    return Counter(content(body).split("Question: ")[1].split("\n")[0] for body in server.bodies)


@contextmanager
def killing(home: Path, after: int) -> Iterator[tuple[FakeServer, list[subprocess.Popen[bytes]]]]:
    """A server that kills the asking process with SIGKILL when it asks for the answer number `after`, counted from 0."""
    victims: list[subprocess.Popen[bytes]] = []

    def script(body: dict[str, Any], _: int) -> Say:
        if len(server.bodies) <= after or victims[0].returncode is not None:
            return reply("apple")
        wait_until(lambda: journalled(home) == after)  # the last answer has left the server: let it be written down
        victims[0].send_signal(signal.SIGKILL)
        victims[0].wait()
        return Say(close=True)

    with serving(script) as server:
        yield server, victims


def journalled(home: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in (home / "journal").rglob("*.jsonl"))


def wait_until(done: Any, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.005)


def test_after_a_kill_no_answer_is_paid_for_twice(tmp_path: Path) -> None:
    """Row 27, the spending: `kill -9` half way (that the artifacts are identical is in `tests/flows/test_cli.py`)."""
    paid = N_TASKS // 2
    with killing(tmp_path, after=paid) as (server, victims):
        command = [sys.executable, "-m", "tests.input_cases.paid_run", str(tmp_path), server.url]
        victims.append(subprocess.Popen(command, cwd=ROOT))
        assert victims[0].wait(timeout=60) == -signal.SIGKILL
        assert len(server.bodies) == paid + 1
        unanswered = content(server.bodies.pop())  # in flight when the process died: never answered, so never paid for
        answers = run(Home(tmp_path), server.url)
    assert [answer.text for answer in answers] == ["apple"] * N_TASKS
    assert [answer.question_id for answer in answers] == [task.question_id for task in answer_tasks()]
    assert times_asked(server) == dict.fromkeys(questions(), 1)
    assert unanswered in map(content, server.bodies)


def test_after_a_spent_budget_the_rest_is_asked_for_and_nothing_else(tmp_path: Path) -> None:
    """Row 27: a run that stops at `--max-tokens` goes on where it stopped."""
    home, n = Home(tmp_path), 100
    with serving(lambda *_: reply("apple", prompt_tokens=1_000, completion_tokens=1_000)) as server:
        with pytest.raises(BudgetSpentError):
            run(home, server.url, n, max_tokens=100_000, parallel=16)
        stopped = len(server.bodies)
        assert 0 < stopped < n
        answers = run(home, server.url, n, parallel=16)
        assert [answer.text for answer in run(home, server.url, n, parallel=16)] == ["apple"] * n
    assert [answer.status for answer in answers] == ["ok"] * n
    assert times_asked(server) == dict.fromkeys(questions(n), 1)


def test_a_second_build_makes_nothing_and_a_new_setting_only_what_it_changes(tmp_path: Path) -> None:
    """Row 27 without a kill: what is finished is not made again."""
    pipeline = Pipeline(Home(tmp_path / "home"))
    turns = trajectory((f"open box {i}", f"An apple {i}.") for i in range(12))
    pipeline.ingest(write_jsonl(tmp_path / "a.jsonl", [ama_episode(turns, ("At step 1, what?", "apple"))]))
    assert pipeline.build()
    assert pipeline.build() == []
    changed = Pipeline(pipeline.home, settings=Settings(structures={"R": {"max_windows": 2}}))
    assert {(key.kind, key.name) for key in changed.build()} == {("structures", "R"), ("evidence", "R")}


def triples(*rows: tuple[int | None, str, str, str]) -> pa.Table:
    columns = ("step", "head", "relation", "tail")
    return pa.Table.from_pylist(
        [{"episode_id": "e", **dict(zip(columns, row, strict=True))} for row in rows], schema=schemas.TRIPLES
    )


def graph(folder: Path, table: pa.Table) -> Any:
    """The graph of a three-step episode, opened."""
    steps: list[Row] = [
        {"dataset": "toy", "episode_id": "e", "step": i, "position": i, "action": "look", "observation": "A cup."}
        for i in range(3)
    ]
    inputs = BuildInputs(pa.Table.from_pylist(steps, schema=schemas.STEPS), {"triples": table})
    GraphStructure().build(inputs, folder)
    return GraphStructure().open(BuiltShard(LocalFileSystem(), str(folder)), "e")


def test_a_graph_drops_triples_without_parts_or_with_a_made_up_step_and_keeps_the_rest(tmp_path: Path) -> None:
    """Row 25, where the triples arrive."""
    table = triples((1, "agent", "takes", "cup"), (1, "", "takes", "cup"), (7, "agent", "takes", "hat"), (2, "cup", "", "x"))
    evidence = graph(tmp_path, table).access(Query("Who takes the cup or the hat?"))
    assert evidence.blocks == ("[step 1] (agent, takes, cup)",)


def test_a_graph_may_be_empty(tmp_path: Path) -> None:
    """Row 25: no valid triple at all is an empty graph, which shows nothing."""
    evidence = graph(tmp_path, triples()).access(Query("At step 1, who takes the cup?"))
    assert (evidence.blocks, evidence.steps, evidence.localised) == ((), (), False)


def test_the_ledger_equals_what_the_server_counted(tmp_path: Path) -> None:
    """Failed calls are in it; what the journal answers is not."""
    broken = True

    def script(body: dict[str, Any], seen: int) -> Say:
        fails = broken and len(server.bodies) in (3, 7)
        return refusal(400, "no") if fails else reply("an apple", prompt_tokens=50, completion_tokens=3)

    home = Home(tmp_path / "home")
    with serving(script) as server:
        run(home, server.url)
        broken = False
        run(home, server.url)
        run(home, server.url)
        [spent] = Ledger(home).totals()
        assert (spent.stage, spent.calls, spent.errors) == ("answer", len(server.bodies), 2)
        assert (spent.prompt_tokens, spent.completion_tokens) == (50 * 10, 3 * 10)
