"""Plug-ins that other distributions register by entry points, perfc-lab among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

COMMANDS = "perfc.commands"
"""Group of commands: name, and the module that has ``command``."""
PREDICTORS = "perfc.predictors"
"""Group of packages whose modules declare predictors of whole runs."""
WRITERS = "perfc.writers"
"""Group of modules that word answers of ``perfc ask --adapter``."""
LAB_COMMANDS = ("data", "eval", "train")
"""Commands of perfc-lab, which say what to install where it is missing."""
LAB_HINT = "install perfc-lab: pip install ./lab in a checkout of perfc"


@cache
def entries(group: str) -> Mapping[str, str]:
    """Return the modules registered in a group by name."""
    from importlib.metadata import entry_points

    return {entry.name: entry.module for entry in sorted(entry_points(group=group))}


def modules(group: str) -> Iterator[str]:
    """Yield the modules registered in a group, by name."""
    yield from entries(group).values()


def file_of(module: str) -> Path:
    """Return the file of a module without importing it; its parent packages are imported.

    Raises:
        ImportError: no such module.
    """
    from importlib.util import find_spec

    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ImportError(f"no file of {module}")
    return Path(spec.origin)
