"""Small objects that are made by the thousand: dataclasses that are frozen to type checkers.

Nothing stops an assignment while running: a dataclass that is frozen then, too, takes five times
as long to make, which was a tenth of the time from a model's file to its kernels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A dataclass with slots whose equality and hash are those of its fields."""
    return dataclass(slots=True, unsafe_hash=True)(cls)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def entity(cls: type[T]) -> type[T]:
    """A dataclass with slots whose equality is identity."""
    return dataclass(slots=True, eq=False)(cls)
