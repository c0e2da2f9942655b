from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

import pytest

from models.llm.chat import Completion
from models.prompts import propose as prompt
from models.selector.contract import ArmStats, Proposal, Role
from models.selector.directions import DIRECTIONS, direction_named
from models.selector.llm_proposer import LLMProposer, LLMProposerConfig
from models.selector.proposer import ProposerView
from models.selector.sandbox import PolicyError, check
from models.selector.search import GENERIC
from models.tokens import count_tokens
from tests.models.scripted_chat import ScriptedChat
from tests.models.selector.proposing import entry, view

GOOD = '''"""Reads the summary and the named steps."""


def fit(examples):
    return {"n": len(examples)}


def select(question, context, params):
    return ["S", "T"] if "step" in question else ["S"]
'''
BROKEN = GOOD.replace("return {", "return {{")
PARENT = GOOD.replace("summary", "PARENT summary")
CANARY = "CANARY-GOLD-7319"
DIRECTION = direction_named("lexical_demand")


def reply(source: str, idea: str = "Named steps read T.") -> str:
    return json.dumps({"idea": idea, "source": source})


def state() -> ProposerView:
    return view(
        entry("12-exploit", PARENT, "parsimony", 0.6412, "exploit", params={"words": [CANARY]}),
        entry("03-explore", GOOD, "lexical_demand", 0.6, params={"words": [CANARY]}),
        entry("seed", "def everything(): ...", "", 0.5, "seed"),
        errors=("SOFTWARE/causal: 14 of 30 questions fail with S+T; S+R succeeds on 9 of them",),
        arms=(ArmStats("parsimony", 4, 0.6321, 0.6543), ArmStats("lexical_demand", 1, 0.6, 0.7001)),
        worst_cell=("WEB", "recall"),
    )


def replies(*texts: Completion | str) -> ScriptedChat:
    script: Iterator[Completion | str] = iter(texts)
    return ScriptedChat(lambda _: next(script))


def propose(chat: ScriptedChat, role: Role = "exploit", config: LLMProposerConfig | None = None) -> Proposal:
    proposer = LLMProposer(chat, config or LLMProposerConfig())
    return proposer.propose(role, DIRECTION, state(), random.Random(0))


def test_a_reply_becomes_a_proposal() -> None:
    proposal = propose(replies(reply(GOOD)))
    assert proposal == Proposal(GOOD, "lexical_demand", "exploit", "03-explore", "Named steps read T.")


def test_the_prompt_tells_all_that_a_proposer_may_know() -> None:
    chat = replies(reply(GOOD))
    propose(chat)
    text = chat.prompts[0]
    assert prompt.CONTRACT in text
    assert DIRECTION.description in text
    assert "12-exploit | parsimony | exploit | 0.6412 | 0.6512 | 10,000 | 2.50 | S+T 67%, R 33%" in text
    assert "lexical_demand | 1 | 0.6000 | 0.7001" in text
    assert "- SOFTWARE/causal: 14 of 30 questions fail with S+T; S+R succeeds on 9 of them" in text
    assert "domain WEB, capability recall" in text
    assert "minus 1e-06 times mean evidence tokens" in text
    assert all(f"- {letter}: " in text for letter in "STGVR")
    assert "- H: " not in text


def test_the_contract_shows_what_a_policy_really_gets() -> None:
    for word in ("question", "context", "scores", "tokens", "previews", "n_tokens", "items", "top_scores", "localised"):
        assert f'"{word}"' in prompt.CONTRACT


def test_nothing_that_policies_learned_from_outcomes_reaches_the_prompt() -> None:
    for role in ("exploit", "explore", "repair"):
        chat = replies(reply(BROKEN), reply(GOOD))
        propose(chat, role)
        said = [message.content for request in chat.requests for message in request.messages]
        assert len(said) == 4
        assert not any(CANARY in text for text in said)


@pytest.mark.parametrize(("role", "parent"), [("exploit", "03-explore"), ("explore", ""), ("repair", "12-exploit")])
def test_the_parent_is_the_directions_best_to_exploit_and_the_champion_to_repair(role: Role, parent: str) -> None:
    chat = replies(reply(GOOD))
    proposal = propose(chat, role)
    assert proposal.parent == parent
    if parent:
        assert f"# Parent policy: {parent}\n" in chat.prompts[0]
    assert f"# Your task: {role}\n" in chat.prompts[0]


def test_the_fixed_part_of_the_prompt_stands_first() -> None:
    texts = [prompt.render(role, direction, state(), 8, 2) for role in ("exploit", "repair") for direction in DIRECTIONS[:2]]
    assert all(text.startswith(prompt.CONTRACT) for text in texts)


def test_an_unusable_source_goes_back_to_the_model_once() -> None:
    chat = replies(reply(BROKEN), reply(GOOD, "corrected"))
    proposal = propose(chat)
    assert (proposal.source, proposal.note) == (GOOD, "corrected")
    first, again = chat.requests
    assert again.messages[0] == first.messages[0]
    assert again.messages[1].content == reply(BROKEN)
    assert again.messages[2].content.startswith("The source cannot be used: ")
    assert "syntax error in line " in again.messages[2].content


