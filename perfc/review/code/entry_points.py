"""Outermost PyTorch modules of a project, by the syntax trees of its sources."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from perfc.frontend.reading.module_name import SOURCE_FOLDERS
from perfc.ir import record

from .imports import MOST_FILES, content, parsed

MODULE = "Module"
"""Last part of the name of PyTorch's base class."""
EXAMPLES = "example_inputs"
"""Method of a module that gives its inputs."""
MOST_SHOWN = 8
"""Maximum modules that are listed, those with example inputs first."""


@record
class EntryPoint:
    """A module that no other module of the project creates.

    Args:
        name: as commands take it.
        has_examples: whether it has a method ``example_inputs``.
    """

    name: str
    has_examples: bool


def entry_points(root: Path, is_foreign: Callable[[Path], bool]) -> list[EntryPoint]:
    """Return the outermost modules of a project, those with example inputs first.

    Args:
        root: folder of the project.
        is_foreign: whether a folder is not part of the project.
    """
    classes = {path: [*classes_in(path)] for path in sources_in(root, is_foreign)}
    every = [c for here in classes.values() for c in here]
    modules, count = {MODULE}, 0
    # until no class is added, as a class may follow its subclasses
    while count < len(modules):
        count = len(modules)
        modules |= {c.name for c in every if modules & {*bases_of(c)}}
    # what another class creates or extends is not outermost
    parts = {name for c in every if c.name in modules for name in created_in(c)}
    bases = {name for c in every for name in bases_of(c)}
    points = [
        EntryPoint(f"{importable(path.relative_to(root))}:{c.name}", has_method(c, EXAMPLES))
        for path, here in classes.items()
        for c in here
        if c.name in modules - parts - bases and has_method(c, "forward")
    ]
    return sorted(points, key=lambda e: (not e.has_examples, e.name))[:MOST_SHOWN]


def sources_in(root: Path, is_foreign: Callable[[Path], bool]) -> Iterator[Path]:
    """Yield the source files below a folder, without those of tests."""
    count = 0
    for here, folders, names in os.walk(root):
        folders[:] = [f for f in sorted(folders) if not is_foreign(Path(here, f)) and f != "tests"]
        for name in sorted(names):
            if name.endswith(".py") and not name.startswith(("test_", "conftest")):
                count += 1
                if count > MOST_FILES:
                    return
                yield Path(here, name)


def classes_in(path: Path) -> Iterator[ast.ClassDef]:
    """Yield the classes of a source file at its top level."""
    source = content(path)
    tree = parsed(source) if b"class " in source else None
    yield from (node for node in (tree.body if tree else ()) if isinstance(node, ast.ClassDef))


def bases_of(c: ast.ClassDef) -> Iterator[str]:
    """Yield the last part of the names of the base classes."""
    yield from (last_of(base) for base in c.bases)


def created_in(c: ast.ClassDef) -> Iterator[str]:
    """Yield the last part of the names that a class calls."""
    yield from (last_of(node.func) for node in ast.walk(c) if isinstance(node, ast.Call))


def last_of(node: ast.expr) -> str:
    """Return the last part of a dotted name; empty for other expressions."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def has_method(c: ast.ClassDef, name: str) -> bool:
    """Return True if a class defines a method."""
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in c.body)


def importable(path: Path) -> str:
    """Return a source file as a dotted module, or as its path where it is none.

    >>> importable(Path("src/pkg/model.py")), importable(Path("my-models/net.py"))
    ('pkg.model', 'my-models/net.py')
    """
    parts = path.with_suffix("").parts
    parts = parts[1:] if len(parts) > 1 and parts[0] in SOURCE_FOLDERS else parts
    parts = parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts
    return ".".join(parts) if all(p.isidentifier() for p in parts) else path.as_posix()
