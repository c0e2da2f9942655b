"""Column types of every table. A table's schema is part of the contract between stages (see the README's table list)."""

from __future__ import annotations

import pyarrow as pa

_STRINGS = pa.list_(pa.string())
_INTS = pa.list_(pa.int64())

EPISODES = pa.schema(
    [
        ("dataset", pa.string()),
        ("episode_id", pa.string()),
        ("task", pa.string()),
        ("task_type", pa.string()),
        ("domain", pa.string()),
        ("n_steps", pa.int64()),
        ("n_tokens", pa.int64()),
        ("content_hash", pa.string()),
        ("shard", pa.string()),
        ("extra", pa.string()),  # unknown source fields as JSON; may hold outcomes (`success`): never read by a policy
    ]
)

STEPS = pa.schema(
    [
        ("dataset", pa.string()),
        ("episode_id", pa.string()),
        ("step", pa.int64()),
        ("position", pa.int64()),
        ("action", pa.string()),
        ("observation", pa.string()),
        ("speaker", pa.string()),
        ("session", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("ref", pa.string()),
        ("n_tokens", pa.int64()),
        ("extra", pa.string()),
    ]
)

QUESTIONS = pa.schema(
    [
        ("question_id", pa.string()),
        ("dataset", pa.string()),
        ("episode_id", pa.string()),
        ("question", pa.string()),
        ("answer", pa.string()),
        ("capability", pa.string()),
        ("evidence_refs", _STRINGS),
        ("evidence_steps", _INTS),
        ("unresolved_refs", _STRINGS),
        ("extra", pa.string()),
    ]
)

SUMMARIES = pa.schema(
    [
        ("episode_id", pa.string()),
        ("segment", pa.int64()),
        ("first_step", pa.int64()),
        ("last_step", pa.int64()),
        ("text", pa.string()),
    ]
)

TRIPLES = pa.schema(
    [
        ("episode_id", pa.string()),
        ("step", pa.int64()),
        ("head", pa.string()),
        ("relation", pa.string()),
        ("tail", pa.string()),
    ]
)

EVIDENCE = pa.schema(
    [
        ("question_id", pa.string()),
        ("structure", pa.string()),
        ("text", pa.string()),
        ("n_tokens", pa.int64()),
        ("steps", _INTS),
        ("scores", pa.list_(pa.float64())),
        ("truncated", pa.bool_()),
        ("access_tokens", pa.int64()),
        ("ms", pa.float64()),
        ("block_starts", _INTS),  # character offsets in `text` where a block may be cut
        ("localised", pa.bool_()),  # False: the access found nothing that matches the question (it may show a fallback)
    ]
)

ANSWERS = pa.schema(
    [
        ("question_id", pa.string()),
        ("subset", pa.string()),
        ("n_structures", pa.int64()),
        ("evidence_tokens", pa.int64()),
        ("prompt_tokens", pa.int64()),
        ("cached_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
        ("answer", pa.string()),
        ("status", pa.string()),  # ok, error
        ("error", pa.string()),
        ("truncated", _STRINGS),  # sections that were cut to fit the window
        ("answerer", pa.string()),
        ("ms", pa.float64()),
    ]
)

OUTCOMES = pa.schema(
    [
        ("question_id", pa.string()),
        ("subset", pa.string()),
        ("n_structures", pa.int64()),
        ("evidence_tokens", pa.int64()),
        ("prompt_tokens", pa.int64()),
        ("cached_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
        ("answer", pa.string()),
        ("score", pa.float64()),
        ("metric", pa.string()),
        ("status", pa.string()),
        ("answerer", pa.string()),
        ("judge", pa.string()),
        ("ms", pa.float64()),
    ]
)


def embeddings(dimension: int) -> pa.Schema:
    """Schema of the embeddings table of one encoder: L2-normalised float32 vectors of `dimension` numbers."""
    return pa.schema([("episode_id", pa.string()), ("step", pa.int64()), ("vector", pa.list_(pa.float32(), dimension))])
