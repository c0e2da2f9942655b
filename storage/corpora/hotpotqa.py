"""HotpotQA, distractor setting: questions over ten Wikipedia paragraphs, two of which hold the answer (Yang et al., 2018).

    [{"_id": "5a8b57f25542995d1e6f1371", "question": "Were Scott Derrickson and Ed Wood of the same nationality?",
      "answer": "yes", "type": "comparison", "level": "hard", "supporting_facts": [["Scott Derrickson", 0], ["Ed Wood", 0]],
      "context": [["Ed Wood (film)", ["Ed Wood is a 1994 American ...", " The film concerns ..."]], ...]}, ...]

Every question is an episode of its own and every paragraph a step, a passage: action `passage: <title>`, the title also as
speaker and ref, the text as observation. Passages have no time, and their order means nothing.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from storage.corpora.base import ReadReport
from storage.corpora.download import fetch
from storage.corpora.jsonl import RecordError, as_text, read_episodes, unread
from storage.records import Episode, Question, Step

URL = "http://curtis.ml.cmu.edu/datasets/hotpot/hotpot_dev_distractor_v1.json"
SHA256 = "4e9ecb5c8d3b719f624d66b60f8d56bf227f03914f5f0753d6fa1b359d7104ea"
"""The official development set, 7,405 questions, 46,320,117 bytes. The hash is the one that ParlAI and others pin."""

TYPES = ("bridge", "comparison")
"""The question types; they are the capabilities."""

_FIELDS = {"_id", "question", "answer", "type", "supporting_facts", "context"}


class Passage(NamedTuple):
    """One paragraph of the context."""

    title: str
    text: str


@dataclass(frozen=True)
class HotpotQA:
    """Reader of HotpotQA's official JSON in the distractor layout.

    `cache` is the folder for the pinned download; empty means a folder in the system's place for temporary files.
    Warnings: `unresolved_evidence_refs` (supporting titles that the context lacks), `questions_without_evidence`,
    `non_string_answers`.
    """

    cache: str = ""

    @property
    def name(self) -> str:
        """The data set's name."""
        return "hotpotqa"

    def read(self, source: str | None, report: ReadReport) -> Iterator[Episode]:
        """Yield the questions of a file (JSON or JSON Lines), of a folder's `hotpot*.json*`, or of the download (None).

        A question is left out as a bad record when it has no id, text, answer or passages, an unknown type, or a context or
        supporting facts of another layout. Raises `CorpusError` when nothing can be read.
        """
        path = self._download() if source is None else source
        return read_episodes(path, report, self._episode, ("hotpot*.json", "hotpot*.jsonl"))

    def _download(self) -> str:
        folder = Path(self.cache) if self.cache else Path(tempfile.gettempdir()) / "strata-downloads"
        return str(fetch(URL, SHA256, folder))

    def _episode(self, value: dict[str, Any], warnings: Counter[str]) -> Episode:
        episode_id = value.get("_id")
        if not isinstance(episode_id, str) or not episode_id:
            raise RecordError(f"_id is {episode_id!r}; it must be a text such as '5a8b57f25542995d1e6f1371'")
        passages = _passages(f"question {episode_id}: context", value.get("context"))
        return Episode(
            dataset=self.name,
            episode_id=episode_id,
            task=f"A collection of {len(passages)} encyclopedia passages.",
            task_type="hotpotqa",
            domain="encyclopedia",
            steps=tuple(_step(i, passage) for i, passage in enumerate(passages)),
            questions=(_question(f"question {episode_id}", value, passages, warnings),),
            extra={},
        )


def _passages(where: str, context: object) -> list[Passage]:
    if not isinstance(context, list) or not context:
        raise RecordError(f"{where} must be a list of [title, sentences] and hold at least one")
    return [_passage(f"{where}[{i}]", item) for i, item in enumerate(context)]


def _passage(where: str, item: object) -> Passage:
    match item:
        case [str(title), [*sentences]]:
            texts = [sentence for sentence in sentences if isinstance(sentence, str)]
            if len(texts) == len(sentences):
                return Passage(title.strip(), _joined(texts))
    raise RecordError(f"{where} must be [title, list of sentences]")


def _joined(sentences: Sequence[str]) -> str:
    """The paragraph. Official sentences bring their own space in front, other copies none: never two, never none."""
    text = ""
    for sentence in sentences:
        apart = text and sentence and not (text[-1].isspace() or sentence[0].isspace())
        text += f" {sentence}" if apart else sentence
    return text.strip()


def _step(label: int, passage: Passage) -> Step:
    return Step(
        step=label,
        action=f"passage: {passage.title}",
        observation=passage.text,
        speaker=passage.title or None,
        ref=passage.title or None,
    )


def _question(where: str, value: dict[str, Any], passages: Sequence[Passage], warnings: Counter[str]) -> Question:
    text, answer, kind = value.get("question"), value.get("answer"), value.get("type")
    if not isinstance(text, str) or not text.strip():
        raise RecordError(f"{where} has no question text")
    if answer is None:
        raise RecordError(f"{where} has no answer; the test set is published without: use the train or development set")
    if kind not in TYPES:
        raise RecordError(f"{where} has the unknown type {kind!r}; known are {' and '.join(TYPES)}")
    cited = _cited(f"{where}: supporting_facts", value.get("supporting_facts"))
    steps = [step for title in cited for step, passage in enumerate(passages) if passage.title == title]
    known = {passage.title for passage in passages}
    unresolved = tuple(title for title in cited if title not in known)
    warnings["unresolved_evidence_refs"] += len(unresolved)
    warnings["questions_without_evidence"] += not cited
    return Question(
        index=0,
        question=text,
        answer=as_text(answer, warnings, "non_string_answers"),
        capability=kind,
        evidence_refs=tuple(title for title in cited if title in known),
        evidence_steps=tuple(steps),
        unresolved_refs=unresolved,
        extra=unread(value, _FIELDS) | {"supporting_facts": value.get("supporting_facts") or []},
    )


def _cited(where: str, facts: object) -> tuple[str, ...]:
    """The titles of the supporting facts, each once, in order. The sentence numbers stay in the question's `extra`."""
    if facts is None:
        return ()
    if not isinstance(facts, list):
        raise RecordError(f"{where} must be a list of [title, sentence number]")
    titles: dict[str, None] = {}
    for i, fact in enumerate(facts):
        match fact:
            case [str(title), int(_)]:
                titles[title.strip()] = None
            case _:
                raise RecordError(f"{where}[{i}] must be [title, sentence number]")
    return tuple(titles)
