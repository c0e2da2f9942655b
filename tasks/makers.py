"""Who makes each derived table: the settings choose between rules and a language model."""

from __future__ import annotations

from storage.structures.event_graph import EventGraphStructure
from storage.structures.vector import VectorStructure
from tasks.derivations import Derivation, DigestDerivation, EmbeddingsDerivation, EventsDerivation, RuleTriplesDerivation
from tasks.model_derivations import EdgeScoresByModel, EventsByModel, SummaryByModel, TriplesByModel
from tasks.settings import Settings, SettingsError

BY_MODEL = ("summary", "triples", "events", "edge_scores")
"""The derived tables that a language model can make."""


def derivations(settings: Settings) -> tuple[Derivation, ...]:
    """Every derivation that structures may ask for. `SettingsError` for tables by a model without a `builder`."""
    vector = settings.structure("V")
    assert isinstance(vector, VectorStructure)
    asked = by_model(settings)
    made: list[Derivation] = [
        asked.get("summary", DigestDerivation(settings.digest)),
        asked.get("triples", RuleTriplesDerivation(settings.triples)),
        EmbeddingsDerivation(vector, settings.embedder),
        asked.get("events", EventsDerivation(settings.events, settings.embedder)),
    ]
    return (*made, *(asked[name] for name in ("edge_scores",) if name in asked))


def by_model(settings: Settings) -> dict[str, Derivation]:
    """The derivations that ask the builder, by name."""
    if not settings.builder:
        return {}
    if unknown := [name for name in settings.built_by_model if name not in BY_MODEL]:
        raise SettingsError(f"built_by_model: {unknown[0]!r} is unknown; known are {', '.join(BY_MODEL)}")
    graph = settings.structure("H")
    assert isinstance(graph, EventGraphStructure)
    spec = settings.builder
    makers: dict[str, Derivation] = {
        "summary": SummaryByModel(spec, settings.model_summary),
        "triples": TriplesByModel(spec, settings.model_triples),
        "events": EventsByModel(spec, settings.model_events, settings.embedder),
        "edge_scores": EdgeScoresByModel(spec, settings.model_edges, graph),
    }
    return {name: makers[name] for name in settings.built_by_model}
