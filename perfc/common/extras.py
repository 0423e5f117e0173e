"""Optional packages: requirements of each extra, and the command that installs them."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from perfc.common.version import version_of
from perfc.errors import MissingExtraError

BASE = ""
"""Key of the requirements of the base installation."""
NAME = "perfc"
PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
"""File with the extras of a checkout; the metadata of an earlier install may be older."""
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
"""Marker of a requirement of an extra in the metadata: ``extra == "torch"`` (PEP 508)."""
_PLATFORM = re.compile(r"""sys_platform\s*([!=]=)\s*['"]([^'"]+)['"]""")
"""Marker of a platform: ``sys_platform != "win32"``."""


def install(*extras: str, only: str = "") -> str:
    """Return the command that installs the packages of extras.

    It names the packages themselves: unlike ``perfc[extra]``, this works however perfc was
    installed, and in any folder.

    Args:
        extras: extras of ``pyproject.toml``, or ``BASE``.
        only: prefix of the package names to install (default: all).

    >>> install("ort")
    "pip install 'onnxruntime>=1.20'"
    """
    known = requirements()
    wanted = dict.fromkeys(r for extra in extras for r in known[extra] if r.startswith(only))
    return " ".join(["pip install", *(f"'{r}'" for r in wanted)])


def install_package(name: str) -> str:
    """Return the command that installs a package, in the version that an extra requires.

    >>> install_package("timm"), install_package("torchvision")
    ("pip install 'timm>=1.0'", 'pip install torchvision')
    """
    all_requirements = (r for group in requirements().values() for r in group)
    known = next((f"'{r}'" for r in all_requirements if name_of(r) == name), name)
    return f"pip install {known}"


def name_of(requirement: str) -> str:
    """Return the name of the package of a requirement."""
    return re.split(r"[^\w.-]", requirement)[0]


def required(package: str, message: str, extra: str, instead: str = "", where: str = "") -> Any:
    """Import a package of an extra.

    Args:
        package: name of the module.
        message: what needs it.
        extra: the extra.
        instead: alternative that works without it, after the command in the hint.
        where: file or command that needs it.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        hint = install(extra, only=package.partition("_")[0]) + instead
        raise MissingExtraError(message, hint=hint, where=where) from None


def absent(extra: str) -> list[str]:
    """Return an extra's packages that are not installed."""
    return [name for name in map(name_of, requirements()[extra]) if not version_of(name)]


@cache
def requirements() -> Mapping[str, tuple[str, ...]]:
    """Return the requirements by extra: of the checkout, else of the installed package."""
    groups: dict[str, list[str]] = {BASE: []}
    for line in declared():
        requirement, _, marker = line.partition(";")
        extra, platform = _EXTRA.search(marker), _PLATFORM.search(marker)
        group = groups.setdefault(extra[1] if extra else BASE, [])
        # a requirement with the marker of a platform counts only if the marker holds here
        if platform is None or (platform[1] == "==") is (platform[2] == sys.platform):
            group.append(requirement.strip())
    return {extra: tuple(group) for extra, group in groups.items()}


def declared() -> list[str]:
    """Return requirements in metadata syntax: ``name>=1; extra == 'ort'``."""
    # a checkout has the file; installed packages have only the metadata
    if PYPROJECT.is_file():
        import tomllib

        project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8")).get("project", {})
        if project.get("name") == NAME:
            extras = project["optional-dependencies"].items()
            optional = [f"{r}; extra == '{extra}'" for extra, group in extras for r in group]
            return [*project["dependencies"], *optional]
    from importlib.metadata import requires

    return requires(NAME) or []
