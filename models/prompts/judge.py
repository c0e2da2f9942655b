"""The judge prompt: MESA, Appendix C.4, which is AMA-Bench's binary correctness prompt.

Question, reference and prediction are data: they are joined, never formatted, and each is one labelled part of the prompt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

VERSION = 1

_OPENING = """You are an expert evaluator. You will be given a question, a reference answer, and a predicted answer.
Your task is to determine if the predicted answer is correct based on:
1. Factual correctness compared to the reference
2. Completeness of the answer
3. Relevance to the question"""
_QUESTION = "Question: "
_REFERENCE = "Reference Answer: "
_PREDICTION = "Predicted Answer: "
_CLOSING = """Is the predicted answer correct? Respond with ONLY "yes" or "no". Do not include any thinking process, explanation, or additional text.
Answer:"""  # noqa: E501


_EXAMPLES = """Examples:

Question: Which door did the agent open at step 4?
Reference Answer: the blue door
Predicted Answer: It opened the door that is blue.
Answer: yes

Question: Which door did the agent open at step 4?
Reference Answer: the blue door
Predicted Answer: the red door
Answer: no

Question: How many files were changed, and which?
Reference Answer: two, a.py and b.py
Predicted Answer: Two files were changed.
Answer: no"""
"""Not of the paper and of no data set: they help small models, which else say no to nearly everything."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"verdict": {"enum": ["yes", "no"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}
"""For a constrained reply, where a model would else write around a yes or no."""


def digest(examples: bool = False) -> str:
    """Names this prompt in cache keys (16 hex digits): it changes with the version and with every word of the text."""
    shown = [_EXAMPLES] if examples else []
    parts = json.dumps([VERSION, _OPENING, *shown, _QUESTION, _REFERENCE, _PREDICTION, _CLOSING])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def render(question: str, reference: str, prediction: str, context: str = "", examples: bool = False) -> str:
    """The prompt. `context` is what the judge may know of the episode, such as its task; empty leaves it out."""
    shown = _EXAMPLES if examples else ""
    parts = [_OPENING, shown, context, _QUESTION + question, _REFERENCE + reference, _PREDICTION + prediction, _CLOSING]
    return "\n\n".join(part for part in parts if part.strip())
