"""Find and read the project file: ``perfc.toml`` or ``[tool.perfc]`` of ``pyproject.toml``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from perfc.common.repository import from_here
from perfc.common.toml_file import TableReader, line_of, parse, read_text
from perfc.deployment.fields import with_axes
from perfc.errors import ParseError, suggestion
from perfc.frontend.reading.module_name import NamedModule, is_named
from perfc.ir import record

NAME = "perfc.toml"
PROJECT = "pyproject.toml"
TABLE = "deployment"
PRICES = "prices"
TABLES = ("budget", "deployment", "lint", "lock", "models", "per-file-ignores", PRICES)
"""Top-level keys of the file."""


def find(start: Path) -> Path | None:
    """Return the nearest project file upwards of ``start``, or None.

    Raises:
        ParseError: a ``pyproject.toml`` on the way cannot be read.
    """
    return next(upwards(start), None)


def upwards(start: Path, top: Path | None = None) -> Iterator[Path]:
    """Yield the project files upwards of ``start``, nearest first, up to folder ``top``.

    Raises:
        ParseError: a ``pyproject.toml`` on the way cannot be read.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / NAME).is_file():
            yield folder / NAME
        elif (folder / PROJECT).is_file() and has_table(folder / PROJECT):
            yield folder / PROJECT
        if folder == top:
            return


def has_table(project: Path) -> bool:
    """Return True if a ``pyproject.toml`` has ``[tool.perfc]``.

    Raises:
        ParseError: it cannot be read.
    """
    text = read_text(project)
    # most project files do not mention perfc, and parsing TOML takes long
    tool = parse(text, project).get("tool") if "perfc" in text else None
    return isinstance(tool, dict) and "perfc" in tool


@record
class ProjectValues:
    """Deployment values of a project file.

    Args:
        values: values by field name.
        place: function from a field to its place, ``file:line``.
    """

    values: dict[str, object]
    place: Callable[[str], str]


def read_project(path: Path) -> tuple[object, str, str]:
    """Return the tables for perfc in a project file, its text, and the prefix of their headers.

    Raises:
        ParseError: not TOML, or too large.
    """
    text = read_text(path)
    tree: object = parse(text, path)
    is_shared = path.name == PROJECT
    for key in ("tool", "perfc") if is_shared else ():  # [tool.perfc] of pyproject.toml
        tree = tree.get(key, {}) if isinstance(tree, dict) else tree
    return tree, text, "tool.perfc." if is_shared else ""


def deployment_in(path: Path, known: tuple[str, ...]) -> ProjectValues:
    """Read the table ``[deployment]`` of a file; empty if it has none.

    Args:
        path: a ``perfc.toml`` or ``pyproject.toml``.
        known: valid field names.

    Raises:
        ParseError: not TOML, not a table, or an unknown key; names its line.
    """
    tree, text, prefix = read_project(path)
    header = f"{prefix}{TABLE}"
    if isinstance(tree, dict):
        check_top(tree, path, text)
        tree = tree.get(TABLE, {})

    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path

    def place(name: str = "") -> str:
        """Return the file and line of a key; of the table's header for ""."""
        # keys have hyphens, and an unknown one stands as it is written
        key = name if name in text else name.replace("_", "-")
        return f"{shown}:{line_of(text, f'{header}.{key}' if key else header)}"

    if not isinstance(tree, dict):
        raise ParseError(f"{TABLE} is not a table", where=place(), hint=f"write [{header}]")
    values: dict[str, object] = {}
    for key, value in tree.items():
        name = key.replace("-", "_")
        # keys have hyphens, as options have
        if name not in known or "_" in key:
            written = [k.replace("_", "-") for k in known]
            hint = suggestion(key.replace("_", "-"), written)
            raise ParseError(f"no key {key!r} in {TABLE}", where=place(key), hint=hint)
        values[name] = value
    values = with_axes(values, place)
    target = values.get("target")
    if isinstance(target, str):
        values["target"] = target_of(target, path)
    return ProjectValues(values, place)


class ModelReader(TableReader):
    """Parser of ``[[models]]`` tables, with line numbers for messages."""

    def tables(self, tree: Mapping[str, object], name: str) -> list[dict[str, Any]]:
        """Return the tables of a list."""
        entries = tree.get(name, [])
        if not isinstance(entries, list):
            raise self.fault(name, f"{name} is not a list of tables", hint=f"write [[{name}]]")
        for index, entry in enumerate(entries):
            if not isinstance(entry, dict):
                raise self.fault(name, f"{name} is not a table", index)
        return entries

    def module(self, index: int, entry: Mapping[str, Any]) -> tuple[str, NamedModule]:
        """Return one table's PyTorch module, by source and name."""
        source, inputs = entry.get("source"), entry.get("input", [])
        inputs = [inputs] if isinstance(inputs, str) else inputs
        if not isinstance(source, str) or not is_named(source):
            hint = 'source = "package.module:Name"'
            raise self.fault("source", "source names no PyTorch module", index, hint=hint)
        name = entry.get("name")
        if name is not None and not (isinstance(name, str) and re.fullmatch(r"[\w.-]+", name)):
            raise self.fault("name", "name is not a word", index, hint='name = "large"')
        model_name = source if name is None else f"{source}/{name}"
        if not isinstance(inputs, list) or not all(isinstance(i, str) for i in inputs):
            hint = 'input = "8x3x224x224"'
            raise self.fault("input", "input is not a shape or a list of them", index, hint=hint)
        kwargs = entry.get("kwargs", {})
        if not isinstance(kwargs, dict):
            hint = "kwargs = { width = 64 }"
            raise self.fault("kwargs", "kwargs is not a table", index, hint=hint)
        text = json.dumps(kwargs, default=str) if kwargs else ""
        if not isinstance(is_jax := entry.get("jax", False), bool):
            raise self.fault("jax", "jax is not true or false", index)
        folder = str(self.path.parent)
        place = f"{from_here(self.path.parent, self.path.name)}:{self.line('source', index)}"
        module = NamedModule(source, tuple(inputs), text, folder, is_jax=is_jax, place=place)
        return model_name, module


def check_top(tree: Mapping[str, object], path: Path, text: str) -> None:
    """Reject unknown top-level keys.

    Raises:
        ParseError: such a key; names its line.
    """
    for key in tree:
        if key not in TABLES:
            where = f"{path}:{line_of(text, key)}"
            raise ParseError(
                f"no key {key!r}", where=where, hint=suggestion(key.replace("_", "-"), TABLES)
            )


def target_of(name: str, path: Path) -> str:
    """Resolve a target named in the file at ``path``; relative files are from its folder."""
    from perfc.machine import split

    # behind the file or name of a card, a slash and a profile may name a slice of it
    card, _ = split(name)
    is_file = card.endswith(".toml") or "/" in card
    return str(path.parent / name) if is_file else name
