"""Reasoning models write their thoughts before the reply, in a think-block. The reply is what is left without it."""

from __future__ import annotations

import re

_BLOCK = re.compile(r"<(think|thinking|thought|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_LONE_CLOSING = re.compile(r"^.*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_UNCLOSED = re.compile(r"<(?:think|thinking|thought|reasoning)>.*$", re.DOTALL | re.IGNORECASE)


def strip_thinking(text: str) -> str:
    """`text` without think-blocks, trimmed.

    A closing tag without an opening one ends a block that the chat template opened inside the prompt; an opening tag
    without a closing one means that the token limit cut the thought, so that nothing after it is a reply.
    """
    text = _BLOCK.sub("", text)
    text = _LONE_CLOSING.sub("", text)
    return _UNCLOSED.sub("", text).strip()
