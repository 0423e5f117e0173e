"""Options of commands, which ``table.toml`` declares: a section per command, an entry per option.

An entry has arguments of `click.option`; one of the keys of ``KINDS`` gives its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from perfc.common.fitted import data_next_to

from . import names as _names
from .names import Names

F = TypeVar("F", bound=Callable[..., Any])
Table = Mapping[str, Mapping[str, dict[str, Any]]]
"""Arguments of each option by command and key."""
TABLE: Table = data_next_to(__file__)
"""Options of all commands."""
NUMBERS: Mapping[str, click.ParamType[Any]] = {
    "number": click.FLOAT,
    "integer": click.INT,
    "amount": click.FloatRange(0, min_open=True),
}
"""Types of numbers, by the value of ``kind``."""


def between(ends: Sequence[float]) -> click.ParamType[Any]:
    """Return the type of numbers in a range, integers if its ends are."""
    is_float = any(isinstance(end, float) for end in ends)
    return (click.FloatRange if is_float else click.IntRange)(*ends)  # type: ignore[arg-type]


KINDS: Mapping[str, Callable[[Any], click.ParamType[Any]]] = {
    "names": lambda name: Names(getattr(_names, name)),
    "choices": click.Choice,
    "range": between,
    "path": lambda more: click.Path(**more, path_type=Path),
    "file": lambda more: click.Path(**more),
    "kind": NUMBERS.__getitem__,
}
"""Functions that return the type of a value, by the key of an entry that has their argument."""


def table_options(command: str, table: Table = TABLE) -> Callable[[F], F]:
    """Add the options of a command to a function, in the order of the table."""

    def decorate(function: F) -> F:
        for key, entry in reversed([*table[command].items()]):
            function = option(key, **entry)(function)
        return function

    return decorate


def option(key: str, flags: Sequence[str] = (), **entry: Any) -> Callable[[F], F]:
    """Return the option of an entry; its flag is the key unless the entry has ``flags``."""
    types = (make(entry.pop(type_key)) for type_key, make in KINDS.items() if type_key in entry)
    if value_type := next(types, None):
        entry["type"] = value_type
    # ``--a/--no-a``: the value is None if neither is given, whereas click's default is False
    if any("/" in flag for flag in flags):
        entry.setdefault("default", None)
    return click.option(*(flags or (f"--{key}",)), **entry)
