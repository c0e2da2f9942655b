"""What a user can set: each part's own frozen dataclass, composed, from a YAML file or a flow's parameters.

    structures: {R: {max_windows: 2}, V: {top_k: 10}}
    embedder: minilm
    answerer: openai:Qwen/Qwen3-32B@http://127.0.0.1:8000/v1
    answer: {compose: {context_window: 32768}}

Secrets are never settings; they come from the environment.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from models.answer import AnswerConfig
from models.compose import ComposeConfig
from models.embedders import embedder
from models.extract.digest import DigestConfig
from models.extract.events import EventsConfig
from models.extract.llm_edges import EdgesConfig
from models.extract.llm_events import LlmEventsConfig
from models.extract.llm_intent import IntentConfig
from models.extract.llm_summary import SummaryConfig
from models.extract.llm_triples import TriplesConfig
from models.extract.rule_triples import RuleTriplesConfig
from models.extractive import ExtractiveConfig
from models.judge import JudgeConfig
from models.step_search import SearchConfig
from models.sufficiency import SufficiencyConfig
from storage.corpora import CORPORA
from storage.corpora.base import Corpus
from storage.sanitize import SanitizeConfig
from storage.shards import ShardConfig
from storage.structures import STRUCTURES
from storage.structures.base import Structure
from tasks.prices import Price
from tasks.selector_config import SelectorConfig

T = TypeVar("T")


class SettingsError(ValueError):
    """A setting that does not exist or has a wrong value. The message names the file and the setting."""


@dataclass(frozen=True)
class Settings:
    """Every part's settings. `corpora` and `structures` hold changed fields by name, the others whole dataclasses.

    `builder` is the language model that makes the derived tables named in `built_by_model`, `intents` the one that reads
    what a question asks to follow (H), `checker` the one that judges whether T's steps are enough; "" leaves it to rules.
    `selector` holds the defaults of `strata search` and `strata ablate selector`.
    `router` walks structure H: `champion` (fixed rules while there is none), `none`, or the artifact of a training.
    """

    corpora: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sanitize: SanitizeConfig = field(default_factory=SanitizeConfig)
    shards: ShardConfig = field(default_factory=ShardConfig)
    structures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    digest: DigestConfig = field(default_factory=DigestConfig)
    triples: RuleTriplesConfig = field(default_factory=RuleTriplesConfig)
    events: EventsConfig = field(default_factory=EventsConfig)
    router: str = "champion"
    builder: str = ""
    built_by_model: tuple[str, ...] = ("summary", "triples")
    model_summary: SummaryConfig = field(default_factory=SummaryConfig)
    model_triples: TriplesConfig = field(default_factory=TriplesConfig)
    model_events: LlmEventsConfig = field(default_factory=LlmEventsConfig)
    model_edges: EdgesConfig = field(default_factory=EdgesConfig)
    intents: str = ""
    model_intents: IntentConfig = field(default_factory=IntentConfig)
    checker: str = ""
    sufficiency: SufficiencyConfig = field(default_factory=SufficiencyConfig)
    step_search: SearchConfig = field(default_factory=SearchConfig)
    embedder: str = "minilm"
    answerer: str = "extractive"
    answer: AnswerConfig = field(default_factory=AnswerConfig)
    extractive: ExtractiveConfig = field(default_factory=ExtractiveConfig)
    judge: str = ""
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    selector: SelectorConfig = field(default_factory=SelectorConfig)
    prices: Mapping[str, Price] = field(default_factory=dict)

    @property
    def compose(self) -> ComposeConfig:
        """How evidence becomes a prompt; part of `answer`."""
        return self.answer.compose

    def corpus(self, name: str) -> Corpus:
        """The reader of a data set with this user's settings. `SettingsError` for an unknown name."""
        return _configured(CORPORA, "corpora", name, self.corpora.get(name, {}))

    def structure(self, letter: str) -> Structure:
        """A structure with this user's settings. `SettingsError` for an unknown letter."""
        changes = self.structures.get(letter, {})
        if letter == "V":  # vectors of different encoders lie in different tables
            changes = {"encoder": embedder(self.embedder).name, **changes}
        return _configured(STRUCTURES, "structures", letter, changes)


def _configured(registry: Mapping[str, T], section: str, name: str, changes: Mapping[str, Any]) -> T:
    if name not in registry:
        raise SettingsError(f"{section}: {name!r} is unknown; known are {', '.join(registry)}")
    base = registry[name]
    if not changes:
        return base
    assert dataclasses.is_dataclass(base), f"{section}.{name} is no dataclass"
    fields = {f.name: getattr(base, f.name) for f in dataclasses.fields(base)}
    _reject_unknown(type(base), changes, f"{section}.{name}")
    try:
        return TypeAdapter(type(base)).validate_python({**fields, **changes})
    except ValidationError as error:
        raise SettingsError(_explain(error, f"{section}.{name}")) from error


def load_settings(path: str | None) -> Settings:
    """Settings from a YAML file, or the defaults. `SettingsError` names the file and the setting that is wrong."""
    if path is None:
        return Settings()
    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from error
    except yaml.YAMLError as error:
        raise SettingsError(f"{path}: not valid YAML: {error}") from error
    if values is None:
        return Settings()
    if not isinstance(values, dict):
        raise SettingsError(f"{path}: expected settings as `name: value` lines, found {type(values).__name__}")
    return check_settings(values, path)


def check_settings(values: Mapping[str, Any], origin: str) -> Settings:
    """Settings from plain values. `SettingsError` names `origin` and the setting that is wrong."""
    _reject_unknown(Settings, values, origin)
    try:
        settings = TypeAdapter(Settings).validate_python(dict(values))
    except ValidationError as error:
        raise SettingsError(_explain(error, origin)) from error
    for name in settings.corpora:
        settings.corpus(name)
    for letter in settings.structures:
        settings.structure(letter)
    return settings


def _reject_unknown(kind: type, values: Mapping[str, Any], origin: str) -> None:
    """Pydantic ignores unknown keys of a standard dataclass; a misspelt setting must not pass unseen."""
    types = typing.get_type_hints(kind)
    known = [f.name for f in dataclasses.fields(kind)]
    for name, value in values.items():
        if name not in known:
            raise SettingsError(f"{origin}: unknown setting {name!r}; known are {', '.join(known)}")
        if dataclasses.is_dataclass(types[name]) and isinstance(value, Mapping):
            _reject_unknown(types[name], value, f"{origin}.{name}")


def _explain(error: ValidationError, origin: str) -> str:
    first = error.errors()[0]
    return f"{'.'.join([origin, *map(str, first['loc'])])}: {first['msg']}, got {first['input']!r}"
