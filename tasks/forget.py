"""Forgetting episodes: out of every table, structure, store, journal, run and page of a home, and the proof that they are.

    forget(home, "locomo", ("conv-26",), settings)      # one episode; None forgets the whole data set

Rows of other episodes move to new keys as they are, so nothing of theirs is derived or paid for again. A killed forgetting
goes on when the same command is called again: what it was about stands in `forgetting/`, by id and without content, until
the proof is made. Numbers stay: the ledger, metrics of runs, fitted and trained weights that belong to no single episode.
Outside the home, runs on an MLflow server of one's own are deleted; a Prefect server of one's own keeps what it was shown.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from models.router.weights import RouterWeights, dump_weights, load_weights
from storage.artifacts import MANIFEST, ArtifactError, Home, digest
from storage.home_lock import alone
from storage.lineage import CORPUS, Stored, artifact_folders, stored
from storage.redact import redact_journals, redact_json_file, redact_sqlite, redacted
from storage.remnants import Remnants, find_remnants, remnants_of
from storage.shards import TABLES, load_dataset
from tasks.inventory import refresh_catalog
from tasks.policies import CHAMPION, policy_path
from tasks.report import latest_path
from tasks.rewrite import Group, remove_old_shards, rewrite_shards
from tasks.routers import FOLDS_FILE
from tasks.settings import Settings
from tasks.tracking import delete_runs

PAGES = ("reports", "searches", "training")
"""Artifacts about a whole data set that are made again at need: removed when they hold a remnant."""

DATASET_FOLDERS = ("corpora", *PAGES, "routers", "policies")
"""What belongs to a data set alone beside its shards: `<folder>/<dataset>/`."""

INTENTS = "forgetting"


def forget(home: Home, dataset: str, episodes: Sequence[str] | None, settings: Settings) -> dict[str, Any]:
    """Forget episodes of a data set, superseded rows of theirs included, or all of it; return what went.

    `ArtifactError` names an episode that the home does not hold, and, after all, the files that still hold a remnant.
    """
    with alone(home):
        home.sweep_drafts()
        gone = _wanted(home, dataset, episodes)
        named = {"dataset": dataset, "episodes": None if episodes is None else sorted(gone)}
        intent = home.path(INTENTS, f"{digest(named)}.json")
        home.replace_json(intent, named)
        remnants = _remnants(home, dataset, gone)
        done = rewrite_shards(home, dataset, _groups(home, dataset, gone))
        records = redact_journals(home, dataset, gone, remnants)
        pages = _forget_pages(home, dataset, remnants)
        _forget_policies(home, dataset, remnants)
        _forget_in_routers(home, dataset, remnants)
        for path in home.fs.glob(home.path("corpora", dataset, "*.json")):
            redact_json_file(home, path, remnants)
        _forget_in_services(home, remnants)
        runs = delete_runs(dataset, remnants.in_texts)
        if episodes is None:
            _remove_dataset(home, dataset)
        refresh_catalog(home, settings)
        _prove(home, remnants, skip=(INTENTS, *_old_shards(home, dataset)))
        remove_old_shards(home, dataset)
        _prove(home, remnants, skip=(INTENTS,), folders=(CORPUS, "corpora"))
        home.fs.rm_file(intent)
    return {
        "dataset": dataset,
        "forgotten": sorted(gone),
        "shards_rewritten": done.shards,
        "artifacts_carried": done.carried,
        "artifacts_removed": done.removed,
        "journal_records": records,
        "pages": pages,
        "runs_elsewhere": runs,
        "searched_for": len(remnants.strings) + len(remnants.episodes),
        "remnants_left": 0,
    }


def unfinished(home: Home) -> list[dict[str, Any]]:
    """Forgettings that were killed: data set and episodes (None: all) of each."""
    found = (home.read_json(path) for path in sorted(home.fs.glob(home.path(INTENTS, "*.json"))))
    return [entry for entry in found if entry is not None]


def _wanted(home: Home, dataset: str, episodes: Sequence[str] | None) -> frozenset[str]:
    """The episodes to forget, each of which some shard still has, live or superseded."""
    known = {episode for shard in _shards(home, dataset) for episode in _episodes(shard)}
    known |= {episode for shard in load_dataset(home, dataset).shards for episode in shard.episodes}
    resumed = [entry for entry in unfinished(home) if entry["dataset"] == dataset]
    if episodes is None:
        if not known and not resumed:
            raise ArtifactError(f"{dataset} is not in {home.url}: there is nothing to forget")
        return frozenset(known)
    known |= {episode for entry in resumed for episode in entry["episodes"] or ()}
    if unknown := sorted(set(episodes) - known):
        raise ArtifactError(f"episode {unknown[0]!r} is not in {dataset} of {home.url}: there is nothing to forget")
    return frozenset(episodes)


def _shards(home: Home, dataset: str) -> list[Stored]:
    """Every shard of the data set on disk, those included that a killed rewrite left."""
    return [shard for shard in stored(home, (CORPUS,)) if shard.path.startswith(f"{CORPUS}/{dataset}/")]


def _episodes(shard: Stored) -> list[str]:
    return [entry.rsplit(":", 1)[0] for entry in shard.inputs]


def _old_shards(home: Home, dataset: str) -> list[str]:
    live = {shard.key for shard in load_dataset(home, dataset).shards}
    return [shard.path for shard in _shards(home, dataset) if shard.path not in live]


def _groups(home: Home, dataset: str, gone: frozenset[str]) -> list[Group]:
    """Each shard by itself, without the episodes."""
    return [
        Group(((shard, tuple(episode for episode in shard.episodes if episode not in gone)),))
        for shard in load_dataset(home, dataset).shards
    ]


def _remnants(home: Home, dataset: str, gone: frozenset[str]) -> Remnants:
    mine = [shard for shard in _shards(home, dataset) if gone.intersection(_episodes(shard))]
    rows = (table for shard in mine for table in _rows(home, shard, gone, keep=True))
    touched = {shard.path for shard in mine}
    others = (
        table
        for shard in stored(home, (CORPUS,))
        for table in _rows(home, shard, gone if shard.path in touched else frozenset(), keep=False)
    )
    return remnants_of(dataset, gone, rows, others)


def _rows(home: Home, shard: Stored, episodes: frozenset[str], keep: bool) -> Iterator[pa.Table]:
    """The rows of a shard that belong (or do not belong) to some episodes."""
    for name in TABLES:
        table = pq.read_table(f"{home.require(shard.path)}/{name}.parquet", filesystem=home.fs)
        chosen = pc.is_in(table.column("episode_id"), pa.array(sorted(episodes), pa.string()))
        yield table.filter(chosen if keep else pc.invert(chosen))


def _forget_pages(home: Home, dataset: str, remnants: Remnants) -> int:
    """Remove pages, searches and trainings that hold a remnant or stand for outcomes that are gone; return how many."""
    hits = {name for kind in PAGES for name in find_remnants(home, remnants, (f"{kind}/{dataset}",))}
    gone = 0
    for key in artifact_folders(home):
        if key.split("/")[:2] in [[kind, dataset] for kind in PAGES]:
            inputs = json.loads(home.fs.cat_file(home.path(key, MANIFEST))).get("inputs", ())
            lost = any(name.startswith("outcomes/") and not home.has(name) for name in inputs)
            if (key.startswith("reports/") and lost) or any(name.startswith(f"{key}/") for name in hits):
                home.discard(key)
                gone += 1
    for name in hits:  # summaries beside the artifacts
        if home.fs.exists(home.path(name)):
            home.fs.rm_file(home.path(name))
    latest = home.read_json(latest_path(home, dataset))
    if latest is not None and not home.has(latest["report"]):
        home.fs.rm_file(latest_path(home, dataset))
    shutil.rmtree(home.local("training-states"))  # of stopped trainings, which start over
    return gone


def _forget_policies(home: Home, dataset: str, remnants: Remnants) -> None:
    """Remove policies whose source or parameters hold a remnant, and the champion with the policy that it names."""
    for name in find_remnants(home, remnants, (f"policies/{dataset}",)):
        home.fs.rm_file(home.path(name))
    champion = policy_path(home, dataset, CHAMPION)
    pointer = home.read_json(champion)
    if pointer is not None and not home.fs.exists(policy_path(home, dataset, pointer["name"])):
        home.fs.rm_file(champion)


def _forget_in_routers(home: Home, dataset: str, remnants: Remnants) -> None:
    """Take the episodes out of trained routers: their learned edges and their names. The weights of all stay in use."""
    for manifest in home.fs.glob(home.path("routers", dataset, "*", "*", MANIFEST)):
        folder = manifest.rsplit("/", 1)[0]
        for path in home.fs.glob(f"{folder}/*.safetensors"):
            weights = load_weights(home.fs.cat_file(path))
            arrays = {name: a for name, a in weights.arrays.items() if name.removeprefix("edges/") not in remnants.episodes}
            header = {**weights.header, "graphs": redacted(weights.header["graphs"], remnants, bare=True)}
            if len(arrays) < len(weights.arrays) or header != weights.header:
                home.replace_file(path, dump_weights(RouterWeights(header, arrays)))
        redact_json_file(home, f"{folder}/{FOLDS_FILE}", remnants)
        home.refresh_files(folder[len(home.root) + 1 :])


def _forget_in_services(home: Home, remnants: Remnants) -> None:
    """Redact what Prefect and MLflow keep in the home; files of runs and results of tasks that hold a remnant go.

    Damaged artifacts that a repair set aside cannot be searched, so they go too.
    """
    if not home.is_local:
        return
    for name in ("prefect", "mlflow"):
        for path in sorted(home.local(name).rglob("*.db")):
            redact_sqlite(str(path), remnants)
    for name in find_remnants(home, remnants, ("prefect", "mlflow/artifacts")):
        if not name.endswith((".db", ".db-wal", ".db-shm")):
            Path(home.path(name)).unlink()
    shutil.rmtree(home.local("set-aside"))


def _remove_dataset(home: Home, dataset: str) -> None:
    """Remove what belongs to a data set alone, but for the shards, which the proof is made from."""
    for folder in DATASET_FOLDERS:
        if home.fs.exists(home.path(folder, dataset)):
            home.fs.rm(home.path(folder, dataset), recursive=True)


def _prove(home: Home, remnants: Remnants, skip: Sequence[str], folders: Sequence[str] = ("",)) -> None:
    """`ArtifactError` names the files in which something of the episodes is left."""
    if left := find_remnants(home, remnants, folders, skip):
        some = ", ".join(left[:5])
        raise ArtifactError(
            f"{len(left)} files of {home.url} still hold remnants of what was to be forgotten: {some}. End every other run "
            "on this home (a Prefect server keeps its database open), then call the same command again"
        )
