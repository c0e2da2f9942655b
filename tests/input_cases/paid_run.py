"""A run that pays for answers, as a process that a test can kill: `python -m tests.input_cases.paid_run HOME SERVER_URL`."""

from __future__ import annotations

import sys

from models.answer import Answer, AnswerTask
from models.compose import Section
from storage.artifacts import Home
from tasks.budget import open_budget
from tasks.paid import paid_answers
from tasks.settings import Settings

N_TASKS = 10


def answer_tasks(n: int = N_TASKS) -> list[AnswerTask]:
    """`n` questions, each with evidence of its own."""
    return [
        AnswerTask(
            question_id=f"toy/e{i % 3}/{i}",
            question=f"What is in box {i}?",
            task="open the boxes",
            sections=(Section("T", f"Step {i}:\nAction: open box {i}\nObservation: Box {i} holds an apple.", (0,), 20),),
        )
        for i in range(n)
    ]


def run(home: Home, server_url: str, n: int = N_TASKS, max_tokens: int | None = None, parallel: int = 1) -> list[Answer]:
    """Answer with the server's model, `parallel` questions at a time."""
    settings = Settings(answerer=f"openai:m@{server_url}?parallel={parallel}")
    return paid_answers(home, settings, answer_tasks(n), open_budget(max_tokens))


if __name__ == "__main__":
    run(Home(sys.argv[1]), sys.argv[2])
