"""The programs that run inside the sandbox: a policy's source made into a function, and the drivers that call it.

A policy must not carry anything from one question to the next. So its module body becomes the body of a function that is
called anew for every question, which costs microseconds where executing the text again costs as much as parsing it:

    STEP = re.compile(r"step (\\d+)")         ->    def __policy__():
    def fit(examples): ...                           STEP = re.compile(r"step (\\d+)")
                                                     def fit(examples): ...
                                                     return locals()

The drivers keep their own names out of the policy's reach: the policy is executed in a namespace of its own.

Reading the source here is hygiene, and gives a proposer clear reasons; it is not the fence. What contains a policy is the
sandbox, where even a forbidden module opens no file.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

SAFE_MODULES = frozenset(
    "__future__ bisect collections copy dataclasses datetime functools".split()
    + "itertools json math random re typing unicodedata".split()
)
"""What a policy may import: pure functions and types, no clock, no process, no module-wide settings."""

HEADER_LINES = 1
"""Lines that `wrap` puts before the source: what a line number of the sandbox is ahead of the policy's."""

_HEADER = "def __policy__():\n"
_FOOTER = "\n return locals()\n"
_NO_FOOTER = "\n return locals(\n"  # after what cannot be read here: the interpreter says why, and cannot accept it
_BREAKS = frozenset({tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})
_SKIPPED = frozenset({tokenize.COMMENT, tokenize.NL})
_CONTROLS = frozenset(map(chr, range(32))) - {"\t", "\n"}


class PolicyError(ValueError):
    """A policy that cannot be used. The message is written for its author: what is wrong, and in which line."""


@lru_cache(maxsize=256)
def wrap(source: str, max_chars: int) -> str:
    """The program that defines `__policy__`, which returns the names of one fresh module body.

    `PolicyError` for a source that is too long, holds control characters, imports a module outside `SAFE_MODULES`, or says
    `global`. Most syntax errors are left to the interpreter.
    """
    if len(source) > max_chars:
        raise PolicyError(f"the source has {len(source):,} characters, {max_chars:,} are allowed")
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    _check_characters(text)
    try:
        tokens = _tokens(text)
    except tokenize.TokenError:
        return _HEADER + " " + text.replace("\n", "\n ") + _NO_FOOTER
    _check_statements(tokens)
    inside = _rows_inside_strings(tokens)
    lines = (line if row in inside else " " + line for row, line in enumerate(text.split("\n"), start=1))
    return _HEADER + "\n".join(lines) + _FOOTER