def test_a_source_that_stays_unusable_is_proposed_as_it_is() -> None:
    chat = replies(reply(BROKEN), reply(BROKEN, "again"))
    assert propose(chat).source == BROKEN
    assert len(chat.requests) == 2


def test_a_correction_that_is_no_policy_leaves_the_first_source() -> None:
    assert propose(replies(reply(BROKEN), "I am sorry.")).source == BROKEN


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("I cannot do that.", "neither JSON with a source nor a code block; it begins 'I cannot do that.'"),
        ("", "the reply is empty"),
        ("<think>hm", "the reply is empty"),
        ('{"idea": "x"}', "neither JSON"),
        (Completion("", "error", "429 after 5 tries"), "the model gave no reply (429 after 5 tries)"),
    ],
)
def test_a_reply_without_a_policy_becomes_a_candidate_that_fails_with_the_reason(
    said: Completion | str, reason: str
) -> None:
    proposal = propose(replies(said))
    assert reason in proposal.note
    with pytest.raises(PolicyError, match="no policy: "):
        check(proposal.source)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda s: f"Here it is:\n```json\n{reply(s)}\n```\nGood luck!",
        lambda s: f"```python\n{s}```",
        lambda s: f"Sure.\n```\n{s}\n```",
        lambda s: f"```python\n{s}",
        lambda s: f"<think>{{hm}}</think>Policy: {reply(s)} done",
        lambda s: reply(f"```python\n{s}```"),
        lambda s: reply(s.replace("\n", "\\n")),
        lambda s: reply(s).replace("\\n", "\n"),
    ],
    ids=[
        "json-fence",
        "python-fence",
        "bare-fence",
        "open-fence",
        "thinking",
        "fence-in-json",
        "escaped-twice",
        "raw-breaks",
    ],
)
def test_a_policy_is_salvaged_from_a_sloppy_reply(wrap: Callable[[str], str]) -> None:
    chat = replies(wrap(GOOD))
    assert propose(chat).source.strip() == GOOD.strip()
    assert len(chat.requests) == 1


def test_the_last_block_that_defines_a_policy_is_taken() -> None:
    text = f"Before:\n```python\n{PARENT}```\nAfter:\n```python\n{GOOD}```\nTry:\n```python\nprint(1)\n```"
    assert prompt.parse(text).source.strip() == GOOD.strip()


def test_a_small_window_shows_fewer_sources() -> None:
    config = LLMProposerConfig()
    texts = [prompt.render("exploit", DIRECTION, state(), config.rows, n) for n in (0, 1, 2)]
    assert [text.count("```python") for text in texts] == [0, 1, 2]
    for text in texts:
        window = count_tokens([text])[0] + config.max_tokens + config.reserve_tokens
        chat = ScriptedChat(lambda _: reply(GOOD), context_window=window)
        propose(chat)
        assert chat.prompts == [text]


def test_an_overflow_is_asked_again_with_fewer_sources() -> None:
    chat = replies(Completion("", "overflow"), reply(GOOD))
    assert propose(chat).source == GOOD
    shown = [text.count("```python") for text in chat.prompts]
    assert shown == [2, 1]


def test_a_seed_is_drawn_for_every_proposal() -> None:
    chat = ScriptedChat(lambda _: reply(GOOD))
    proposer, rng = LLMProposer(chat), random.Random(0)
    for _ in range(2):
        proposer.propose("explore", DIRECTION, state(), rng)
    propose(chat, "explore")
    seeds = [request.seed for request in chat.requests]
    assert seeds[0] != seeds[1]
    assert seeds[0] == seeds[2]
    assert all(request.schema == prompt.SCHEMA for request in chat.requests)


def test_usage_counts_the_correction_too() -> None:
    said = [
        Completion(reply(s), prompt_tokens=900, cached_tokens=600, completion_tokens=100, seconds=2) for s in (BROKEN, GOOD)
    ]
    proposer = LLMProposer(replies(*said))
    proposer.propose("exploit", DIRECTION, state(), random.Random(0))
    usage = proposer.usage
    assert (usage.calls, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (2, 1_800, 1_200, 200)
    assert usage.seconds == 4


def test_without_priors_no_direction_is_named() -> None:
    chat = replies(reply(GOOD))
    proposal = LLMProposer(chat).propose("explore", GENERIC, state(), random.Random(0))
    assert proposal.direction == GENERIC.name
    assert "Direction: " not in chat.prompts[0]


def test_another_role_is_an_error() -> None:
    with pytest.raises(ValueError, match="not 'seed'"):
        LLMProposer(replies()).propose("seed", DIRECTION, state(), random.Random(0))


def test_the_name_follows_the_prompt() -> None:
    assert LLMProposer(replies()).name == f"scripted:test#propose-{prompt.digest()}"
