"""Trained routers in the home: which one walks structure H for a data set, and with which fold's weights.

`corpora/<dataset>/router.json` names the training in use. A training keeps one set of weights per fold. An episode that was
in it is walked with the weights of the fold that tested it, which never saw it; any other with those of the best fold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models.embedders import embedder
from storage.artifacts import ArtifactError, Home
from tasks.settings import Settings

if TYPE_CHECKING:
    from models.router.learned import LearnedRouter

CHAMPION, NONE = "champion", "none"
FOLDS_FILE = "folds.json"


def fold_file(number: int) -> str:
    """The file of a fold's weights inside the artifact of a router."""
    return f"fold-{number}.safetensors"


def champion_path(home: Home, dataset: str) -> str:
    """The small file that names the router in use."""
    return home.path("corpora", dataset, "router.json")


def router_in_use(home: Home, dataset: str, settings: Settings) -> str:
    """The artifact of the router that walks H, or "" for fixed rules. `ArtifactError` when a named one is missing.

    A champion that was trained with another encoder than the settings' is not in use: its weights belong to other vectors.
    """
    if settings.router == NONE:
        return ""
    if settings.router == CHAMPION:
        champion = home.read_json(champion_path(home, dataset))
        fits = champion is not None and champion["embedder"] == embedder(settings.embedder).name
        return str(champion["router"]) if champion is not None and fits else ""
    home.require(settings.router)
    return settings.router


@dataclass(frozen=True)
class Routers:
    """The weights of a training by fold. `tested` maps an episode to the fold that tested it."""

    folds: tuple[LearnedRouter, ...]
    tested: Mapping[str, int]
    best: int

    def of(self, episode_id: str) -> LearnedRouter:
        """The router for an episode, never one that was trained or chosen on it."""
        return self.folds[self.tested.get(episode_id, self.best)]


def load_routers(home: Home, key: str) -> Routers:
    """Read a training's weights. `ArtifactError` when it is not in the home or not whole."""
    from models.router.learned import LearnedRouter
    from models.router.weights import load_weights

    folder = home.require(key)
    try:
        summary = json.loads(home.fs.cat_file(f"{folder}/{FOLDS_FILE}"))
        files = [home.fs.cat_file(f"{folder}/{fold_file(number)}") for number in range(len(summary["folds"]))]
        routers = tuple(LearnedRouter(load_weights(data)) for data in files)
    except (OSError, ValueError, KeyError) as error:
        raise ArtifactError(f"router {key} cannot be read: {error}; train it again with `strata train-router`") from error
    tested = {episode: number for number, fold in enumerate(summary["folds"]) for episode in fold["test"]}
    return Routers(routers, tested, summary["best"])
