"""The prompt that asks a language model for a selection policy (MESA, section 4.2: the paper prints no proposer prompt).

The fixed part stands first, so that a server with prefix caching reads it once a search. What varies: the archive with
scores and the best sources, the UCB table, recurring validation failures, the prior direction and the role. A reply is JSON:

    {"idea": "Causal questions that name a step also read the graph.", "source": "def fit(examples): ..."}

Small models break JSON: a reply in a code fence is read too, as is a source whose line breaks were escaped twice.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from models.llm.thinking import strip_thinking
from models.selector.contract import ArmStats, Entry, Role
from models.selector.directions import AXES, Direction
from models.selector.proposer import ProposerView
from models.selector.sandbox_driver import SAFE_MODULES

VERSION = 2

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"idea": {"type": "string"}, "source": {"type": "string"}},
    "required": ["idea", "source"],
    "additionalProperties": False,
}

STRUCTURES: Mapping[str, str] = {
    "S": "summary of the whole trajectory, the same for every question",
    "T": "temporal: the steps that the question names, else a few steps that match its words",
    "G": "graph: short facts (subject, relation, object) around the question's entities and steps",
    "V": "vector: the steps most similar to the question",
    "R": "raw: long windows of consecutive steps that match the question's words",
    "H": "event graph: events found by a learned walk from the question",
}

EXAMPLE = """PRICE = 0.000001  # points of the objective that one token costs

def fit(examples):
    totals = {}
    for example in examples:
        group = totals.setdefault(example["context"].get("capability", ""), {})
        for subset, score in example["scores"].items():
            gain = score - PRICE * example["tokens"][subset]
            total, n = group.get(subset, (0.0, 0))
            group[subset] = (total + gain, n + 1)
    return {name: max(group, key=lambda s: group[s][0] / group[s][1]) for name, group in totals.items()}

def select(question, context, params):
    best = params.get(context.get("capability", ""))
    if best is None:
        return context["structures"]
    return best.split("+")"""

CONTRACT = f"""You improve a policy that decides which memory structures an agent reads to answer a question about its past.
Reading more costs tokens and can distract; reading less can miss the answer.

# The policy
A policy is one Python source with two functions:

def fit(examples):
    # examples: training questions with their outcomes. Returns what select needs, JSON-like: dicts, lists, numbers, text.
    ...

def select(question, context, params):
    # Returns a non-empty list of structure letters, such as ["T", "V"]. It never sees an outcome.
    ...

An example is {{"question": str, "context": dict, "scores": {{"S": 0.0, "S+T": 1.0, ...}}, "tokens": {{"S": 5700, ...}}}}:
scores (0 to 1) and evidence tokens for every subset of structures; a score is absent where answering failed.
A context is {{"task": str, "task_type": str, "domain": str, "capability": str, "n_steps": int, "structures": ["S", "T"],
"previews": {{"T": {{"n_tokens": 310, "items": 1, "top_scores": [1.0], "steps": [12], "localised": True,
"head": "Step 12:"}}}}}}: one preview per structure of what it would show for this question. Domain and capability may be
missing.

# Rules
- Imports: only {", ".join(sorted(SAFE_MODULES))}. No files, network, time, print or state kept between calls.
- The interpreter knows functions, closures, comprehensions, dataclasses and match, but not class inheritance, yield or del.
- Learn numbers from the examples in fit; do not write down what you believe is best for a data set. Name constants at the
  top with a comment each. Groups with few examples should lean on larger ones.
- fit has about half a second for 400 examples, select about a tenth of a millisecond a question.
- A policy that fails on more than 5 % of the questions is thrown away.

