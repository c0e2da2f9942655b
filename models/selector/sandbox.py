"""Runs policies that nobody has read: written by a language model, or by somebody who means harm.

A policy runs in a worker process of pydantic-monty, an interpreter without files, network, environment or clock, with limits
on time, memory, sleep, recursion and output.

    check(source)                                 # PolicyError says what is wrong
    params = fit(source, examples)                # PolicyError when fitting fails
    chosen = select(source, params, cases, "STGVR")

`select` never raises for what a policy does: a question on which it fails reads all structures and says why. Every question
is answered as if it were the only one: it gets a module body, a context, params and a stream of `random` of its own, and the
clock stands still. What remains is `random.Random()` without a seed, `id`, and a time limit on a machine that stalls.

Only these cross the border: a question's text, the keys of its context that the contract names, and params; in `fit` also
the training outcomes. No question id, no outcome of another split.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from models.selector import sandbox_driver
from models.selector.contract import Case, Context, Params
from models.selector.sandbox_driver import PolicyError, wrap
from models.selector.sandbox_session import Output, SandboxLimits, Session, Trouble
from models.selector.subsets import SEPARATOR, subset_name

__all__ = [
    "DEFAULT_LIMITS",
    "PolicyError",
    "SandboxLimits",
    "Selection",
    "check",
    "encode_cases",
    "encode_examples",
    "fit",
    "select",
]

CONTEXT_KEYS = frozenset({"task", "task_type", "domain", "capability", "n_steps", "structures", "previews"})
PREVIEW_KEYS = frozenset({"n_tokens", "items", "top_scores", "steps", "localised", "head"})
EXAMPLE_KEYS = frozenset({"question", "context", "scores", "tokens"})
DEFAULT_LIMITS = SandboxLimits()

_STRIDE = 32  # questions between two reports, each of which costs some 50 microseconds
_AHEAD = 64  # questions handed to a session that reports each one

Answer = tuple[Sequence[str], str]
"""Letters as a policy returned them, and why there are none."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is read for one question. When the policy failed, `subset` is all structures and `reason` says why."""

    subset: str
    valid: bool = True
    reason: str = ""


def encode_cases(cases: Sequence[Case]) -> tuple[str, ...]:
    """Each case as the JSON text that a policy gets: [question, context]. Encode once to run many policies.

    ValueError for a context with a key that is not in the contract: it may be a leak.
    """
    for case in cases:
        _check_context(case.context, f"question {case.question_id}")
    return tuple(json.dumps([case.question, case.context], allow_nan=False) for case in cases)


def encode_examples(examples: Sequence[Mapping[str, Any]]) -> str:
    """Examples as one JSON text. ValueError for a key that is not in the contract."""
    for number, example in enumerate(examples, start=1):
        _check_keys(example, EXAMPLE_KEYS, f"example {number}")
        _check_context(example["context"], f"example {number}")
    return json.dumps(list(examples), allow_nan=False)


def _check_context(context: Context, where: str) -> None:
    _check_keys(context, CONTEXT_KEYS, f"the context of {where}")
    for letter, preview in context.get("previews", {}).items():
        _check_keys(preview, PREVIEW_KEYS, f"the preview of {letter} in {where}")


def _check_keys(value: Mapping[str, Any], allowed: frozenset[str], where: str) -> None:
    if unknown := sorted(value.keys() - allowed):
        raise ValueError(f"{where} holds {', '.join(unknown)}: a policy may see {', '.join(sorted(allowed))} only")


def check(source: str, limits: SandboxLimits = DEFAULT_LIMITS) -> None:
    """`PolicyError` unless the source compiles, and its module body runs and defines `fit` and `select`."""
    _run_once(sandbox_driver.CHECK, {"program": wrap(source, limits.source_chars)}, limits, "")


def fit(source: str, examples: Sequence[Mapping[str, Any]] | str, limits: SandboxLimits = DEFAULT_LIMITS) -> Params:
    """What a policy learned from training examples (or from their text, see `encode_examples`).

    Params are JSON values without NaN or infinity, at most `limits.params_chars` as text. `PolicyError` when fitting fails.
    """
    text = examples if isinstance(examples, str) else encode_examples(examples)
    inputs = {"program": wrap(source, limits.source_chars), "examples": text, "max_chars": limits.params_chars}
    return json.loads(_run_once(sandbox_driver.FIT, inputs, limits, "fit failed: "))


