"""A short search with a real, small language model as the proposer (`STRATA_TEST_GGUF`, marker `llm`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.llm.backends import chat
from models.selector.contract import OutcomeTable
from models.selector.llm_proposer import LLMProposer, LLMProposerConfig
from models.selector.planted import PlantedConfig, planted
from models.selector.search import SearchConfig, search
from models.splits import episode_of


def few_questions(episodes: range) -> OutcomeTable:
    table = planted(np.random.default_rng(0), 12, PlantedConfig(questions=6))
    return table.part([case.question_id for case in table.cases if int(episode_of(case.question_id)) in episodes])


@pytest.mark.llm
def test_three_iterations_give_a_valid_policy_that_is_no_copy_of_its_parent(
    gguf: Path, record_property: pytest.RecordProperty
) -> None:
    proposer = LLMProposer(chat(f"llamacpp:{gguf}?window=8192"), LLMProposerConfig(max_tokens=1_024))
    result = search(few_questions(range(6)), few_questions(range(6, 12)), proposer, SearchConfig(iterations=3, cost=1e-5))
    for candidate in result.candidates:
        print(candidate.id, candidate.arm, candidate.status, candidate.reason[:120], candidate.evaluation)
    print(proposer.usage)
    record_property("usage", str(proposer.usage))
    sources = {entry.id: entry.proposal.source for entry in result.archive}
    new = [entry for entry in result.archive[1:] if sources.get(entry.proposal.parent) != entry.proposal.source]
    assert new, [f"{candidate.id}: {candidate.reason}" for candidate in result.candidates]
