"""Numbers that decide what is refused, put together, trusted or said: each as it was settled.

They stand at the top of their modules, and `tests/golden/tables/thresholds.csv` lists them. Whoever
changes one changes what every user is told: ``pytest tests/test_thresholds.py --update-goldens``
writes the list anew, and its difference says so in the review.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import MISSING
from enum import Enum
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import FunctionType, ModuleType

import click
import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("perfc", "ir", "passes", "analyzers")
LISTED = ROOT / "tests" / "golden" / "tables" / "thresholds.csv"
RUN_AS_PROGRAMS = ("perfc.__main__",)
LONGEST = 400
LACKING: list[str] = []
"""Modules that an extra is missing for."""


def modules() -> Iterator[tuple[ModuleType, ast.Module]]:
    """Every module that can be imported without an extra, with its syntax tree."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if any((ROOT / p).is_symlink() for p in path.relative_to(ROOT).parents):
                continue
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            name = ".".join(parts if parts[0] == "perfc" else ("perfc", *parts))
            if name in RUN_AS_PROGRAMS:
                continue
            try:
                module = import_module(name)
            except ImportError:
                LACKING.append(name)
                continue
            yield module, ast.parse(path.read_text(encoding="utf-8"))


def assigned(tree: ast.Module) -> Iterator[str]:
    """Names in capitals that a module assigns at its top."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            yield from (n.id for n in names if isinstance(n, ast.Name) and n.id.isupper())


def plain(value: object) -> str | None:
    """A number, or a collection of numbers and texts, as text; None for anything else."""
    match value:
        case bool() | int() | float():
            return repr(value)
        case Enum():
            return value.name
        case str():
            return value if value.isprintable() else None
        case tuple() | list():
            inner = [plain(v) for v in value]
        case frozenset() | set():
            inner = sorted(map(str, map(plain, value)))
        case Mapping():
            inner = [f"{plain(k)}: {plain(v)}" for k, v in value.items()]
        case _:
            return None
    return None if None in inner else f"[{'; '.join(map(str, inner))}]"


def counts(value: object) -> bool:
    """Whether there is a number in a value."""
    match value:
        case bool() | int() | float():
            return True
        case tuple() | list() | frozenset() | set():
            return any(map(counts, value))
        case Mapping():
            return any(map(counts, (*value.keys(), *value.values())))
        case _:
            return False


def lines() -> Iterator[str]:
    """Every number that a module states at its top, in its classes and for its parameters."""
    for module, tree in modules():
        for name in assigned(tree):
            value = getattr(module, name)
            text = plain(value)
            if text and text.isascii() and counts(value) and "/" not in text:
                yield f"{module.__name__}.{name},{text[:LONGEST]}"
        for name, found in vars(module).items():
            # what operators state of themselves, golden files of their counts hold
            if getattr(found, "__module__", "") != module.__name__ or ".ir.ops." in module.__name__:
                continue
            place = f"{module.__name__}.{name}"
            if isinstance(found, type):
                yield from (f"{place},{how}" for how in kept(found))
                yield from (f"{place}.{stated}" for stated in members(found))
            elif isinstance(found, FunctionType):
                yield from (f"{place}.{stated}" for stated in defaults(found))
        for name, command in vars(module).items():
            if isinstance(command, click.Command) and module.__name__.startswith("perfc.commands."):
                yield from (f"{module.__name__}.{name}.{stated}" for stated in options(command))


def kept(found: type) -> Iterator[str]:
    """What a dataclass is not: frozen, or compared by its fields. Records are told by their own."""
    stated = vars(found).get("__dataclass_params__")
    if stated is not None and stated.init:
        yield from ["may be changed"] * (not stated.frozen) + ["goes by identity"] * (not stated.eq)


def members(found: type) -> Iterator[str]:
    """Numbers that a class states: its own, defaults of its fields, and those of its methods."""
    own = vars(found)
    fields = own.get("__dataclass_fields__", {})
    for name, field in fields.items():
        if type(field.default) in (bool, int, float) and field.default is not MISSING:
            yield f"{name},{field.default!r}"
    for name, value in own.items():
        inner = getattr(value, "__func__", value)
        if isinstance(inner, FunctionType) and not name.startswith("__"):
            yield from (f"{name}.{stated}" for stated in defaults(inner))
        elif type(value) in (bool, int, float) and name not in fields and name[0] != "_":
            yield f"{name},{value!r}"


def defaults(found: FunctionType) -> Iterator[str]:
    """Parameters that are numbers where nobody says them."""
    for name, parameter in signature(found).parameters.items():
        if type(parameter.default) in (bool, int, float):
            yield f"{name},{parameter.default!r}"


def options(command: click.Command) -> Iterator[str]:
    """Options of a command: how often they may be said, and what they are where they are not."""
    for option in command.params:
        flags = ("required", "is_flag", "multiple", "hidden", "is_eager")
        said = [flag for flag in flags if getattr(option, flag, False)]
        number = option.default if type(option.default) in (bool, int, float) else None
        if said or number is not None or option.nargs != 1:
            yield f"{option.name},{' '.join([*said, str(option.nargs), repr(number)])}"


def test_every_threshold_is_as_it_was_settled(request: pytest.FixtureRequest) -> None:
    LACKING.clear()
    now = sorted(set(lines()))
    if request.config.getoption("--update-goldens"):
        assert not LACKING, "the list is written where every module can be imported"
        LISTED.write_text("".join(f"{line}\n" for line in now), encoding="utf-8")
    settled = LISTED.read_text(encoding="utf-8").splitlines()
    there = [x for x in settled if not x.startswith(tuple(f"{name}." for name in LACKING))]
    assert [x for x in now if x not in set(settled)] == [], "not in the list"
    assert [x for x in there if x not in set(now)] == [], "no longer there"
