"""Small objects that are made by the thousand: dataclasses that are frozen to type checkers.

Nothing stops an assignment while running: a dataclass that is frozen then, too, takes five times
as long to make, which was a tenth of the time from a model's file to its kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, cast, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A dataclass with slots whose equality and hash are those of its fields.

    These and the text are not written anew for each class, which takes most of the time that
    making a dataclass takes, and of a program's start.
    """
    own = dict(vars(cls))
    return _compared(dataclass(slots=True, eq=False, repr=False)(cls), own)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """The same without slots, for classes that others inherit from, as operators."""
    return _compared(dataclass(eq=False, repr=False)(cls), dict(vars(cls)))


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def entity(cls: type[T]) -> type[T]:
    """A dataclass with slots whose equality is identity."""
    return dataclass(slots=True, eq=False)(cls)


def _compared(made: type[T], own: dict[str, Any]) -> type[T]:
    """The class with the methods that it does not define itself."""
    compared = [f.name for f in fields(cast("Any", made)) if f.compare]
    get = attrgetter(*compared) if compared else _nothing
    for name, method in (
        ("__eq__", _equality(get)),
        ("__hash__", _hashing(get)),
        ("__repr__", _text),
    ):
        if own.get(name) is None:
            setattr(made, name, method)
    return made


def _nothing(self: object) -> tuple[()]:
    return ()


def _equality(get: Callable[[Any], object]) -> Callable[[Any, object], Any]:
    def equal(self: Any, other: object) -> Any:
        return get(self) == get(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hashing(get: Callable[[Any], object]) -> Callable[[Any], int]:
    def hashed(self: Any) -> int:
        return hash(get(self))

    return hashed


def _text(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"