def _check_characters(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise PolicyError(f"line {line}: a lone surrogate, which is no character") from error
    for row, line_text in enumerate(text.split("\n"), start=1):
        if not _CONTROLS.isdisjoint(line_text):
            raise PolicyError(f"line {row}: a control character; write it as an escape such as \\x00")


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except SyntaxError as error:
        raise PolicyError(f"syntax error in line {error.lineno}: {error.msg}") from error
    first = next(token for token in tokens if token.type not in _SKIPPED)
    if first.type == tokenize.INDENT:
        raise PolicyError(f"syntax error in line {first.start[0]}: unexpected indent")
    return tokens


def _check_statements(tokens: Sequence[tokenize.TokenInfo]) -> None:
    for row, words in _statements(tokens):
        if words[0] == "global":
            raise PolicyError(f"line {row}: `global` is not allowed, a policy keeps nothing between questions")
        for module in _imported(words):
            if module not in SAFE_MODULES:
                raise PolicyError(f"line {row}: {module!r} cannot be imported; {', '.join(sorted(SAFE_MODULES))} can")


def _statements(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[tuple[int, list[str]]]:
    """Line and words of every piece that may start a statement; a colon starts one too (`if x: import y`)."""
    row, words = 0, list[str]()
    for token in tokens:
        if token.type in _SKIPPED:
            continue
        if token.type in _BREAKS or token.string in (";", ":"):
            if words:
                yield row, words
            words = []
            continue
        if not words:
            row = token.start[0]
        words.append(token.string)


def _imported(words: Sequence[str]) -> list[str]:
    """Top-level names of the modules that one statement imports; `.` for a relative import."""
    if words[0] == "from":
        return list(words[1:2])
    if words[0] != "import":
        return []
    return [word for before, word in pairwise(words) if before in ("import", ",")]


def _rows_inside_strings(tokens: Sequence[tokenize.TokenInfo]) -> set[int]:
    """Rows that begin inside a string of several lines, where a space more would change the string."""
    rows, opened = set[int](), list[int]()
    for token in tokens:
        kind = tokenize.tok_name[token.type]
        if kind == "FSTRING_START":  # Python 3.12 gives an f-string in pieces
            opened.append(token.start[0])
        first = opened.pop() if kind == "FSTRING_END" else token.start[0]
        if kind in ("STRING", "FSTRING_END"):
            rows.update(range(first + 1, token.end[0] + 1))
    return rows


_OPEN = """
import json
import random

def refuse(*args, **kwargs):
    raise NameError("exec and eval are not available to a policy")

def open_policy(program):
    names = {"__name__": "policy", "exec": refuse, "eval": refuse}
    known = len(names)
    exec(program, names)
    if len(names) != known + 1:
        raise SyntaxError("the source is not one module body")
    return names["__policy__"]

def start(make):
    random.seed(0)
    names = make()
    if not isinstance(names, dict):
        raise SyntaxError("return outside of a function")
    for name in ("fit", "select"):
        if name not in names:
            raise NameError("the source defines no function " + name)
    return names

def explain(error):
    name = type(error).__name__
    try:
        return name + ": " + str(error)
    except BaseException:
        return name

def run(call):
    try:
        return call()
    except BaseException as error:
        reason = explain(error)
    if len(reason) > 1000:
        raise RuntimeError(reason[:200])
    return call()  # fails again, alike; uncaught, its traceback tells the line

"""

CHECK = (
    _OPEN
    + """
def define():
    start(open_policy(program))

run(define)
"""
)
"""Input: `program`. Runs the module body."""

FIT = (
    _OPEN
    + """
def learn():
    return start(open_policy(program))["fit"](json.loads(examples))

params = run(learn)
try:
    text = json.dumps(params, allow_nan=False)
except (TypeError, ValueError, RecursionError) as error:
    raise TypeError("fit must return JSON-like params: " + str(error)[:200])
if len(text) > max_chars:
    raise ValueError(f"the params have {len(text)} characters as JSON, {max_chars} are allowed")
text
"""
)
"""Inputs: `program`, `examples` (JSON text), `max_chars`. The result is the params as JSON text."""

SELECT = (
    _OPEN
    + """
loads = json.loads

def answer(make, case):
    try:
        question, context = loads(case)
        chosen = start(make)["select"](question, context, loads(params))
        kind = type(chosen).__name__
        if not isinstance(chosen, (list, tuple, set, frozenset)):
            return [], "select returned " + kind + ", not a list of letters"
        if len(chosen) > 64:
            return [], f"select returned {len(chosen)} letters"
        for letter in chosen:
            if not isinstance(letter, str):
                return [], "select returned a " + kind + " with " + type(letter).__name__ + " in it"
        return [letter[:8] for letter in chosen], ""
    except BaseException as error:
        return [], explain(error)[:300]

def answer_all(make, send):
    pending = []
    for case in cases:
        pending.append(answer(make, case))
        if len(pending) == stride:
            send(pending)
            pending = []
    send(pending)

answer_all(open_policy(program), report)
None
"""
)
"""Inputs: `program`, `params` and each of `cases` as JSON text, `stride`; outside function: `report(answers)`.

An answer is the letters as returned (each cut at 8 characters) and why there are none. Every question gets a module body,
a context and params of its own, and the same stream of `random`.
"""
