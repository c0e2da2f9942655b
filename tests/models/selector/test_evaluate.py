from __future__ import annotations

import json
import math

import numpy as np
import pytest

from models.selector.contract import Case, Evaluation, OutcomeTable
from models.selector.evaluate import evaluate, examples, fit_and_select
from models.selector.sandbox import Selection, encode_cases, encode_examples

NAN = float("nan")
SUBSETS = ("S", "T", "S+T")


def table(scores: list[list[float]], tokens: list[list[float]], name: str = "toy") -> OutcomeTable:
    cases = tuple(
        Case(
            f"{name}/episode-{i}/{i}",
            f"{name} question {i}",
            {
                "task": f"{name} task",
                "task_type": "tidying",
                "domain": "rooms",
                "capability": "recall",
                "n_steps": 10 + i,
                "structures": ["S", "T"],
                "previews": {
                    "S": {"n_tokens": 7, "items": 1, "top_scores": [0.5], "steps": [1], "localised": True, "head": "S"}
                },
            },
        )
        for i in range(len(scores))
    )
    return OutcomeTable(cases, SUBSETS, np.array(scores), np.array(tokens))


TOKENS = [[100.0, 10.0, 110.0], [200.0, 20.0, 220.0], [300.0, 30.0, 330.0]]
TABLE = table([[1.0, 0.0, 1.0], [0.0, 0.5, 1.0], [NAN, 1.0, 0.0]], TOKENS)


def choose(*subsets: str) -> list[Selection]:
    return [Selection(subset) for subset in subsets]


def test_a_policy_is_worth_its_score_minus_what_it_reads() -> None:
    found = evaluate(choose("S", "T", "S+T"), TABLE, 1e-3)
    assert found == Evaluation(
        score=0.5, tokens=150.0, objective=pytest.approx(0.35), n_structures=pytest.approx(4 / 3), n=3, invalid=0, errors=0
    )


def test_an_outcome_that_is_an_error_is_in_no_mean() -> None:
    found = evaluate(choose("S", "S+T", "S"), TABLE, 0.0)
    assert (found.score, found.tokens, found.n_structures, found.n, found.errors) == (1.0, 160.0, 1.5, 2, 1)


def test_only_errors_give_no_number() -> None:
    found = evaluate(choose("S"), table([[NAN, 0.0, 0.0]], TOKENS[:1]), 1e-6)
    assert (found.n, found.errors) == (0, 1)
    assert math.isnan(found.score)
    assert math.isnan(found.objective)


def test_invalid_questions_are_counted_and_read_everything() -> None:
    found = evaluate([Selection("S+T", False, "KeyError"), *choose("T", "T")], TABLE, 0.0)
    assert (found.invalid, found.n) == (1, 3)
    assert found.tokens == (110 + 20 + 30) / 3


def test_a_subset_without_outcomes_is_named() -> None:
    with pytest.raises(ValueError, match="no outcomes of subset G: sweep it, or choose from S, T, S\\+T"):
        evaluate(choose("S", "G", "T"), TABLE, 0.0)


def test_every_question_needs_a_selection() -> None:
    with pytest.raises(ValueError, match="1 selections for 3 questions"):
        evaluate(choose("S"), TABLE, 0.0)


def test_an_example_has_exactly_what_the_contract_names() -> None:
    last = examples(TABLE)[2]
    assert set(last) == {"question", "context", "scores", "tokens"}
    assert last["context"] == TABLE.cases[2].context
    assert last["scores"] == {"T": 1.0, "S+T": 0.0}
    assert last["tokens"] == {"S": 300.0, "T": 30.0, "S+T": 330.0}


def test_examples_cross_the_border_as_json() -> None:
    assert json.loads(encode_examples(examples(TABLE))) == examples(TABLE)


SMUGGLER = """
def fit(examples):
    return examples

def select(question, context, params):
    seen = {"question": question, "context": context, "params": params}
    if "question 1" in question:
        raise ValueError(",".join(sorted(seen)) + " " + ",".join(sorted(context)) + " " + ",".join(context["previews"]["S"]))
    return ["S" if "validation" not in str(params) else "T"]
"""
TRAIN = table([[0.125, 0.25, 0.5]] * 3, [[11.0, 22.0, 33.0]] * 3, "train")
VALIDATION = table([[0.0625, 0.03125, 0.015625]] * 3, [[44.0, 55.0, 66.0]] * 3, "validation")


def test_fitting_sees_nothing_of_validation() -> None:
    params, selections = fit_and_select(SMUGGLER, TRAIN, VALIDATION)
    assert params == examples(TRAIN)
    for secret in ("validation", "episode-", "question_id", "0.0625", "0.03125", "0.015625", "44.0", "55.0", "66.0"):
        assert secret not in json.dumps(params)
    assert selections[0] == Selection("S")


def test_choosing_sees_the_question_and_the_contexts_keys_only() -> None:
    _, selections = fit_and_select(SMUGGLER, TRAIN, VALIDATION)
    assert selections[1].reason == (
        "ValueError: context,params,question "
        "capability,domain,n_steps,previews,structures,task,task_type "
        "n_tokens,items,top_scores,steps,localised,head"
    )


def test_no_id_or_outcome_is_in_what_choosing_gets() -> None:
    sent = encode_cases(VALIDATION.cases)
    assert [json.loads(text) for text in sent] == [[case.question, case.context] for case in VALIDATION.cases]
    for secret in ("validation/", "episode-", "0.0625", "0.03125", "0.015625", "44.0", "55.0", "66.0"):
        assert secret not in "".join(sent)


def test_what_is_chosen_does_not_depend_on_the_outcomes_of_validation() -> None:
    source = "def fit(e): return max(e[0]['scores'].values())\ndef select(q, c, p): return ['S'] if p > 0.3 else ['T']\n"
    other = OutcomeTable(VALIDATION.cases, SUBSETS, 1 - VALIDATION.scores, VALIDATION.tokens * 3)
    assert fit_and_select(source, TRAIN, VALIDATION) == fit_and_select(source, TRAIN, other) == (0.5, choose("S", "S", "S"))
