"""Finished outputs on disk: the artifact rule.

A task's output is the folder `<home>/<kind>/<name>/v<version>-<config digest>/<input digest>/`. It is written beside its
place in the home's scratch folder and published in one move, `manifest.json` last, so a manifest's existence means that the
folder is complete. An artifact is never changed after that.

    home = Home("/data/strata")
    key = ArtifactKey("structures", "R", version=1, config=config, inputs=(shard,))
    if not home.has(key):
        with home.write(key) as draft:
            rows = build(draft.folder)
            draft.manifest.update(rows=rows)
    folder = home.folder(key)

The home is any fsspec URL. Drafts are always local files: on a local home publishing is a rename, elsewhere an upload that
ends with the manifest.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import fsspec

MANIFEST = "manifest.json"
_DIGEST_LENGTH = 16


def canonical_json(value: Any) -> str:
    """One spelling per value: sorted keys, no spaces, dataclasses as objects, tuples as lists."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} cannot be part of an artifact's key")


def digest(value: Any) -> str:
    """16 hex digits of the SHA-256 of `canonical_json(value)`."""
    return hashlib.sha256(canonical_json(value).encode("utf-8")).hexdigest()[:_DIGEST_LENGTH]


@dataclass(frozen=True)
class ArtifactKey:
    """What an output depends on. Equal keys mean equal outputs; the same string is Prefect's cache key.

    `config` is any JSON-like value or dataclass with the settings that change the output; `inputs` are the keys or content
    digests of what is read.
    """

    kind: str
    name: str
    version: int
    config: Any = None
    inputs: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return f"{self.kind}/{self.name}/v{self.version}-{digest(self.config)}/{digest(self.inputs)}"

    def __str__(self) -> str:
        return self.path


@dataclass
class Draft:
    """An artifact while it is written: a local folder, and what the manifest will say besides the key."""

    folder: Path
    manifest: dict[str, Any] = field(default_factory=dict)


class ArtifactError(RuntimeError):
    """A finished artifact that is missing or damaged. The message names its folder and says how to rebuild it."""