def _run_once(program: str, inputs: Mapping[str, Any], limits: SandboxLimits, prefix: str) -> Any:
    output = Output(limits.output_chars)
    result = Session(limits, limits.fit_seconds).run(program, inputs, output)
    trouble = output.trouble or result
    if isinstance(trouble, Trouble):
        raise PolicyError(prefix + trouble.reason)
    return result


def select(
    source: str,
    params: Params,
    cases: Sequence[Case] | Sequence[str],
    letters: Sequence[str],
    limits: SandboxLimits = DEFAULT_LIMITS,
) -> list[Selection]:
    """One selection per case (or text of `encode_cases`), in order; `letters` are the structures at hand.

    `PolicyError` only for a source that does not compile; whatever else goes wrong is in the selections.
    """
    everything = subset_name(letters)
    texts = [case if isinstance(case, str) else encode_cases([case])[0] for case in cases]
    split = _Split(wrap(source, limits.source_chars), json.dumps(params, allow_nan=False), texts, limits)
    return [_selection(chosen, reason, everything) for chosen, reason in split.run()]


def _selection(chosen: Sequence[str], reason: str, everything: str) -> Selection:
    """A policy's answer, checked: known letters only, at least one, in the fixed order, without repeats."""
    known = everything.split(SEPARATOR)
    if not reason and not chosen:
        reason = "select returned no structure"
    if unknown := [letter for letter in chosen if letter not in known]:
        reason = f"select returned {unknown[0]!a}; the structures are {', '.join(known)}"
    return Selection(everything, False, reason) if reason else Selection(subset_name(chosen))


@dataclass
class _Split:
    """The questions of one call of `select`, and the answers so far.

    Reports come in strides. After the first trouble every question is reported alone, so that the one that caused it is the
    first without an answer; it gets the reason, and a fresh session goes on behind it.
    """

    program: str
    params: str
    texts: Sequence[str]
    limits: SandboxLimits
    answers: list[Answer] = field(default_factory=list)

    def run(self) -> list[Answer]:
        """One answer per text. `PolicyError` when the program does not compile."""
        stride, deadline = _STRIDE, time.monotonic() + self.limits.select_seconds
        while (done := len(self.answers)) < len(self.texts):
            seconds = deadline - time.monotonic()
            if seconds <= 0:
                return self._give_up(f"the {self.limits.select_seconds:g} s for all questions were used up")
            trouble = self._session(stride, seconds)
            if trouble is None:
                continue
            if not trouble.compiled:
                raise PolicyError(trouble.reason)
            # Memory or sleep may have been used up by the questions before: such a question is tried again, as the first.
            if stride == 1 and (trouble.certain or len(self.answers) == done) and time.monotonic() < deadline:
                self.answers.append(((), trouble.reason))
            stride = 1
        return self.answers

    def _give_up(self, reason: str) -> list[Answer]:
        return self.answers + [((), reason)] * (len(self.texts) - len(self.answers))

    def _session(self, stride: int, seconds: float) -> Trouble | None:
        """Answer the questions that are left, or the next few, in a fresh session; what stopped it, if anything."""
        start = len(self.answers)
        texts = self.texts[start:] if stride > 1 else self.texts[start : start + _AHEAD]
        inputs = {"program": self.program, "params": self.params, "cases": list(texts), "stride": stride}
        output = Output(self.limits.output_chars)

        def report(answers: list[tuple[list[str], str]]) -> None:
            if trouble := output.trouble:
                if stride > 1:
                    raise RuntimeError(trouble.reason)  # ends the session: who printed is found one by one
                answers = [([], trouble.reason)]
            self.answers.extend(answers)
            output.chars = 0

        session = Session(self.limits, seconds, self.limits.question_seconds)
        result = session.run(sandbox_driver.SELECT, inputs, output, report, len(texts))
        return result if isinstance(result, Trouble) else None
