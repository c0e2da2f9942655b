"""The README's list of files, from the first line of each file's docstring.

python -m tests.readme_tree      # rewrites the list in README.md
"""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
START, END = "## Files\n\n```\n", "tests/ "
PACKAGES = ("flows", "tasks", "models", "storage")
_COLUMN, _WIDTH = 31, 125


def tree() -> str:
    """One line per folder and file of the packages: name and phrase."""
    files = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    by_folder: dict[str, list[Path]] = {}
    for name in files.split():
        by_folder.setdefault(str(Path(name).parent), []).append(Path(name))
    lines = []
    for package in PACKAGES:
        for folder in sorted(f for f in by_folder if f.split("/")[0] == package):
            lines.append(_line(f"{folder}/", _phrase(Path(folder, "__init__.py"))))
            lines += [_line(f"  {file.name}", _phrase(file)) for file in by_folder[folder] if file.name != "__init__.py"]
    return "\n".join(lines) + "\n"


def written(readme: str) -> str:
    """`readme` with its list of files replaced by the present one."""
    head, rest = readme.split(START, 1)
    return f"{head}{START}{tree()}{rest[rest.index(chr(10) + END) + 1 :]}"


def _line(name: str, phrase: str) -> str:
    line = f"{name:<{_COLUMN}}{phrase}" if len(name) < _COLUMN else f"{name} {phrase}"
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1].rsplit(' ', 1)[0]} …"


def _phrase(file: Path) -> str:
    """The first sentence of a file's docstring up to a colon after more than one word, without brackets and code marks."""
    if file.suffix != ".py":
        return ""
    docstring = ast.get_docstring(ast.parse((ROOT / file).read_text(encoding="utf-8"))) or ""
    text = re.sub(r" \([^)]*\)", "", " ".join(docstring.split("\n\n")[0].split()))
    sentence = re.split(r"[.;](?= |$)", text, maxsplit=1)[0].replace("`", "")
    head = sentence.split(": ", 1)[0]
    return head if " " in head else sentence


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
