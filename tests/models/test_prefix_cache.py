from __future__ import annotations

from models.compose import PREFIX_ORDER
from models.prefix_cache import PromptParts, prefix_reuse
from models.selector.subsets import all_subsets


def question(number: int) -> PromptParts:
    sizes = {"S": 5_000, "T": 2_000, "G": 800, "V": 3_000, "R": 8_000}
    return PromptParts(100, 60, {k: ("s" if k == "S" else f"{k}{number}", n) for k, n in sizes.items()})


def test_one_prompt_shares_nothing() -> None:
    reuse = prefix_reuse([[question(0)]], ["S+T"], "STGVR")
    assert reuse.prompt_tokens == reuse.computed_tokens == 100 + 5_000 + 2_000 + 60


def test_a_shared_beginning_is_computed_once() -> None:
    reuse = prefix_reuse([[question(0), question(1)]], ["S", "S+T"], "STGVR")
    assert reuse.prompt_tokens == 2 * (2 * 5_160 + 2_000)
    assert reuse.computed_tokens == 100 + 5_000 + 2 * (2_000 + 2 * 60)


def test_text_behind_another_beginning_is_computed_again() -> None:
    reuse = prefix_reuse([[question(0)]], ["R", "T+R"], "STGVR")
    assert reuse.computed_tokens == 100 + 2_000 + 2 * 8_000 + 2 * 60


def test_episodes_share_nothing() -> None:
    one, two = (prefix_reuse([[question(0)]] * n, ["S"], "STGVR") for n in (1, 2))
    assert two.computed_tokens == 2 * one.computed_tokens


def test_the_prefix_order_saves_more_than_the_papers() -> None:
    questions = [question(i) for i in range(12)]
    paper, prefix = (prefix_reuse([questions], all_subsets("STGVR"), order) for order in ("STGVRH", PREFIX_ORDER))
    assert paper.prompt_tokens == prefix.prompt_tokens
    assert prefix.ratio > 2 * paper.ratio