# The form, by a small example (it is in the archive already: do not repeat it)
{EXAMPLE}"""

_ROLES: Mapping[Role, str] = {
    "exploit": "Improve the parent policy above by one well-chosen change within this direction. Keep what works.",
    "explore": "Write a new policy that follows this direction, different in mechanism from those in the archive.",
    "repair": "Change the parent policy so that it no longer makes the recurring errors above, within this direction, and "
    "leave its behaviour elsewhere as it is.",
}

_REPLY = 'Reply with JSON only: {"idea": one sentence that says what changes and why, "source": the complete Python source}.'

_BROKEN = "The source cannot be used: {error}\nReply with JSON of the same form, with the complete corrected source."


class Reply(NamedTuple):
    """A proposed source and the idea behind it."""

    source: str
    idea: str


class ReplyError(ValueError):
    """A reply without a policy in it."""


def digest() -> str:
    """Names this prompt in cache keys (16 hex digits): it changes with the version and with every word of the text."""
    parts = json.dumps([VERSION, CONTRACT, dict(STRUCTURES), dict(_ROLES), _REPLY, _BROKEN, dict(SCHEMA)])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def render(role: Role, direction: Direction, view: ProposerView, n_rows: int, n_sources: int) -> str:
    """The prompt. It lists the best `n_rows` policies and shows the source of `n_sources`. ValueError for another role."""
    if role not in _ROLES:
        raise ValueError(f"a proposer is asked to exploit, explore or repair, not {role!r}")
    structures = "\n".join(f"- {letter}: {STRUCTURES.get(letter, 'another structure')}" for letter in view.letters)
    parts = [
        CONTRACT,
        f"# Structures\n{structures}",
        f"# Objective\nMean score minus {view.cost:g} times mean evidence tokens per question, on validation questions.",
        _archive(view.entries[:n_rows]),
        *_sources(role, direction, view, n_sources),
        _arms(view.arms),
        _errors(view),
        f"# Your task: {role}\n{_ROLES[role]}",
        f"Direction: {direction.name} ({AXES[direction.axis]})\n{direction.description}" if direction.number else "",
        _REPLY,
    ]
    return "\n\n".join(part for part in parts if part)


def render_broken(error: str) -> str:
    """What is sent back when a proposed source cannot be used."""
    return _BROKEN.format(error=error)


def _archive(entries: Sequence[Entry]) -> str:
    lines = ["# Archive, best first", "id | direction | role | objective | score | tokens | structures | reads most often"]
    for entry in entries:
        value = entry.validation
        numbers = f"{value.objective:.4f} | {value.score:.4f} | {value.tokens:,.0f} | {value.n_structures:.2f}"
        where = f"{entry.id} | {entry.proposal.direction or '-'} | {entry.proposal.role}"
        lines.append(f"{where} | {numbers} | {_reads(entry.selections)}")
    return "\n".join(lines)


def _reads(selections: Sequence[str]) -> str:
    common = sorted(Counter(selections).items(), key=lambda item: (-item[1], item[0]))[:3]
    return ", ".join(f"{subset} {n / len(selections):.0%}" for subset, n in common)


def _sources(role: Role, direction: Direction, view: ProposerView, n_sources: int) -> list[str]:
    """Sources worth reading, the parent's first: the direction's best for exploitation, else the best of all."""
    own = view.best_of(direction.name)
    ranked = [own, *view.entries] if own is not None and role == "exploit" else [*view.entries[:1], own, *view.entries[1:]]
    shown: dict[str, Entry] = {}
    for entry in ranked:
        if entry is not None:
            shown.setdefault(entry.id, entry)
    titles = ["Parent policy", *["Another policy"] * n_sources]
    return [
        f"# {title}: {entry.id}\n```python\n{entry.proposal.source.strip()}\n```"
        for title, entry in zip(titles, list(shown.values())[:n_sources], strict=False)
    ]


def parent_of(role: Role, direction: Direction, view: ProposerView) -> str:
    """The id of the policy that the prompt calls the parent; "" where there is none or a fresh policy is asked for."""
    own = view.best_of(direction.name)
    parent = own if own is not None and role == "exploit" else next(iter(view.entries), None)
    return "" if parent is None or role == "explore" else parent.id


def _arms(arms: Sequence[ArmStats]) -> str:
    rows = [f"{arm.direction} | {arm.n} | {arm.mean:.4f} | {arm.ucb:.4f}" for arm in arms]
    return "\n".join(["# Directions tried", "direction | policies | mean objective | upper confidence bound", *rows])


def _errors(view: ProposerView) -> str:
    if not view.errors and view.worst_cell is None:
        return ""
    lines = ["# Recurring errors of the best policy on validation", *(f"- {line}" for line in view.errors)]
    if view.worst_cell is not None:
        lines.append(f"- most is lost on domain {view.worst_cell[0] or '-'}, capability {view.worst_cell[1] or '-'}")
    return "\n".join(lines)


_FENCED = re.compile(r"```([\w+-]*)[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)


def parse(reply: str) -> Reply:
    """The policy in a reply. `ReplyError` says why there is none."""
    text = strip_thinking(reply)
    if not text:
        raise ReplyError("the reply is empty")
    found = _from_json(text) or _from_fence(text)
    if found is None or not found.source.strip():
        raise ReplyError(f"the reply holds neither JSON with a source nor a code block; it begins {text[:80]!a}")
    return found._replace(source=_with_fit(found.source))


def _from_json(text: str) -> Reply | None:
    fenced = [match[2] for match in _FENCED.finditer(text) if match[1].lower() in ("", "json")]
    braces = text[text.find("{") : text.rfind("}") + 1]
    for candidate in (text, *fenced, braces):
        try:
            value = json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and isinstance(value.get("source"), str):
            return Reply(_unescaped(_unfenced(value["source"])), str(value.get("idea", "")))
    return None


def _from_fence(text: str) -> Reply | None:
    blocks = [match[2] for match in _FENCED.finditer(text) if match[1].lower() in ("", "python", "py")]
    policies = [block for block in blocks if "def select" in block]
    return Reply(policies[-1] + "\n", "") if policies else None


_NO_FIT = "\n\ndef fit(examples):\n    return None\n"


def _with_fit(source: str) -> str:
    """A policy that learns nothing may leave `fit` out."""
    return source if re.search(r"^def fit\b", source, re.MULTILINE) else source.rstrip() + _NO_FIT


def _unfenced(source: str) -> str:
    match = _FENCED.fullmatch(source.strip())
    return match[2] + "\n" if match else source


def _unescaped(source: str) -> str:
    """Two functions never fit one line: a source without line breaks had them escaped twice."""
    return source.replace("\\n", "\n").replace('\\"', '"') if "\n" not in source.strip() else source
