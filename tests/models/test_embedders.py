"""Encoders: unit vectors, equal to the bare library's, whatever the length, the order and the repeats of the texts."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from models.embedders import PREFIX, MiniLM, SentenceTransformerEmbedder, _batches, _head, embedder

TEXTS = [
    "Step 3:\nAction: look\nObservation: ",
    "I went to a support group yesterday.",
    "a",
    "🙂 naïve café",
    "小明昨天买了一只猫。",
    "مرحبا بالعالم",
    "word " * 5_000,
    "one sentence with a number 42 and a path /srv/app/config.yaml. " * 300,
    "x" * 20_000,
    "x" * 3_000 + " tail after a long word " * 20,
    " " * 6_000 + "text after much white space " * 300,
    "\n".join(f"{i}, {i * i}" for i in range(4_000)),
]


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    encoder = embedder("minilm")
    assert isinstance(encoder, MiniLM)
    return encoder


@pytest.fixture(scope="module")
def reference(minilm: MiniLM) -> np.ndarray:
    """The whole texts through the bare library, one by one."""
    return np.stack([minilm._encoder.encode(text, show_progress_bar=False) for text in TEXTS])


def test_vectors_are_those_of_the_uncut_texts(minilm: MiniLM, reference: np.ndarray) -> None:
    vectors = minilm.embed_documents(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), minilm.dimension) == (12, 384)
    np.testing.assert_allclose(vectors, reference, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_long_texts_are_cut_before_the_tokenizer_and_keep_their_tokens(minilm: MiniLM) -> None:
    heads, lengths = minilm._prepare(TEXTS)
    tokenize = minilm._encoder.tokenizer
    for text, head, length in zip(TEXTS, heads, lengths, strict=True):
        whole = tokenize(text, truncation=True, max_length=256)["input_ids"]
        assert tokenize(head, truncation=True, max_length=256)["input_ids"] == whole
        assert length == len(whole)
    assert len(heads[6]) < len(TEXTS[6]) / 10
    assert heads[8] == TEXTS[8]


def test_order_and_repeats_of_the_texts_do_not_matter(minilm: MiniLM) -> None:
    first = minilm.embed_documents([TEXTS[1], TEXTS[4], TEXTS[1]])
    second = minilm.embed_documents([TEXTS[4], TEXTS[1]])
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_allclose(first[:2], second[::-1], atol=1e-6)


def test_questions_are_near_what_answers_them(minilm: MiniLM) -> None:
    documents = minilm.embed_documents(["Caroline adopted a puppy called Pixie.", "The SQL query failed with error 42."])
    questions = minilm.embed_queries(["Which dog does Caroline have?", "What went wrong in the database?"])
    assert (questions @ documents.T).argmax(axis=1).tolist() == [0, 1]


def test_an_empty_document_is_refused_and_a_blank_question_is_near_nothing(minilm: MiniLM) -> None:
    with pytest.raises(ValueError, match="text 1 of 2 is empty"):
        minilm.embed_documents(["a", " \n"])
    assert not minilm.embed_queries(["", "  "]).any()
    assert minilm.embed_queries(["", "what?"])[1].any()


def test_no_texts_give_no_rows(minilm: MiniLM) -> None:
    assert minilm.embed_documents([]).shape == minilm.embed_queries([]).shape == (0, 384)


def test_the_same_encoder_is_loaded_once_and_serves_many_threads(minilm: MiniLM) -> None:
    assert embedder("minilm") is minilm
    found: dict[int, np.ndarray] = {}

    def work(i: int) -> None:
        found[i] = minilm.embed_documents([f"thread {i}", TEXTS[1]])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        np.testing.assert_allclose(found[i], minilm.embed_documents([f"thread {i}", TEXTS[1]]), atol=1e-6)


class Recorder:
    """Stands in for a sentence-transformers model: keeps what it is asked to encode."""

    max_seq_length = 512
    device = type("Device", (), {"type": "cpu"})

    def __init__(self) -> None:
        self.texts: list[str] = []

    def get_embedding_dimension(self) -> int:
        return 2

    def encode(self, texts: Sequence[str], **options: Any) -> np.ndarray:
        self.texts.extend(texts)
        return np.tile(np.array([1, 0], dtype=np.float32), (len(texts), 1))


def test_the_instruction_stands_before_questions_only_and_repeats_are_encoded_once() -> None:
    encoder, model = SentenceTransformerEmbedder("org/model", query_instruction="Query: "), Recorder()
    encoder.__dict__["_encoder"] = model
    encoder.embed_documents(["a step", "a step"])
    encoder.embed_queries(["who?"])
    assert model.texts == ["a step", "Query: who?"]
    assert encoder.name == f"{PREFIX}org/model"


def test_an_instructed_model_gets_its_instruction_by_name() -> None:
    qwen, plain = embedder(f"{PREFIX}Qwen/Qwen3-Embedding-4B"), embedder(f"{PREFIX}BAAI/bge-m3")
    assert isinstance(qwen, SentenceTransformerEmbedder)
    assert isinstance(plain, SentenceTransformerEmbedder)
    assert qwen.query_instruction.endswith("Query: ")
    assert plain.query_instruction == ""


@pytest.mark.parametrize("name", ["", "mini", PREFIX])
def test_an_unknown_encoder_lists_the_choices(name: str) -> None:
    with pytest.raises(ValueError, match="choose minilm, sentence-transformers:"):
        embedder(name)


def test_batches_hold_every_text_once_within_the_budget() -> None:
    lengths = [5, 900, 30, 30, 7, 256, 256, 3_000]
    batches = list(_batches(lengths, 512))
    assert sorted(i for batch in batches for i in batch) == list(range(8))
    assert all(len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= 512 for batch in batches)


def test_a_head_ends_between_words() -> None:
    assert _head("alpha beta gamma", 12) == "alpha beta"
    assert _head("alpha beta", 100) == "alpha beta"
    assert _head("unbroken" * 10, 12) == "unbroken" * 10
