"""T's sufficiency loop: a language model judges the evidence, and asks for steps or a search where it is not enough.

AMA-Agent's loop (MESA App. A.1 and B.1), as part of the access of T: at most three rounds, each one verdict.

    episode = CheckedEpisode(index, rows)                             # models/sufficiency_episode.py; index: T, opened
    result = run_alone(check(question, task, episode, SufficiencyConfig()), complete)     # models/llm/asking.py
    evidence = episode.evidence(question, result.extra_steps, result.searches)

The loop ends when the evidence suffices, when a verdict cannot be read, when nothing new was added, or when its calls are
used up. It is counted in calls, not in seconds, so that equal replies give equal evidence on any machine. Steps that do not
exist are not invented. All that a model may run is a program in the sandbox, over the steps as data.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from models.extract.replies import is_empty
from models.llm.asking import Asking
from models.llm.chat import ChatRequest, Completion, Message
from models.prompts import search as search_prompt
from models.prompts import sufficiency as prompt
from models.step_search import SearchError, sample_steps
from models.sufficiency_episode import CheckedEpisode
from models.tokens import count_tokens
from storage.structures.base import Evidence
from storage.structures.render import cut

STAGE = "sufficiency"

Said = Literal["sufficient", "need_turns", "need_search", "unparsable", "overflow", "error"]
"""What came of one round: a verdict, a reply without a clear one, a prompt that fits no window, or a call that failed."""


@dataclass(frozen=True)
class SufficiencyConfig:
    """The loop's limits; AMA-Agent's are `max_rounds`, `max_attempts`, `sample_steps` and `sample_chars`.

    `max_calls` bounds all calls for one question, verdicts and programs together. One round adds at most `max_turns` steps;
    an ask reaches at most `max_around` before and after its own. The model sees `max_evidence_chars` of the evidence; where
    that is too long for its window, half of it. With `keep_shown`, steps that were found by words stay when others are asked
    for; the paper's T drops them then.
    """

    max_rounds: int = 3
    max_attempts: int = 3
    sample_steps: int = 3
    sample_chars: int = 100
    max_calls: int = 8
    max_turns: int = 32
    max_around: int = 5
    max_evidence_chars: int = 24_000
    max_task_chars: int = 4_000
    keep_shown: bool = True
    verdict_tokens: int = 512
    program_tokens: int = 1_024
    seed: int = 0


@dataclass(frozen=True)
class Sufficiency:
    """How a loop went. `extra_steps` and `searches` (blocks of text) are what it adds to T's evidence.

    Token counts are access tokens. `outside` counts asks that name no step of the episode, `left_out` steps beyond
    `max_turns`, `failed_searches` searches of which no program ran. `error` is the reason of a failed call, which ends the
    loop early: asking again later may give more.
    """

    extra_steps: tuple[int, ...] = ()
    searches: tuple[str, ...] = ()
    verdicts: tuple[Said, ...] = ()
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    outside: int = 0
    left_out: int = 0
    failed_searches: int = 0
    error: str = ""

    @property
    def rounds(self) -> int:
        return len(self.verdicts)

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def unparsable(self) -> int:
        return self.verdicts.count("unparsable")


def check(question: str, task: str, episode: CheckedEpisode, config: SufficiencyConfig) -> Asking[Sufficiency]:
    """The loop for one question. It asks one request at a time; run many together to keep a server busy."""
    loop = _Loop(question, cut(task, config.max_task_chars), episode, config)
    yield from loop.run()
    return loop.result()


_Calls = Generator[Sequence[ChatRequest], Sequence[Completion], Completion]


class _Loop:
    """The state of one question's loop: what was added, said and spent."""

    def __init__(self, question: str, task: str, episode: CheckedEpisode, config: SufficiencyConfig) -> None:
        self._question, self._task, self._episode, self._config = question, task, episode, config
        self._extra: dict[int, None] = {}
        self._searches: list[str] = []
        self._verdicts: list[Said] = []
        self._calls = self._prompt_tokens = self._completion_tokens = 0
        self._outside = self._left_out = self._failed_searches = 0
        self._error = ""

    def result(self) -> Sufficiency:
        return Sufficiency(
            extra_steps=tuple(self._extra),
            searches=tuple(self._searches),
            verdicts=tuple(self._verdicts),
            calls=self._calls,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
            outside=self._outside,
            left_out=self._left_out,
            failed_searches=self._failed_searches,
            error=self._error,
        )

    def run(self) -> Asking[None]:
        """Round after round, until one adds nothing."""
        while len(self._verdicts) < self._config.max_rounds and self._calls < self._config.max_calls:
            evidence = self._episode.evidence(self._question, tuple(self._extra), self._searches)
            verdict = yield from self._judge(evidence.text)
            if verdict is None or verdict.kind == "sufficient":
                return
            if verdict.kind == "need_turns":
                is_new = self._add_turns(verdict, evidence)
            else:
                is_new = yield from self._search(verdict.search)
            if not is_new:
                return

    def _judge(self, evidence: str) -> Asking[prompt.Verdict | None]:
        """The verdict on the evidence; where the prompt is too long for the model, on half of it, and so on."""
        room = self._config.max_evidence_chars
        completion = yield from self._call(self._verdict_request(cut(evidence, room)))
        while completion.status == "overflow" and room > 1_000 and self._calls < self._config.max_calls:
            room = min(room, len(evidence)) // 2
            completion = yield from self._call(self._verdict_request(cut(evidence, room)))
        verdict = prompt.parse(completion.text) if completion.status == "ok" else None
        self._verdicts.append(self._said(completion, verdict))
        return verdict

    def _said(self, completion: Completion, verdict: prompt.Verdict | None) -> Said:
        if completion.status == "overflow":
            return "overflow"
        if self._has_failed(completion):
            return "error"
        return "unparsable" if verdict is None else verdict.kind

    def _has_failed(self, completion: Completion) -> bool:
        """Whether the model was not reached, which is kept as the loop's error."""
        if completion.status != "error" or is_empty(completion):
            return False
        self._error = completion.error or completion.status
        return True

    def _verdict_request(self, evidence: str) -> ChatRequest:
        by_reference = self._episode.by_reference
        text = prompt.render(self._question, self._task, evidence, self._episode.names, by_reference=by_reference)
        schema = prompt.schema(by_reference=by_reference)
        return self._request((Message("user", text),), self._config.verdict_tokens, schema)

    def _request(
        self, messages: tuple[Message, ...], max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> ChatRequest:
        return ChatRequest(messages, max_tokens=max_tokens, seed=self._config.seed, schema=schema)

    def _call(self, request: ChatRequest) -> _Calls:
        """One call, counted. A server that reports no prompt tokens is given our own count."""
        (completion,) = yield [request]
        self._calls += 1
        reported = completion.prompt_tokens
        if not reported and completion.status == "ok":
            reported = sum(count_tokens([message.content for message in request.messages]))
        self._prompt_tokens += reported
        self._completion_tokens += completion.completion_tokens
        return completion

    def _add_turns(self, verdict: prompt.Verdict, evidence: Evidence) -> bool:
        """Take up the steps that were asked for; whether one of them was not shown yet."""
        asked = [self._episode.steps_of(ask, self._config.max_around) for ask in verdict.asks]
        self._outside += verdict.unreadable + sum(not steps for steps in asked)
        shown = {*evidence.steps, *self._extra}
        fresh = [step for step in dict.fromkeys(step for steps in asked for step in steps) if step not in shown]
        self._left_out += len(fresh[self._config.max_turns :])
        if fresh and self._config.keep_shown:
            self._extra.update(dict.fromkeys(evidence.steps))
        self._extra.update(dict.fromkeys(fresh[: self._config.max_turns]))
        return bool(fresh)

    def _search(self, wanted: str) -> Asking[bool]:
        """Ask for a program until one runs; whether its result is new."""
        config = self._config
        sample = sample_steps(self._episode.rows[: config.sample_steps], config.sample_chars)
        messages: tuple[Message, ...] = (Message("user", search_prompt.render(self._question, wanted, sample)),)
        for _ in range(min(config.max_attempts, config.max_calls - self._calls)):
            completion = yield from self._call(self._request(messages, config.program_tokens))
            if completion.status == "overflow" or self._has_failed(completion):
                break
            try:
                found = self._run(completion.text)
            except SearchError as error:
                messages = search_prompt.retried(messages, completion.text, str(error))
                continue
            return self._add_search(wanted, found)
        self._failed_searches += 1
        return False

    def _run(self, reply: str) -> str:
        program = search_prompt.parse(reply)
        if program is None:
            raise SearchError("the reply holds no Python code block")
        return self._episode.run(program)

    def _add_search(self, wanted: str, found: str) -> bool:
        title = cut(" ".join(wanted.split()), _MAX_TITLE_CHARS) or "a search"
        block = f"[Computed over all {len(self._episode.rows)} steps: {title}]\n{found}"
        if block in self._searches:
            return False
        self._searches.append(block)
        return True


_MAX_TITLE_CHARS = 300