class Home:
    """The root of everything Strata writes. `url` is a folder or any fsspec URL."""

    def __init__(self, url: str | os.PathLike[str]):
        self.fs, root = fsspec.core.url_to_fs(os.fspath(url))
        self.root = root.rstrip("/")
        self.is_local = "file" in (self.fs.protocol if isinstance(self.fs.protocol, tuple) else (self.fs.protocol,))
        self.url = self.root if self.is_local else self.fs.unstrip_protocol(self.root)

    def path(self, *parts: str) -> str:
        """A path inside the home for `self.fs`. ValueError when a part would leave the home."""
        for part in parts:
            if part.startswith("/") or ".." in part.split("/"):
                raise ValueError(f"{part!r} would leave the home {self.url}")
        return "/".join((self.root, *parts))

    def local(self, *parts: str) -> Path:
        """A local folder for scratch data and local services; created. For a remote home it lies in the temp folder."""
        root = self.root if self.is_local else os.path.join(tempfile.gettempdir(), f"strata-{digest(self.url)}")
        folder = Path(root, *parts)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def folder(self, key: ArtifactKey | str) -> str:
        """Where a key's artifact is or will be, as a path for `self.fs`."""
        return self.path(str(key))

    def manifest(self, key: ArtifactKey | str) -> dict[str, Any] | None:
        """The manifest of a finished artifact whose files are all there in full size, else None."""
        folder = self.folder(key)
        try:
            manifest = json.loads(self.fs.cat_file(f"{folder}/{MANIFEST}"))
            sizes = {name: file["bytes"] for name, file in manifest["files"].items()}
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return None  # a damaged manifest is no manifest: the artifact is built again
        for name, size in sizes.items():
            try:
                if self.fs.size(f"{folder}/{name}") != size:
                    return None
            except FileNotFoundError:
                return None
        return dict(manifest)

    def has(self, key: ArtifactKey | str) -> bool:
        return self.manifest(key) is not None

    def require(self, key: ArtifactKey | str) -> str:
        """The folder of a finished artifact; `ArtifactError` when it is not there."""
        if not self.has(key):
            raise ArtifactError(f"{self.folder(key)} is missing or damaged: run the stage that writes it again")
        return self.folder(key)

    def discard(self, key: ArtifactKey | str) -> None:
        """Remove an artifact, its manifest first, so that no reader takes a half-removed one for whole."""
        folder = self.folder(key)
        if self.fs.exists(folder):
            if self.fs.exists(f"{folder}/{MANIFEST}"):
                self.fs.rm_file(f"{folder}/{MANIFEST}")
            self.fs.rm(folder, recursive=True)

    @contextmanager
    def write(self, key: ArtifactKey) -> Iterator[Draft]:
        """Write an artifact. An exception discards the draft; a finished artifact of the same key is left as it is."""
        started = time.perf_counter()
        draft = Draft(self.local("scratch", f"{_draft_prefix()}{os.getpid()}-{uuid.uuid4().hex}"))
        try:
            yield draft
            manifest = {
                "kind": key.kind,
                "name": key.name,
                "version": key.version,
                "config": json.loads(canonical_json(key.config)),
                "inputs": list(key.inputs),
                "strata": metadata.version("strata"),
                "files": _files(draft.folder),
                "seconds": round(time.perf_counter() - started, 3),
                "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
                **draft.manifest,
            }
            (draft.folder / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False))
            self._publish(draft.folder, key)
        finally:
            shutil.rmtree(draft.folder, ignore_errors=True)

    def _publish(self, draft: Path, key: ArtifactKey) -> None:
        target = self.folder(key)
        if not self.is_local:
            for file in sorted(p for p in draft.rglob("*") if p.is_file() and p.name != MANIFEST):
                self.fs.put_file(str(file), f"{target}/{file.relative_to(draft).as_posix()}")
            self.fs.put_file(str(draft / MANIFEST), f"{target}/{MANIFEST}")
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.exists(target) and not self.has(key):
            shutil.rmtree(target)  # half-written by a crash outside this class, or damaged
        try:
            os.rename(draft, target)
        except OSError:
            if not self.has(key):  # otherwise another process published the same artifact first
                raise

    def refresh_files(self, key: str) -> None:
        """Let a manifest say what its files are now. Only for forgetting, which takes rows out and keeps the key."""
        manifest_path = self.path(key, MANIFEST)
        manifest = json.loads(self.fs.cat_file(manifest_path))
        files = {name: _file(self.fs.cat_file(self.path(key, name))) for name in manifest["files"]}
        if files != manifest["files"]:
            self.replace_json(manifest_path, {**manifest, "files": files})

    def dead_drafts(self) -> list[str]:
        """What killed processes of this machine were writing in the scratch folder, as paths inside a local home."""
        scratch = self.local("scratch")
        found = sorted(folder for folder in scratch.glob(f"{_draft_prefix()}*") if not _is_alive(_writer_of(folder.name)))
        return [f"scratch/{folder.name}" for folder in found]

    def sweep_drafts(self) -> int:
        """Remove the drafts that killed processes of this machine left behind; return how many."""
        left = self.dead_drafts()
        for path in left:
            shutil.rmtree(self.local("scratch") / path.split("/")[-1], ignore_errors=True)
        return len(left)

    def replace_json(self, path: str, value: Mapping[str, Any]) -> None:
        """Write a small mutable file of the home in one atomic step."""
        self.replace_file(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).encode("utf-8"))

    def replace_file(self, path: str, data: bytes) -> None:
        """The same with bytes. A failure leaves the old file as it was."""
        if not self.is_local:
            self.fs.pipe_file(path, data)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".draft-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(draft, path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise

    def read_json(self, path: str) -> Any | None:
        """The value of a small mutable file, or None when there is none. `ArtifactError` when it is damaged."""
        try:
            return json.loads(self.fs.cat_file(path))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise ArtifactError(f"{path} is damaged: {error}") from error


def _draft_prefix() -> str:
    """Names the machine: process ids of another one sharing the home say nothing here."""
    return f"draft-{digest(platform.node())}-"


def _writer_of(draft: str) -> int:
    """The process id in a draft's name."""
    return int(draft.removeprefix(_draft_prefix()).split("-")[0])


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _files(folder: Path) -> dict[str, dict[str, Any]]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _file(path.read_bytes()) for path in found}


def _file(data: bytes) -> dict[str, Any]:
    """What a manifest says of a file."""
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
