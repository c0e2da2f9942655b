"""Runs a program that a language model wrote over the steps of an episode, in the sandbox and nowhere else.

    steps = encode_steps(rows, SearchConfig())                      # JSON text, once per episode
    search_steps("result = len(steps)", steps, SearchConfig())      # "36"

The program runs in a worker of pydantic-monty (`models/selector/sandbox_session.py`): no files, network, environment, clock
or process, and limits on time, memory and recursion. It gets the steps as data, a fresh session, and gives back text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from models.llm.storable import storable
from models.selector.sandbox_driver import PolicyError, wrap
from models.selector.sandbox_session import Output, SandboxLimits, Session, Trouble
from storage.structures.render import DIALOGUE, StepRow

_CUT = "\n[... {n:,} more characters of the result]"

_RUN = """
import json
import random

def refuse(*args, **kwargs):
    raise NameError("exec and eval are not available to a search program")

def open_program(program, steps):
    names = {"__name__": "search", "steps": steps, "exec": refuse, "eval": refuse}
    known = len(names)
    exec(program, names)
    if len(names) != known + 1:
        raise SyntaxError("the source is not one module body")
    return names["__policy__"]

def shown(value):
    if isinstance(value, str):
        return value
    if isinstance(value, (set, frozenset)):
        try:
            value = sorted(value)
        except TypeError:
            value = list(value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(value)

random.seed(0)
names = open_program(program, json.loads(data))()
if not isinstance(names, dict):
    raise SyntaxError("return outside of a function")
if names.get("result") is None:
    raise NameError("the program must set the variable `result`")
text = shown(names["result"])
text[:max_chars], len(text)
"""
"""Inputs: `program`, `data` (JSON text), `max_chars`. The result is the head of the result as text, and its whole length."""


class SearchError(ValueError):
    """A program that cannot be used. The message is written for its author: what is wrong, and in which line."""


@dataclass(frozen=True)
class SearchConfig:
    """Limits of one program. A result of more than `max_result_chars` characters is cut with a marker.

    `max_field_chars` bounds an action or observation as the program sees it, far above what evidence shows.
    """

    seconds: float = 5.0
    memory_bytes: int = 512 * 2**20
    source_chars: int = 20_000
    max_field_chars: int = 100_000
    max_result_chars: int = 4_000
    output_chars: int = 100_000


def encode_steps(rows: Sequence[StepRow], config: SearchConfig) -> str:
    """The steps as the JSON text that programs get."""
    return json.dumps([_step(row, config.max_field_chars) for row in rows], ensure_ascii=False)


def sample_steps(rows: Sequence[StepRow], max_chars: int) -> str:
    """A few steps as a prompt shows them: one JSON object a line, texts cut at `max_chars` characters."""
    return "\n".join(json.dumps(_step(row, max_chars), ensure_ascii=False) for row in rows)


def _step(row: StepRow, max_chars: int) -> dict[str, Any]:
    """A turn of a conversation also says who spoke, when, and its reference."""
    step: dict[str, Any] = {"step": row.step, "action": row.action[:max_chars], "observation": row.observation[:max_chars]}
    if row.action == DIALOGUE:
        date = f"{row.timestamp:%Y-%m-%d %H:%M}" if row.timestamp else ""
        step |= {"speaker": row.speaker or "", "date": date, "ref": row.ref or ""}
    return step


def search_steps(source: str, steps: str, config: SearchConfig) -> str:
    """What the program set `result` to: text as it is, everything else as JSON. What it prints is thrown away.

    `SearchError` says why there is no result.
    """
    limits = SandboxLimits(memory_bytes=config.memory_bytes)
    try:
        program = wrap(source, config.source_chars)
    except PolicyError as error:
        raise SearchError(str(error)) from error
    output = Output(config.output_chars)
    inputs = {"program": program, "data": steps, "max_chars": config.max_result_chars}
    found = Session(limits, config.seconds).run(_RUN, inputs, output)
    if isinstance(found, Trouble) or output.trouble:
        raise SearchError((output.trouble or found).reason)
    text, length = found
    return storable(text) + (_CUT.format(n=length - len(text)) if length > len(text) else "")
