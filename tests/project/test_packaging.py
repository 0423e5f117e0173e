"""The links and the folders must say the same thing, and every folder of code is a package."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .sources import ROOT, sources, text_of, tree_of

OUTSIDE = {f"perfc.{name}": name for name in ("ir", "passes", "analyzers", "kernels")}
FOLDERS = {"perfc": "perfc", **OUTSIDE}
BARE = re.compile(
    rf"^\s*(?:from|import)\b.*(?<![\w.])(?:{'|'.join(OUTSIDE.values())})\b", re.MULTILINE
)
"""Lines that may import a folder by its bare name; few files have one, and parsing takes long."""


def test_every_folder_of_code_is_a_package() -> None:
    for folder in FOLDERS.values():
        for path in sources(folder):
            assert (path.parent / "__init__.py").is_file(), path


def test_wheel_has_every_file_of_its_folders(tmp_path: Path) -> None:
    """A table that is read, and lies in no wheel, is missed only where perfc is installed."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(tmp_path)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    shipped = {n for n in zipfile.ZipFile(wheel).namelist() if not n.startswith("perfc-")}
    listed = {
        f"{name.replace('.', '/')}/{path.relative_to(ROOT / folder).as_posix()}"
        for name, folder in {**FOLDERS, "perfc.commands.web.samples": "examples/models"}.items()
        for path in files(ROOT / folder)
    }
    assert shipped == listed


def files(folder: Path) -> Iterator[Path]:
    """Those of a folder, without what runs leave there, and without links to others."""
    for path in folder.iterdir():
        if path.is_symlink() or path.name == "__pycache__" or path.name.startswith("."):
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def test_every_outside_folder_has_its_link() -> None:
    for name, folder in OUTSIDE.items():
        link = ROOT / "perfc" / name.removeprefix("perfc.")
        text = str(link.readlink()) if link.is_symlink() else link.read_text(encoding="utf-8")
        assert text == f"../{folder}"


def test_folders_are_never_imported_by_their_bare_name() -> None:
    for path in sources(*FOLDERS.values(), "tests", "examples"):
        assert not bare_imports(path), path


def bare_imports(path: Path) -> set[str]:
    """Return the folders of code that a file imports by their bare name."""
    names = []
    for node in ast.walk(tree_of(path)) if BARE.search(text_of(path)) else ():
        match node:
            case ast.Import(names=imported):
                names += [alias.name for alias in imported]
            case ast.ImportFrom(level=0, module=str(module)):
                names.append(module)
    return {name.split(".")[0] for name in names} & {*OUTSIDE.values()}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import os, ir.graph", {"ir"}),
        ("if x:\n    from passes.fusion import fuse", {"passes"}),
        ("from perfc.ir import graph", set()),
        ("from . import kernels", set()),
        ("import kernelspy", set()),
        ("import perfc.kernels as kernels", set()),
    ],
)
def test_a_bare_name_is_seen(text: str, found: set[str], tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(text)
    assert bare_imports(path) == found


def test_folders_import_themselves_relatively() -> None:
    for name, folder in OUTSIDE.items():
        for path in sources(folder):
            for node in ast.walk(tree_of(path)) if f"from {name}" in text_of(path) else ():
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    assert not f"{node.module}.".startswith(f"{name}."), path


def test_top_level_is_what_the_readme_says() -> None:
    allowed = {
        *("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"),
        *("SECURITY.md", "mkdocs.yml", "noxfile.py", "coverage.xml"),
        *("perfc", "passes", "ir", "analyzers", "kernels", "lab", "tests", "examples"),
        *("docs", "benchmarks", "datasets", "skills"),
    }
    made = {"build", "dist", "site", "perfc.egg-info", "__pycache__"}
    result = {p.name for p in ROOT.iterdir() if not p.name.startswith(".")}
    assert result <= allowed | made
