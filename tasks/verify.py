"""`strata status --verify` and `--repair`: what is wrong with a home, and making it right; nothing paid for is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any
from uuid import uuid4

from storage.artifacts import Home
from storage.home_lock import alone
from storage.lineage import CORPUS, Lineage, Stored, artifact_folders, stored
from storage.shards import Dataset, Shard, datasets, load_dataset, write_head, writer_lock
from storage.structures.vector import VectorStructure
from storage.verify import (
    Problem,
    artifact_problems,
    database_problems,
    draft_problems,
    head_problems,
    is_record,
    segment_problems,
)
from tasks.forget import unfinished
from tasks.inventory import refresh_catalog
from tasks.plan import vectors_uri
from tasks.rewrite import VECTORS, built_vectors, encoder_of
from tasks.settings import Settings

ASIDE = "set-aside"
"""Where a repair puts what it does not remove: `set-aside/<id>/<path>`."""


def verify(home: Home) -> list[Problem]:
    """Everything that is wrong with a home. It reads every file once and changes nothing."""
    return [
        *artifact_problems(home),
        *head_problems(home),
        *segment_problems(home),
        *vector_problems(home),
        *database_problems(home),
        *draft_problems(home),
        *_unfinished(home),
    ]


def vector_problems(home: Home) -> Iterator[Problem]:
    """Tables of LanceDB that cannot be read, or that do not hold the rows of the builds that they should."""
    do = "`strata status --repair` makes it again from the builds"
    builds: dict[str, list[Stored]] = {}
    for build in Lineage(home).under(VECTORS):
        builds.setdefault(encoder_of(build), []).append(build)
    for encoder, found in sorted(builds.items()):
        structure = VectorStructure(encoder=encoder)
        expected = {"/".join(build.path.split("/")[-2:]): build.manifest["rows"] for build in found}
        try:
            rows = structure.rows_by_build(vectors_uri(home))
        except (RuntimeError, OSError, ValueError) as error:
            yield Problem(f"vectors/{encoder}", f"LanceDB cannot read it: {str(error).splitlines()[0]}", do, "vectors")
            continue
        wrong = [name for name, n in rows.items() if expected.get(name, n) != n]
        promised = structure.committed(home.fs, vectors_uri(home)) - rows.keys()
        if wrong or promised:
            what = f"it does not hold the rows of {len(wrong) + len(promised)} builds, such as {[*wrong, *promised][0]}"
            yield Problem(f"vectors/{encoder}", what, do, "vectors")


def _unfinished(home: Home) -> Iterator[Problem]:
    for entry in unfinished(home):
        words = ["--all"] if entry["episodes"] is None else entry["episodes"]
        command = f"strata forget {' '.join(words)} --dataset {entry['dataset']}"
        yield Problem("forgetting", f"forgetting of {entry['dataset']} was stopped half way", f"run `{command}` again")


def repair(home: Home, settings: Settings) -> dict[str, Any]:
    """Make a home right; return what was wrong and what is left for a person to do.

    Damaged artifacts go, so that the next build makes them again; the journals keep what they cost. Shards, segments and
    other files that nothing can make again are set aside under `set-aside/`.
    """
    with alone(home):
        found = verify(home)
        aside = uuid4().hex[:8]
        for problem in found:
            _repair(home, problem, aside, settings)
        left = verify(home)
    return {"problems": [asdict(p) for p in found], "left": [asdict(p) for p in left], "set_aside": _aside(home, aside)}


def _aside(home: Home, name: str) -> str | None:
    folder = home.path(ASIDE, name)
    return folder if home.fs.exists(folder) else None


def _repair(home: Home, problem: Problem, aside: str, settings: Settings) -> None:
    path = home.path(problem.path)
    if problem.repair == "artifact":
        home.discard(problem.path)
    elif problem.repair == "shard":
        _leave_out(home, problem.path)
        _set_aside(home, problem.path, aside)
    elif problem.repair == "head":
        _set_aside(home, problem.path, aside)
        _write_head(home, problem.path.split("/")[1])
    elif problem.repair == "segment":
        lines = home.fs.cat_file(path).split(b"\n")
        _set_aside(home, problem.path, aside)
        home.replace_file(path, b"".join(line + b"\n" for line in lines if is_record(line)))
    elif problem.repair == "vectors":
        encoder = problem.path.split("/", 1)[1]
        builds = [b for b in Lineage(home).under(VECTORS) if encoder_of(b) == encoder and home.has(b.path)]
        with writer_lock(home, "vectors"):
            VectorStructure(encoder=encoder).recommit(vectors_uri(home), [built_vectors(home, b) for b in builds])
    elif problem.repair == "catalog":
        refresh_catalog(home, settings)
    elif problem.repair == "draft":
        home.fs.rm(path, recursive=True)
    elif problem.repair == "file":
        _set_aside(home, problem.path, aside)


def _set_aside(home: Home, path: str, aside: str) -> None:
    if home.fs.exists(home.path(path)):
        target = home.path(ASIDE, aside, path)
        home.fs.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
        home.fs.mv(home.path(path), target, recursive=True)


def _leave_out(home: Home, key: str) -> None:
    """Take a shard out of its data set's head."""
    for name in datasets(home):
        with writer_lock(home, f"corpus-{name}"):
            shards = load_dataset(home, name).shards
            if any(shard.key == key for shard in shards):
                write_head(home, Dataset(name, tuple(shard for shard in shards if shard.key != key)))


def _write_head(home: Home, dataset: str) -> None:
    """A head from the shards that are there, in the order in which they were written."""
    found = [s for s in stored(home, (CORPUS,)) if s.path.startswith(f"{CORPUS}/{dataset}/") and home.has(s.path)]
    found.sort(key=lambda shard: (shard.manifest["created_at"], shard.path))
    shards = tuple(Shard(s.path, dict(entry.rsplit(":", 1) for entry in s.inputs)) for s in found)
    with writer_lock(home, f"corpus-{dataset}"):
        write_head(home, Dataset(dataset, shards))


def verified(home: Home) -> dict[str, Any]:
    """What `strata status --verify` prints."""
    return {"home": home.url, "artifacts": len(artifact_folders(home)), "problems": [asdict(p) for p in verify(home)]}
