"""Every call to a language model goes through a meter: it is written to the ledger and counted against the run's budget."""

from __future__ import annotations

from models.llm.chat import Chat, Completion
from models.llm.metered import MeteredChat
from storage.artifacts import Home
from storage.ledger import Ledger, Spent
from tasks.budget import budget


def metered(home: Home, budget_id: str, stage: str, chat: Chat) -> MeteredChat:
    """`chat`, its calls counted for `stage` and the run `budget_id`."""
    ledger = Ledger(home)

    def count(completion: Completion) -> None:
        spent = spent_on(stage, chat.name, completion)
        ledger.add(spent, budget_id)
        budget(budget_id).spend(spent)

    return MeteredChat(chat, count)


def spent_on(stage: str, model: str, completion: Completion) -> Spent:
    """One call as the ledger counts it."""
    return Spent(
        stage,
        model,
        1,
        int(completion.status != "ok"),
        completion.prompt_tokens,
        completion.cached_tokens,
        completion.completion_tokens,
        round(completion.seconds, 3),
    )
