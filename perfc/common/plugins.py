"""Find plug-ins of other distributions, and whether code of users may run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

COMMANDS = "perfc.commands"
"""Entry-point group of commands: name, and the module that has ``command``."""
PREDICTORS = "perfc.predictors"
"""Entry-point group of packages whose modules declare predictors of whole runs."""
LAB_COMMANDS = ("data", "eval", "train")
"""Commands of perfc-lab; if it is not installed, their error says how to install it."""
NO_CODE = "PERFC_NO_CODE"
"""Environment variable that forbids running code of models and plug-ins, as ``--no-code`` does."""
LAB_HINT = "install perfc-lab: pip install ./lab in a checkout of perfc"


@cache
def entries(group: str) -> Mapping[str, str]:
    """Return the modules that distributions named ``perfc-…`` register in a group, by name.

    Read from their ``entry_points.txt``: importing ``importlib.metadata`` would take a fifth of
    the time of ``perfc --help``.
    """
    registered: dict[str, str] = {}
    # each folder once: `sys.path` may repeat them
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in sorted(names):
            if name.startswith("perfc_") and name.endswith(".dist-info"):
                registered |= parsed(Path(folder, name, "entry_points.txt"), group)
    return registered


def parsed(path: Path, group: str) -> dict[str, str]:
    """Return the modules of one group of an ``entry_points.txt``; none if it cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    section, modules = "", dict[str, str]()
    for line in map(str.strip, lines):
        if line.startswith("["):
            section = line.strip("[]")
        elif section == group and "=" in line:
            name, _, module = line.partition("=")
            # ``name = package.module:attribute``: only the module is needed
            modules[name.strip()] = module.partition(":")[0].strip()
    return modules


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


def may_run() -> bool:
    """Return True unless ``--no-code`` or its environment variable is set."""
    return os.environ.get(NO_CODE, "") in ("", "0")
