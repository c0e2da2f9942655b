"""`LLMProposer`: candidates written by a language model, through any `Chat` backend.

A reply whose source the sandbox refuses, or which fails on two made-up questions, goes back to the model once, with the
reason. What is still no policy becomes a candidate that raises that reason, so that the search counts it as invalid and its
log says why.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from models.llm.chat import Chat, ChatRequest, Completion, Message
from models.prompts import propose as prompt
from models.prompts.propose import Reply, ReplyError
from models.selector.contract import Case, Proposal, Role
from models.selector.directions import Direction
from models.selector.proposer import ProposerView
from models.selector.sandbox import DEFAULT_LIMITS, PolicyError, SandboxLimits, check, fit, select
from models.selector.subsets import all_subsets
from models.tokens import count_tokens


@dataclass(frozen=True, slots=True)
class LLMProposerConfig:
    """How the model is asked.

    `rows` of the archive are listed and the sources of `sources` policies shown, fewer where the context window is small.
    The temperature is ours (the paper decodes greedily): equal views should not give equal proposals.
    """

    max_tokens: int = 4_096
    temperature: float = 0.7
    rows: int = 8
    sources: int = 2
    reserve_tokens: int = 256
    limits: SandboxLimits = DEFAULT_LIMITS


@dataclass(frozen=True, slots=True)
class ProposerUsage:
    """What proposing cost so far, as the server reports it."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def plus(self, completion: Completion) -> ProposerUsage:
        return ProposerUsage(
            self.calls + 1,
            self.prompt_tokens + completion.prompt_tokens,
            self.cached_tokens + completion.cached_tokens,
            self.completion_tokens + completion.completion_tokens,
            self.seconds + completion.seconds,
        )


class LLMProposer:
    """Implements `models.selector.proposer.Proposer` with a `Chat`. `usage` sums what its calls cost."""

    def __init__(self, chat: Chat, config: LLMProposerConfig = LLMProposerConfig()) -> None:
        self._chat = chat
        self._config = config
        self.usage = ProposerUsage()

    @property
    def name(self) -> str:
        """The proposer in tables and cache keys: the model and the prompt's digest."""
        return f"{self._chat.name}#propose-{prompt.digest()}"

    def propose(self, role: Role, direction: Direction, view: ProposerView, rng: random.Random) -> Proposal:
        """The model's policy. ValueError for a role other than exploit, explore and repair; never for what it replies."""
        seed = rng.randrange(2**31)
        asked, completion = self._ask(role, direction, view, seed)
        try:
            reply = self._usable(asked, completion, seed, view.letters)
        except ReplyError as error:
            reply = Reply(f"raise ValueError({f'no policy: {error}'!a})\n", str(error))
        return Proposal(reply.source, direction.name, role, prompt.parent_of(role, direction, view), reply.idea)

    def _ask(
        self, role: Role, direction: Direction, view: ProposerView, seed: int
    ) -> tuple[tuple[Message, ...], Completion]:
        """The first prompt and its completion, with as many sources shown as the window has room for."""
        room = self._chat.context_window - self._config.max_tokens - self._config.reserve_tokens
        for n_sources in range(self._config.sources, -1, -1):
            text = prompt.render(role, direction, view, self._config.rows, n_sources)
            if n_sources and count_tokens([text])[0] > room:
                continue
            messages = (Message("user", text),)
            completion = self._complete(messages, seed)
            if completion.status != "overflow" or not n_sources:
                break
        return messages, completion

    def _usable(self, asked: tuple[Message, ...], completion: Completion, seed: int, letters: Sequence[str]) -> Reply:
        """The reply, corrected once if there is trouble with its source. `ReplyError` if there is no source at all."""
        reply = _read(completion)
        trouble = trial(reply.source, letters, self._config.limits)
        if not trouble:
            return reply
        more = (Message("assistant", completion.text), Message("user", prompt.render_broken(trouble)))
        try:
            return _read(self._complete((*asked, *more), seed))
        except ReplyError:
            return reply

    def _complete(self, messages: tuple[Message, ...], seed: int) -> Completion:
        config = self._config
        request = ChatRequest(messages, config.max_tokens, config.temperature, seed, prompt.SCHEMA)
        completion = self._chat.complete([request])[0]
        self.usage = self.usage.plus(completion)
        return completion


def trial(source: str, letters: Sequence[str], limits: SandboxLimits = DEFAULT_LIMITS) -> str:
    """What goes wrong when a policy is fitted to and asked about made-up questions; "" when nothing does."""
    cases = [_made_up(i, letters) for i in range(2)]
    values = dict.fromkeys(all_subsets(letters), 0.5)
    examples = [
        {"question": case.question, "context": case.context, "scores": values, "tokens": dict.fromkeys(values, 1_000)}
        for case in cases
    ]
    try:
        check(source, limits)
        chosen = select(source, fit(source, examples, limits), cases, tuple(letters), limits)
    except PolicyError as error:
        return str(error)
    return next(
        (f"select failed on {case.question!r}: {c.reason}" for case, c in zip(cases, chosen, strict=True) if c.reason), ""
    )


def _made_up(number: int, letters: Sequence[str]) -> Case:
    preview = {"n_tokens": 300, "items": 1, "top_scores": [1.0], "steps": [number], "localised": True, "head": "Step 1:"}
    context = {
        "task": "find the key",
        "task_type": "maze",
        "domain": "GAME",
        "capability": ("recall", "causal")[number],
        "n_steps": 60,
        "structures": list(letters),
        "previews": dict.fromkeys(letters, preview),
    }
    return Case(f"made-up/{number}/0", f"What happened at step {number}?", context)


def _read(completion: Completion) -> Reply:
    if completion.status != "ok":
        raise ReplyError(f"the model gave no reply ({completion.error or completion.status})")
    return prompt.parse(completion.text)
