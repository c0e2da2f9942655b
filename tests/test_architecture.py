"""The rules of the layout that import-linter cannot check."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from storage.corpora import CORPORA
from storage.structures import STRUCTURES
from tests import readme_tree

ROOT = Path(__file__).parents[1]
LAYERS = ("flows", "tasks", "models", "storage")
MODULES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_top_level_is_fixed() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    packages = {path.split("/")[0] for path in listed if path.endswith(".py")}
    assert packages <= {*LAYERS, "tests"}


def test_the_readme_lists_every_file() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme == readme_tree.written(readme), "run `python -m tests.readme_tree`"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_module_is_a_drawer_for_everything(path: Path) -> None:
    assert path.stem not in {"utils", "util", "helpers", "common", "misc"}
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", sorted((ROOT / "flows").glob("*.py")), ids=name_of)
def test_flow_files_hold_no_types_and_shadow_no_module(path: Path) -> None:
    """A flow file is loaded under another module name, with its folder first on `sys.path`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    assert path.stem == "__init__" or path.stem not in sys.stdlib_module_names


def test_a_flow_is_named_like_its_file() -> None:
    for path in sorted((ROOT / "flows").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and any(
                "flow" in ast.unparse(d).split("(")[0] for d in node.decorator_list
            ):
                assert node.name == path.stem


def test_structures_are_registered_under_their_letter_in_the_fixed_order() -> None:
    assert list(STRUCTURES) == [letter for letter in "STGVRH" if letter in STRUCTURES]
    assert all(structure.letter == letter for letter, structure in STRUCTURES.items())


def test_corpora_are_registered_under_their_name() -> None:
    assert all(corpus.name == name for name, corpus in CORPORA.items())


def test_every_structure_and_corpus_file_is_registered() -> None:
    structures = {type(structure).__module__.rsplit(".", 1)[-1] for structure in STRUCTURES.values()}
    for path in (ROOT / "storage" / "structures").glob("*.py"):
        defined = [n.name for n in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(n, ast.ClassDef)]
        if any(name.endswith("Structure") and name != "Structure" for name in defined):
            assert path.stem in structures


def test_every_dependency_is_pinned_and_has_its_reason_in_the_readme() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    required = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    for requirement in required:
        name = requirement.split("==")[0].split(">=")[0].split("[")[0]
        assert "==" in requirement or ">=" in requirement, f"{requirement} is not pinned"
        assert f"`{name}`" in readme, f"{name} has no reason in the README"


def test_importing_the_command_line_is_cheap() -> None:
    """`strata --help` must not wait for Prefect, torch, MLflow or LanceDB."""
    code = "import sys, flows.cli; print([m for m in ('prefect', 'torch', 'mlflow', 'lancedb') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
