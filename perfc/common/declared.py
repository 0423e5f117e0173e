"""Find the classes that the modules of a package define: a new file needs no registration."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


@cache
def modules(package: str) -> tuple[ModuleType, ...]:
    """Return all modules of a package, imported in the order of their names; cached."""
    folder = importlib.import_module(package)
    names = sorted(info.name for info in pkgutil.iter_modules(folder.__path__))
    return tuple(importlib.import_module(f"{package}.{name}") for name in names)


def instances(package: str, of: type[T]) -> Iterator[T]:
    """Yield an instance of every concrete subclass of ``of`` that ``package`` defines."""
    for module in modules(package):
        yield from instances_in(module, of)


def instances_in(module: ModuleType, of: type[T]) -> Iterator[T]:
    """Yield an instance of every concrete subclass of ``of`` that one module defines.

    Classes that the module only imports do not count.
    """
    here = (t for t in vars(module).values() if getattr(t, "__module__", "") == module.__name__)
    subclasses = (t for t in here if isinstance(t, type) and issubclass(t, of))
    yield from (t() for t in subclasses if not getattr(t, "__abstractmethods__", None))
