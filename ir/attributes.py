"""Build operators and other records from attributes of text or model files, by annotations."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from functools import lru_cache
from typing import Any, ClassVar, Protocol, TypeVar

from perfc.errors import ParseError, PerfcError

from .symbolic.dim import Poly
from .tensors.types import (
    BY_CODE,
    DType,
    MapType,
    OptionalType,
    SequenceType,
    TensorType,
    UnknownType,
)


class Record(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


T = TypeVar("T", bound=Record)
MISFIT = object()
"""Result of ``convert`` for a value that does not match the annotation."""


def build(cls: type[T], given: Mapping[str, object], fail: Callable[[str, str], ParseError]) -> T:
    """Return an instance of ``cls`` with ``given`` fields, each converted to its annotated type.

    Args:
        cls: the dataclass to build.
        given: values by field name: numbers, strings and tuples, as in the text form.
        fail: function that creates the error from a message and a hint.

    Raises:
        ParseError: by ``fail``, for an unknown field, a missing field or a value of a wrong type.
    """
    hints = field_types(cls)
    known = {f.name: f for f in fields(cls)}
    ready: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise fail(f"no field {name}", f"it has {', '.join(known)}" if known else "")
        ready[name] = convert(value, hints.get(name, Any))
        if ready[name] is MISFIT:
            raise fail(f"{name} is {shown(known[name].type)}, not {value!r}", "")
    for name, f in known.items():
        if name not in ready and f.default is MISSING and f.default_factory is MISSING:
            raise fail(f"{name} is missing", "")
    try:
        return cls(**ready)
    except (PerfcError, ArithmeticError, TypeError, ValueError) as error:
        raise fail(str(error), "") from error


def shown(annotation: object) -> str:
    """Return an annotation in the notation of the text form."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return text.replace("None", "none") or str(annotation)


_ALIASES: dict[str, Any] = {
    "Natural": int,
    "Dim": int | Poly,
    "Type": TensorType | SequenceType | OptionalType | MapType | UnknownType,
}
"""Type aliases in annotations of modules that import them for type checkers alone, so that their
names cannot be looked up when the program runs."""


@lru_cache(maxsize=1024)
def field_types(cls: type[Record]) -> Mapping[str, Any]:
    """Return field annotations as types, without those whose names are not imported."""
    resolved: dict[str, Any] = {}
    # field by field: one name that cannot be resolved must not lose the types of all others
    for f in fields(cls):
        owner = next(c for c in cls.__mro__ if f.name in vars(c).get("__annotations__", ()))
        holder = types.SimpleNamespace(__annotations__={f.name: f.type})
        try:
            resolved |= typing.get_type_hints(holder, vars(sys.modules[owner.__module__]), _ALIASES)
        except (NameError, TypeError):
            continue
    return resolved


def convert(value: object, hint: Any) -> object:
    """Return ``value`` converted to the annotation ``hint``, or MISFIT."""
    if hint is Any or hint is object:
        return value
    origin = typing.get_origin(hint)
    if origin is typing.Union or origin is types.UnionType:
        options = typing.get_args(hint)
        # the type of the value first, so that an int does not become a float
        exact = [o for o in options if isinstance(o, type) and type(value) is o]
        converted = (convert(value, o) for o in (*exact, *options))
        return next((v for v in converted if v is not MISFIT), MISFIT)
    if origin is tuple:
        return _convert_tuple(value, typing.get_args(hint))
    if origin is not None:
        return value  # other generic types, such as mappings, are not checked
    if hint is None or hint is type(None):
        return None if value is None else MISFIT
    return _convert_plain(value, hint)


def _convert_plain(value: object, hint: Any) -> object:
    """Return ``value`` converted to an annotation that is a class, or MISFIT."""
    if not isinstance(hint, type):
        return value  # type variables and the like are not checked
    if hint is DType and isinstance(value, str):
        return BY_CODE.get(value, MISFIT)
    if issubclass(hint, Enum) and isinstance(value, str | bool):
        # types are compared too, since True == 1 in Python, but not in the text form
        typed = ((member, (member.value, type(member.value))) for member in hint)
        same = (
            m for m, typed_value in typed if typed_value == (value, type(value)) or m.name == value
        )
        return next(same, MISFIT)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    # bool is a subclass of int, but no number here; a `Poly` (an extent with symbols) is no int,
    # and the last line would refuse it too
    if hint is int and isinstance(value, bool | Poly):
        return MISFIT
    return value if isinstance(value, hint) else MISFIT


def _convert_tuple(value: object, args: tuple[Any, ...]) -> object:
    """Return ``value`` converted to a tuple of one repeated type, or of a type per entry."""
    if not isinstance(value, tuple):
        return MISFIT
    if len(args) == 2 and args[1] is Ellipsis:
        parts = tuple(convert(v, args[0]) for v in value)
    elif len(args) == len(value):
        parts = tuple(convert(v, a) for v, a in zip(value, args, strict=True))
    else:
        return MISFIT
    return MISFIT if any(p is MISFIT for p in parts) else parts
