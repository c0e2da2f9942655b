"""The corpora are registered under the names they give their episodes."""

from __future__ import annotations

from storage.corpora import CORPORA


def test_every_corpus_is_registered_under_its_own_name() -> None:
    assert {name: corpus.name for name, corpus in CORPORA.items()} == {name: name for name in CORPORA}
    assert {"ama-bench", "locomo"} <= CORPORA.keys()
