"""How much of a sweep's prompts a server with prefix caching need not compute again (vLLM's automatic prefix caching).

The prompts of one episode form a trie: task, then the selected sections in their order, then the question. Text that stands
behind the same beginning is computed once. Real caches share whole blocks of 16 or so tokens and evict, so this is the most
that a cache can save.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from models.selector.subsets import SEPARATOR


@dataclass(frozen=True, slots=True)
class PromptParts:
    """One question's prompt pieces: tokens of the task and of question with instructions, and each section's (id, tokens).

    Equal ids mean equal texts, as for a summary that every question of an episode shares.
    """

    task_tokens: int
    tail_tokens: int
    sections: Mapping[str, tuple[str, int]]


@dataclass(frozen=True, slots=True)
class PrefixReuse:
    """Prompt tokens sent and the least that must be computed; `ratio` of computing everything to computing once."""

    prompt_tokens: int
    computed_tokens: int

    @property
    def reused_share(self) -> float:
        return 1 - self.computed_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def ratio(self) -> float:
        return self.prompt_tokens / self.computed_tokens if self.computed_tokens else 1.0


def prefix_reuse(episodes: Iterable[Sequence[PromptParts]], subsets: Sequence[str], order: Sequence[str]) -> PrefixReuse:
    """Reuse over the prompts of every question under every subset, with sections in `order`."""
    sent = computed = 0
    rank = {letter: i for i, letter in enumerate(order)}
    chosen = [sorted(subset.split(SEPARATOR), key=rank.__getitem__) for subset in subsets]
    for questions in episodes:
        seen: set[tuple[str, ...]] = set()
        for number, parts in enumerate(questions):
            for letters in chosen:
                path: tuple[str, ...] = ()
                pieces = [("task", parts.task_tokens), *(parts.sections[letter] for letter in letters)]
                for name, tokens in [*pieces, (f"question {number}", parts.tail_tokens)]:
                    path = (*path, name)
                    sent += tokens
                    computed += 0 if path in seen else tokens
                    seen.add(path)
    return PrefixReuse(sent, computed)
