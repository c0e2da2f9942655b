"""Remnants of an episode: what would show that a home still holds something of it, and the search for them in every file.

A remnant is the episode's id where ids stand, or a run of words that the episode holds and no other episode of the home.
Files are read as what they are (Parquet and LanceDB as tables, SQLite by its rows, JSON and HTML decoded), since their bytes
are compressed or escaped, and as bytes beside that.
"""

from __future__ import annotations

import html
import json
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage.artifacts import Home
from storage.lineage import CORPUS, Lineage

MAX_STRINGS = 64
"""Runs of words that are looked for, drawn evenly over the episode."""

_RUN = re.compile(r"\w+(?: \w+){3,7}|\w{16,40}")
_MIN_CHARS = 18
SQLITE = b"SQLite format 3\x00"


@dataclass(frozen=True)
class Remnants:
    """What gives some episodes of a data set away. `strings` are runs of words of theirs and of no other episode.

    `bare` tells that ids stand for episodes of this data set without its name before them, as in its own files.
    """

    dataset: str
    episodes: frozenset[str]
    strings: tuple[str, ...]

    @cached_property
    def _named(self) -> frozenset[str]:
        return frozenset(f"{self.dataset}/{episode}" for episode in self.episodes)

    @cached_property
    def _pattern(self) -> str:
        """RE2 for text with an id among other words: alone where it is no ordinary word, else with its data set."""
        ids = [*self._named, *(episode for episode in self.episodes if _is_distinctive(episode))]
        words = [rf"(?:^|[^\w]){re.escape(i)}(?:$|[^\w])" for i in sorted(ids)]
        return "|".join([*words, *map(re.escape, self.strings)])

    def in_texts(self, texts: Iterable[str]) -> bool:
        """Whether any text holds a remnant."""
        return self._in_array(pa.array(list(texts), pa.large_string()))

    def which(self, texts: Iterable[str]) -> list[bool]:
        """Of each text, whether it holds a remnant."""
        array = pa.array(list(texts), pa.large_string())
        if not self._pattern:
            return [False] * len(array)
        found: list[bool] = pc.match_substring_regex(array, self._pattern, ignore_case=True).to_pylist()
        return found

    def in_value(self, text: str, bare: bool) -> bool:
        """The same for a string that is a value by itself and may be an id."""
        owner = _owner(text)
        return owner in self._named or (bare and owner in self.episodes) or self.in_texts([text])

    def in_json(self, value: Any, bare: bool) -> bool:
        """Whether a parsed JSON value holds a remnant."""
        texts = list(json_strings(value))
        owners = set(map(_owner, texts))
        return bool(owners & self._named or (bare and owners & self.episodes)) or self.in_texts(texts)

    def in_table(self, table: pa.Table, bare: bool) -> bool:
        """Whether a row belongs to an episode or any text in it holds a remnant."""
        for name in table.column_names:
            for texts in _strings(table.column(name)):
                if bare and name == "episode_id" and pc.any(pc.is_in(texts, pa.array(sorted(self.episodes)))).as_py():
                    return True
                if self._in_array(texts):
                    return True
        return False

    def _in_array(self, texts: pa.Array) -> bool:
        if not self._pattern or not len(texts):
            return False
        return bool(pc.any(pc.match_substring_regex(texts, self._pattern, ignore_case=True)).as_py())


def _is_distinctive(episode: str) -> bool:
    """Whether an id by itself is no ordinary word or number."""
    return len(episode) >= 6 and not episode.isdecimal() and not episode.isalpha()


def _owner(text: str) -> str:
    """The episode in `episode:hash` (a shard's inputs), `edges/episode` (a router's weights) or `dataset/episode/index`."""
    head = text.removeprefix("edges/")
    return head.rsplit(":", 1)[0] if ":" in head else head.rsplit("/", 1)[0] if head.count("/") > 1 else head


