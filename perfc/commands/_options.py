"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.errors import ParseError

if TYPE_CHECKING:
    from perfc.ir import Module

dim_option = click.option(
    "--dim",
    "dims",
    multiple=True,
    metavar="NAME=N",
    help="Value of a symbolic extent, e.g. batch=8; several with commas or repeated.",
)
tables_option = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    required=True,
    help="Folder of the measured tables, as `perfc data fetch` writes it.",
)
graphs_option = click.option(
    "--graphs",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    required=True,
    help="Folder of the data sets, as `perfc data build` writes it.",
)
facts_option = click.option(
    "--facts", default="", metavar="NAMES", help="Analyses printed beneath each node: cost,fuse."
)


def parse_dims(bindings: Iterable[str]) -> dict[str, int]:
    """``("batch=8,seq=128",)`` as a mapping.

    Raises:
        ParseError: not ``NAME=N`` with a whole number that is not negative.
    """
    found: dict[str, int] = {}
    for binding in ",".join(bindings).split(",") if bindings else ():
        name, equals, value = binding.rpartition("=")
        if not equals or not name.strip() or not value.strip().isdecimal() or len(value) > 18:
            raise ParseError(f"{binding!r} is not NAME=N", where="--dim", hint="as in batch=8")
        found[name.strip()] = int(value)
    return found


def names_in(text: str) -> list[str]:
    """Comma-separated names."""
    return [name.strip() for name in text.split(",") if name.strip()]


def read_model(model: str, dims: dict[str, int]) -> Module:
    """The module in ``model``, verified."""
    if model != "-" and not model.endswith(".pir"):
        from perfc.frontend import load

        return load(model, dims)
    from perfc.ir.parse import read
    from perfc.ir.rewrite import with_defaults
    from perfc.ir.verify import verify

    parsed = read(model)
    verify(parsed.module, where=parsed.where)
    return with_defaults(parsed.module, dims)
