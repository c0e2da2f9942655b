"""The answer prompt: MESA, Appendix C.3, one user message without a system message.

    # Task
    put two sets of keys inside safe

    # Temporal Turns (referenced by step/turn or neighborhood)
    Step 2:
    Action: take keychain 2 from sofa 1
    Observation: You pick up the keychain 2 from the sofa 1.

    ## Questions
    Question: At step 2, what did the agent take?

    ## Instructions
    Provide a direct and concise answer.
    Answer: [your answer here]

Departures: the paper's text lost the closing bracket of the T heading, restored here; the paper has no words for abstention,
so `abstain` adds one sentence (for conversations, whose questions may have no answer). Task, evidence and question are
data: they are joined, never formatted, so that braces and `$` in them stay as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence

from storage.records import ABSTENTION

VERSION = 1

TRAJECTORY = "L"
"""The section letter of the long-context baseline, which reads the trajectory itself and no structure."""

HEADINGS: Mapping[str, str] = {
    "S": "# State Memory (compressed)",
    "T": "# Temporal Turns (referenced by step/turn or neighborhood)",
    "G": "# Knowledge Graph (HippoRAG triples + neighbors)",
    "V": "# Retrieved Turns (embedding similarity)",
    "R": "# Chunked Context (BM25 over trajectory)",
    "H": "# Event Graph (learned traversal)",
    TRAJECTORY: "# Trajectory",
}
"""Section headings by structure letter, in the order of the prompt."""

_TASK = "# Task\n"
_QUESTION = "## Questions\nQuestion: "
_INSTRUCTIONS = "## Instructions\nProvide a direct and concise answer."
_ABSTAIN = f'If the text above does not contain the answer, say "{ABSTENTION}".'
_SLOT = "Answer: [your answer here]"


def digest() -> str:
    """Names this prompt in cache keys (16 hex digits): it changes with the version and with every word of the text."""
    parts = json.dumps([VERSION, dict(HEADINGS), _TASK, _QUESTION, _INSTRUCTIONS, _ABSTAIN, _SLOT])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def render(question: str, task: str, sections: Sequence[tuple[str, str]], *, abstain: bool = False) -> str:
    """The prompt. `sections` are (structure letter, text) in order; an empty text or task leaves its section out."""
    instructions = f"{_INSTRUCTIONS} {_ABSTAIN}" if abstain else _INSTRUCTIONS
    parts = [f"{_TASK}{task}"] if task.strip() else []
    parts.extend(f"{HEADINGS[letter]}\n{text}" for letter, text in sections if text.strip())
    parts.append(_QUESTION + question)
    parts.append(f"{instructions}\n{_SLOT}")
    return "\n\n".join(parts)


_ANSWER_SLOT = re.compile(r"^[ \t]*[*_#>`]*answer(?:\[1\])?[*_`]*[ \t]*:[*_`]*[ \t]*", re.IGNORECASE | re.MULTILINE)
_FENCED = re.compile(r"```[\w+-]*\n(.*?)\n?```", re.DOTALL)
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`"}


def parse(reply: str) -> str:
    """The answer in a reply: all lines after the last `Answer:` slot, or the whole reply where there is none.

    A code fence, quotes or square brackets around the whole answer are taken off; a JSON list keeps its brackets.
    """
    slots = list(_ANSWER_SLOT.finditer(reply))
    after = reply[slots[-1].end() :].strip() if slots else ""
    return _unwrap(after or reply.strip())


def _unwrap(text: str) -> str:
    fenced = _FENCED.fullmatch(text)
    if fenced:
        return fenced[1].strip()
    if len(text) < 2:
        return text
    inner = text[1:-1]
    if _QUOTES.get(text[0]) == text[-1] and text[0] not in inner and text[-1] not in inner:
        return inner.strip()
    if text[0] == "[" and text[-1] == "]" and not set(inner) & set("[]") and not _is_json(text):
        return inner.strip()
    return text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
