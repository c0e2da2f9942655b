"""Report pages as artifacts: written once per content, shown in Prefect, and told apart by what stands on them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from models.report.learning import LearningPage
from models.report.learning_page import render
from models.report.training import TrainingPage
from models.report.training_page import render_training
from storage.artifacts import ArtifactKey, Home, digest
from storage.structures import STRUCTURES
from tasks.sweep import Sweep

VERSION = 1
HTML, MARKDOWN = "report.html", "report.md"
_VERSIONED = ("strata", "prefect", "mlflow", "duckdb", "lancedb", "pyarrow")


def origin() -> dict[str, Any]:
    """How to get the numbers of a page again, as fields of `models.report.data.PageData`."""
    return {
        "command": shlex.join(["strata", *sys.argv[1:]]),
        "versions": {name: metadata.version(name) for name in _VERSIONED},
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def sweep_facts(sweep: Sweep, letters: tuple[str, ...], cost: float) -> dict[str, Any]:
    """What every page about the outcomes of a sweep says, as fields of `models.report.learning.LearningPage`."""
    return {
        "dataset": sweep.dataset,
        "metric": sweep.metric,
        "answerer": sweep.settings.answerer if sweep.needs_answers else "",
        "judge": sweep.judge,
        "cost": cost,
        "structures": {letter: STRUCTURES[letter].name for letter in letters},
    }


def page_paths(home: Home, key: ArtifactKey | str) -> dict[str, str]:
    """Where a page lies, as fields of a summary. `ArtifactError` when it is gone."""
    folder = home.require(key)
    return {"report": f"{folder}/{HTML}", "markdown": f"{folder}/{MARKDOWN}"}


def write_page(home: Home, key: ArtifactKey, texts: Mapping[str, str], **manifest: Any) -> None:
    """Write the files of a page; `manifest` is kept beside them."""
    with home.write(key) as draft:
        for name, text in texts.items():
            (draft.folder / name).write_text(text, encoding="utf-8")
        draft.manifest.update(manifest)


def show_page(dataset: str, stage: str, markdown: str) -> None:
    """Show a page with the flow run that made it; nothing outside a flow."""
    from prefect.artifacts import create_markdown_artifact
    from prefect.context import FlowRunContext

    if FlowRunContext.get() is not None:
        create_markdown_artifact(markdown, key=f"strata-{dataset}-{stage}", description=f"{stage.capitalize()} of {dataset}")


def page_key(page: LearningPage | TrainingPage) -> ArtifactKey:
    """The artifact of a page: what stands on it, without where and when it was made."""
    said = replace(page, command="", versions={}, created_at="")
    return ArtifactKey("reports", page.dataset, VERSION, type(page).__name__, (digest(said),))


def publish(
    home: Home, stage: str, page: LearningPage | TrainingPage, log: Callable[[Mapping[str, str]], str]
) -> dict[str, str]:
    """Render a page, log it, write it and show it, unless the same page is there; its run and paths for the summary.

    `log` gets the page's files by name and returns the id of the MLflow run that keeps them.
    """
    key = page_key(page)
    if not home.has(key):
        made = replace(page, **origin())
        rendered = render_training(made) if isinstance(made, TrainingPage) else render(made)
        texts = {HTML: rendered.html, MARKDOWN: rendered.markdown}
        write_page(home, key, texts, run_id=log(texts))
        show_page(page.dataset, stage, rendered.markdown)
    manifest = home.manifest(key) or {}
    return {"run_id": manifest["run_id"], "page": str(key), **page_paths(home, key)}
