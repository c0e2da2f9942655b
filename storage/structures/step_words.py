"""A step as words for lexical matching. Its number is its name and no word of it: "3 apples" is not about step 3."""

from __future__ import annotations

from storage.structures.lexical import tokens


def step_name(label: int) -> str:
    """The token of a step's heading. It holds a space, so that no word of a text or a question equals it."""
    return f"step {label}"


def step_words(label: int, text: str) -> list[str]:
    """The tokens of a step's text as `render_step` writes it; the heading `Step 3:` gives one token, `step_name(3)`."""
    heading = f"Step {label}:\n"
    if not text.startswith(heading):  # a turn of a conversation, which has a date and a speaker for a heading
        return tokens(text)
    return [step_name(label), *tokens(text.removeprefix(heading))]
