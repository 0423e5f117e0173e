"""Import the public names of a package on first use, which keeps ``import perfc`` fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def first_use(package: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package (PEP 562), which imports the module of a name.

    Args:
        package: name of the package.
        places: module of each public name, relative to the package, as ``.module``, or
            ``.module:name`` if it has another name there.
    """

    def attribute(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, original = places[name].partition(":")
        return getattr(import_module(module, package), original or name)

    return attribute
