from __future__ import annotations

import pytest

from models.metrics import METRICS, metric_name


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_scores_a_right_answer_1_and_an_unrelated_one_0(name: str) -> None:
    assert METRICS[name]("a red box", "red box", "recall") == 1.0
    assert METRICS[name]("nothing of the kind", "red box", "recall") == 0.0


def test_f1_means_the_f1_of_the_data_sets_authors() -> None:
    assert metric_name("f1", "locomo") == "locomo_f1"
    assert metric_name("f1", "ama_bench") == "ama_f1"
    assert metric_name("exact_match", "locomo") == "exact_match"


def test_an_unknown_metric_is_named_with_the_choices() -> None:
    with pytest.raises(ValueError, match="'bleu': choose f1, ama_f1, exact_match, locomo_f1"):
        metric_name("bleu", "locomo")
