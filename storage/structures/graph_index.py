"""The relations of one episode with the inverted indexes that make scoring them for a question fast."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from storage.structures.lexical import content_tokens, tokens

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Relation:
    """(head, relation, tail) stated at a step, or None where the step is not known."""

    step: int | None
    head: str
    relation: str
    tail: str


class GraphWeights(Protocol):
    """The numbers of `GraphStructure` that scoring reads."""

    @property
    def lexical_weight(self) -> float: ...
    @property
    def entity_weight(self) -> float: ...
    @property
    def proximity(self) -> float: ...
    @property
    def seed_window(self) -> int: ...
    @property
    def hop_weight(self) -> float: ...
    @property
    def link_share(self) -> float: ...


def _entity(text: str) -> list[str]:
    """The words that identify an entity: its content words, or all its words where it has no others (`up`)."""
    return content_tokens(text) or tokens(text)


class RelationGraph:
    """Relations as edges between entities. An entity is a head or tail, equal up to case and punctuation."""

    def __init__(self, relations: Sequence[Relation], hub_share: float, min_hub: int):
        self.relations = tuple(relations)
        self._ends: list[tuple[str, str]] = []
        self._by_token: dict[str, list[int]] = {}
        self._by_entity: dict[str, list[int]] = {}
        entity_words, words = cache(_entity), cache(content_tokens)  # heads and relations repeat within an episode
        for i, relation in enumerate(self.relations):
            head, tail = entity_words(relation.head), entity_words(relation.tail)
            ends = (" ".join(head), " ".join(tail))
            self._ends.append(ends)
            for token in dict.fromkeys((*head, *words(relation.relation), *tail)):
                self._by_token.setdefault(token, []).append(i)
            for entity in dict.fromkeys(ends):
                if entity:
                    self._by_entity.setdefault(entity, []).append(i)
        self._entities_by_token: dict[str, list[str]] = {}
        for entity in self._by_entity:
            for token in dict.fromkeys(entity.split()):
                self._entities_by_token.setdefault(token, []).append(entity)
        self._steps = np.array([math.nan if r.step is None else r.step for r in self.relations], dtype=np.float64)
        hub = max(min_hub, int(hub_share * len(self.relations)))
        self._hubs = {entity for entity, at in self._by_entity.items() if len(at) > hub}
        self._idfs: dict[str, float] = {}
        self._entity_idfs: dict[str, float] = {}

    def idf(self, token: str) -> float:
        """Rarity of a token among the relations (BM25's form, always positive); 0 for a token that none carries."""
        if token not in self._by_token:
            return 0.0
        if token not in self._idfs:
            n = len(self._by_token[token])
            self._idfs[token] = math.log(1 + (len(self.relations) - n + 0.5) / (n + 0.5))
        return self._idfs[token]

    def _entity_idf(self, entity: str) -> float:
        """The rarity of an entity's distinct words, summed in their order: a set's order differs between processes."""
        if entity not in self._entity_idfs:
            self._entity_idfs[entity] = sum(self.idf(token) for token in dict.fromkeys(entity.split()))
        return self._entity_idfs[entity]

    def scores(self, question: str, named_steps: Sequence[int], weights: GraphWeights) -> Scores:
        """One score per relation; 0 for a relation that the question does not reach.

        Reached are relations that share a word or an entity with the question, those within `seed_window` steps of a step
        that it names, and those one or two hops from an entity that it mentions.
        """
        words = {token: idf for token in dict.fromkeys(content_tokens(question)) if (idf := self.idf(token))}
        linked = self._link(words, weights.link_share)
        matched = weights.lexical_weight * self._lexical(words) + weights.entity_weight * self._overlap(linked)
        near = self._nearness(named_steps)
        hops = self._hops(linked)
        reached = (matched > 0) | (near >= 1 / (1 + weights.seed_window)) | (hops > 0)
        scores: Scores = np.where(reached, matched + weights.proximity * near + weights.hop_weight * hops, 0.0)
        return scores

    def best(self, scores: Scores, count: int) -> list[int]:
        """The `count` relations with the highest positive scores, ties in reading order."""
        order = np.argsort(-scores, kind="stable")[:count]
        return [int(i) for i in order if scores[i] > 0]

    def neighbours(self, relation: int, scores: Scores, count: int, exclude: Collection[int]) -> list[int]:
        """The best relations that share an entity with `relation`: by score, then by distance in steps.

        A hub connects only what happened at the same step.
        """
        step = self.relations[relation].step
        found: set[int] = set()
        for entity in self._ends[relation]:
            at = self._by_entity.get(entity, [])
            found.update(at if entity not in self._hubs else [i for i in at if self.relations[i].step == step])
        found.difference_update(exclude)
        return sorted(found, key=lambda i: (-scores[i], self._distance(i, step), i))[:count]

    def _distance(self, index: int, step: int | None) -> float:
        other = self.relations[index].step
        return math.inf if step is None or other is None else abs(other - step)

    def _link(self, words: Mapping[str, float], link_share: float) -> dict[str, float]:
        """Entities that the question mentions: the share of their words that it has, times how rare they are."""
        mentioned: dict[str, float] = {}
        for token, idf in words.items():
            for entity in self._entities_by_token.get(token, ()):
                mentioned[entity] = mentioned.get(entity, 0.0) + idf
        linked = {}
        for entity, weight in mentioned.items():
            share = weight / self._entity_idf(entity)
            if share >= link_share:
                linked[entity] = share * math.log1p(len(self.relations) / len(self._by_entity[entity]))
        top = math.log1p(len(self.relations))
        return {entity: weight / top for entity, weight in linked.items()}

    def _lexical(self, words: Mapping[str, float]) -> Scores:
        """The share of the question's words, weighted by rarity, that a relation carries: in [0, 1]."""
        scores = np.zeros(len(self.relations))
        for token, idf in words.items():
            scores[self._by_token[token]] += idf
        return scores / (sum(words.values()) or 1.0)

    def _overlap(self, linked: Mapping[str, float]) -> Scores:
        """Half the links of a relation's two entities: in [0, 1]."""
        scores = np.zeros(len(self.relations))
        for entity, weight in linked.items():
            scores[self._by_entity[entity]] += weight / 2
        return scores

    def _nearness(self, named_steps: Sequence[int]) -> Scores:
        """1 / (1 + |l - r|) for anchor l and the nearest named step r; 0 where there is none."""
        if not named_steps or not self.relations:
            return np.zeros(len(self.relations))
        distance = np.abs(self._steps[:, None] - np.array(named_steps, dtype=np.float64)).min(axis=1)
        nearness: Scores = np.nan_to_num(1 / (1 + distance))
        return nearness

    def _hops(self, linked: Mapping[str, float]) -> Scores:
        """1 for relations of a linked entity, 0.5 for those of their other entities, else 0. Hubs are not walked through."""
        hops = np.zeros(len(self.relations))
        near = [entity for entity in linked if entity not in self._hubs]
        first = {i for entity in near for i in self._by_entity[entity]}
        others = {end for i in first for end in self._ends[i] if end and end not in linked and end not in self._hubs}
        hops[[i for end in others for i in self._by_entity[end]]] = 0.5
        hops[list(first)] = 1.0
        return hops
