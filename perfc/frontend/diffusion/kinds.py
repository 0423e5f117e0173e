"""Supported classes of diffusers: one file per family, selected by the class of a part."""

from __future__ import annotations

from abc import ABC
from functools import cache
from typing import ClassVar, TypeVar

from perfc.common.declared import instances
from perfc.errors import ModelError

from .pipeline import PipelinePart


class PartKind(ABC):
    """A family of parts."""

    classes: ClassVar[tuple[str, ...]]
    """Names of the classes in diffusers."""


K = TypeVar("K", bound=PartKind)


@cache
def known(package: str, kind: type[K]) -> tuple[K, ...]:
    """Return one object of each family in a package."""
    return tuple(instances(package, kind))


def kind_of(part: PipelinePart, package: str, kind: type[K]) -> K:
    """Return the family of a part.

    Raises:
        ModelError: an unknown class.
    """
    every: tuple[K, ...] = known(package, kind)
    for one in every:
        if part.class_name in one.classes:
            return one
    names = ", ".join(sorted(name for one in every for name in one.classes))
    raise ModelError(
        f"no {part.role.value} {part.class_name[:64]!r} is known",
        where=part.name,
        hint=f"known are {names}",
    )
