"""List, load, validate and add targets by name.

The functions import the reader of files (`files`) on first use, as most commands need few of them.
"""

from __future__ import annotations

import os
from pathlib import Path

from perfc.errors import TargetError

from .machine import Listing, Machine


def list_machines() -> tuple[Listing, ...]:
    """Return all targets by name, the user's first; they hide shipped ones of the same name."""
    from .files import listings

    return listings()


def list_clusters() -> tuple[Listing, ...]:
    """Return all clusters by name, as `list_machines`."""
    from .files import cluster_listings

    return cluster_listings()


def load_machine(name: str | os.PathLike[str]) -> Machine:
    """Read a target by name, alias, or path of a ``.toml`` file; ``NAME/3g.20gb`` is its slice.

    The user's folder ``$XDG_CONFIG_HOME/perfc/targets`` (by default in ``~/.config``) is first.
    Names are compared without case, separators and makers, as drivers print them; the memory may be
    in a name or not, if one target remains.

    Raises:
        TargetError: no such target, or a file with numbers that do not say where they are from.
    """
    from .files import load

    return load(name)


def own_file(name: str) -> Path:
    """Return the file of a name in the user's folder of targets."""
    from .folders import user_folder

    return user_folder() / f"{name}.toml"


def validate(path: str | os.PathLike[str]) -> list[str]:
    """Return the errors of a target file, each as a line with the key; empty if it is valid."""
    from .files import problems_in

    return problems_in(Path(path))


def add(path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Copy a valid target file to the user's folder, in one step; returns where it now lies.

    Raises:
        TargetError: the file is not valid, or one of that name is there and ``overwrite`` is off.
    """
    from .files import install

    return install(Path(path), overwrite=overwrite)


def render_markdown() -> str:
    """Return the page ``docs/targets.md``: shipped targets, every number with its source."""
    from .files import page

    return page()


def whole_card(name: str | os.PathLike[str]) -> Machine:
    """Return a target with a file of its numbers, to which a command adds some.

    Raises:
        TargetError: as `load_machine`; or it is a slice, which has no file.
    """
    machine = load_machine(name)
    if machine.slice is not None:
        hint = f"take the card, {machine.name.rpartition('/')[0]}"
        raise TargetError(f"{machine.name} is a slice and has no file", hint=hint)
    return machine