def remnants_of(dataset: str, episodes: Collection[str], own: Iterable[pa.Table], others: Iterable[pa.Table]) -> Remnants:
    """The remnants of some episodes, from their rows (`own`) and the rows of all other episodes of the home (`others`)."""
    found = dict.fromkeys(run for table in own for text in _texts(table) for run in _runs(text))
    wanted = list(found)[:: max(1, len(found) // (4 * MAX_STRINGS))]
    for table in others:
        wanted = _not_in(wanted, table)
    chosen = wanted[:: max(1, len(wanted) // MAX_STRINGS)][:MAX_STRINGS]
    return Remnants(dataset, frozenset(episodes), tuple(chosen))


def _runs(text: str) -> list[str]:
    return [run for run in _RUN.findall(text) if len(run) >= _MIN_CHARS]


def _not_in(strings: Sequence[str], table: pa.Table) -> list[str]:
    """Those of `strings` that no text of the table holds."""
    kept = list(strings)
    for name in table.column_names:
        for texts in _strings(table.column(name)):
            if kept and pc.any(pc.match_substring_regex(texts, "|".join(map(re.escape, kept)), ignore_case=True)).as_py():
                kept = [s for s in kept if not pc.any(pc.match_substring(texts, s, ignore_case=True)).as_py()]
    return kept


def _texts(table: pa.Table) -> Iterator[str]:
    for name in table.column_names:
        for texts in _strings(table.column(name)):
            yield from (text for text in texts.to_pylist() if text)


def _strings(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """The strings of a column, those inside lists and structs too."""
    for chunk in column.chunks:
        yield from _string_arrays(chunk)


def _string_arrays(array: pa.Array) -> Iterator[pa.Array]:
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield array
    elif pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _string_arrays(array.flatten())
    elif pa.types.is_struct(kind):
        for child in array.flatten():
            yield from _string_arrays(child)


def json_strings(value: Any) -> Iterator[str]:
    """Every string of a JSON value, keys included, those inside strings that are JSON themselves too."""
    if isinstance(value, str):
        yield value
        if value[:1] in "{[":
            try:
                yield from json_strings(json.loads(value))
            except ValueError:
                return
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from json_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from json_strings(inner)


def find_remnants(home: Home, remnants: Remnants, folders: Sequence[str] = ("",), skip: Collection[str] = ()) -> list[str]:
    """The files of a home (or of some of its folders) that hold a remnant, relative to the home, sorted.

    What lies under a path in `skip` is not read. LanceDB's tables are read as such, every version of them.
    """
    home.fs.invalidate_cache()
    own = _made_from(home, remnants.dataset)
    found = set()
    for folder in folders:
        for path in home.fs.find(home.path(folder) if folder else home.root):
            name = path[len(home.root) + 1 :]
            if not any(name == s or name.startswith(f"{s}/") for s in skip):
                bare = remnants.dataset in name.split("/")[:-1] or name.rsplit("/", 1)[0] in own
                found |= {name} if _file_has(home, path, name, remnants, bare) else set()
        if folder in ("", "vectors"):
            found |= set(_lance_hits(home, remnants, own))
    return sorted(found)


def _made_from(home: Home, dataset: str) -> frozenset[str]:
    """The artifacts with rows of a data set."""
    lineage, prefix = Lineage(home), f"{CORPUS}/{dataset}/"
    return frozenset(a.path for shard in lineage.shards() if shard.startswith(prefix) for a in lineage.of_shard(shard))


def _file_has(home: Home, path: str, name: str, remnants: Remnants, bare: bool) -> bool:
    if remnants.in_texts([name, unquote(name)]):
        return True
    if name.endswith(".parquet"):
        with home.fs.open(path, "rb") as source, pq.ParquetFile(source) as file:
            return any(remnants.in_table(file.read_row_group(i), bare) for i in range(file.num_row_groups))
    data: bytes = home.fs.cat_file(path)
    if data.startswith(SQLITE) and remnants.in_texts(sqlite_texts(path)):
        return True
    if name.endswith(".safetensors"):
        length = int.from_bytes(data[:8], "little")
        return remnants.in_json(_parsed(data[8 : 8 + length]), bare)
    if name.endswith((".json", ".jsonl")) and remnants.in_json(_parsed(data), bare):
        return True
    return remnants.in_texts(_decoded(data))


def _parsed(data: bytes) -> list[Any]:
    """The JSON values of a file, whole or line by line; what does not parse is searched as text anyway."""
    try:
        return [json.loads(data)]
    except ValueError:
        found = []
    for line in data.split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _decoded(data: bytes) -> list[str]:
    """A file's bytes as text, as they are and without the escapes of HTML; NUL bytes part the strings of a binary file."""
    text = data.decode("utf-8", errors="replace").replace("\x00", "\n")
    return [text, html.unescape(text)] if "&" in text else [text]


def sqlite_texts(path: str) -> Iterator[str]:
    """Every text of a SQLite database, row by row: in its pages a long one is cut."""
    with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                texts = (v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in row)
                yield from (unescaped(text) for text in texts if isinstance(text, str))


def unescaped(text: str) -> str:
    """A text that is JSON without JSON's escapes of letters; any other as it is."""
    if text[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text


def _lance_hits(home: Home, remnants: Remnants, own: Collection[str]) -> Iterator[str]:
    """LanceDB's tables, where any version of them holds a remnant."""
    folder = Path(home.root, "vectors")
    if not home.is_local or not folder.is_dir():
        return
    import lancedb

    builds = pa.array(sorted("/".join(path.split("/")[-2:]) for path in own), pa.string())
    database = lancedb.connect(str(folder))
    for path in sorted(folder.glob("*.lance")):
        table = database.open_table(path.stem)
        for version in table.list_versions():
            table.checkout(version["version"])
            rows = table.search().select(["shard", "episode_id", "text"]).to_arrow()
            mine = rows.filter(pc.is_in(rows.column("shard"), builds))
            if remnants.in_table(mine, bare=True) or remnants.in_table(rows, bare=False):
                yield f"vectors/{path.name}"
                break
