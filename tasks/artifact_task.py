"""Stages as Prefect tasks whose result is an artifact.

A stage is a plain function that fills a draft. `artifact_task` makes a Prefect task of it whose cache key is the artifact's
key, so that Prefect and the home agree on what is done; a cached state whose artifact is gone or damaged is not trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Generic, ParamSpec

from prefect import Task, task
from prefect.context import TaskRunContext
from prefect.futures import PrefectFuture

from storage.artifacts import ArtifactKey, Draft, Home
from storage.home_lock import shared

P = ParamSpec("P")


class ArtifactTask(Generic[P]):
    """A stage as a Prefect task. Call `submit(home, key, ...)`; the future's result is the key's path."""

    def __init__(self, stage: Callable[Concatenate[Home, Draft, P], None]):
        self.stage = stage
        self.task: Task[..., str] = task(
            name=stage.__name__,
            cache_key_fn=_cache_key,
            persist_result=True,
            result_serializer="json",  # Prefect's default is pickle, which runs what a tampered file says
            log_prints=False,
        )(self._run)

    def _run(self, home_url: str, key: ArtifactKey, *args: P.args, **kwargs: P.kwargs) -> str:
        home = Home(home_url)
        with shared(home):
            if not home.has(key):
                with home.write(key) as draft:
                    self.stage(home, draft, *args, **kwargs)
        return str(key)

    def submit(
        self, home: Home, key: ArtifactKey, wait_for: Sequence[PrefectFuture[Any]], *args: P.args, **kwargs: P.kwargs
    ) -> PrefectFuture[str]:
        """Submit the stage; Prefect answers from its cache only while the artifact is whole."""
        chosen = self.task.with_options(refresh_cache=not home.has(key))
        return chosen.submit(home.url, key, *args, wait_for=list(wait_for), **kwargs)


def artifact_task(stage: Callable[Concatenate[Home, Draft, P], None]) -> ArtifactTask[P]:
    """Decorate a stage function `(home, draft, ...) -> None`."""
    return ArtifactTask(stage)


def _cache_key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    # The home is part of the key: one Prefect server may serve several homes.
    return f"strata/{parameters['home_url']}/{parameters['key']}"
