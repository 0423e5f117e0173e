"""Declared shapes of a model file as types with symbols, and the defaults of those symbols."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from perfc.errors import ParseError
from perfc.ir.dim import Atom, Dim, Poly, symbol
from perfc.ir.graph import SymbolDecl
from perfc.ir.types import (
    BY_ONNX,
    UNKNOWN,
    DType,
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    TensorType,
    Type,
)

from .proto import TypeKind, TypeProto

MAX_RANK = 64
EXPRESSION = re.compile(r"(?=.*([+*]|//| - ))[\w.\s()+*/-]+\Z")
"""Exporters write ``past + seq`` or ``2*s0``; a name with a dash is a name."""

DEFAULTS: tuple[tuple[str, int], ...] = (
    (r"batch|^n$|^b$|^bs$", 1),
    (r"past|cache|history", 128),
    (r"seq|len|token|time|^s$|^t$|^l$", 128),
    (r"height|width|^h$|^w$|_h$|_w$", 224),
)
"""Value assumed for a symbol whose lower-cased name matches; others are 1. Always printed."""


def default_of(name: str, place: tuple[int, int, bool] | None = None) -> int:
    """The value assumed for a symbol that nobody set.

    Where the name says nothing, ``place`` does: (axis, rank, whether elements are floats) of its
    first use. Axis 1 of integer ids is a sequence, axes 2 and 3 of a float image its extents.
    """
    lowered = name.lower()
    found = next((v for pattern, v in DEFAULTS if re.search(pattern, lowered)), None)
    if found is not None:
        return found
    match place:
        case (1, 2, False):
            return 128
        case (2 | 3, 4, True):
            return 224
        case (1, 3, True):
            return 128
        case _:
            return 1


@dataclass(slots=True)
class SymbolTable:
    """Symbols met while reading a model, with the values the caller gave."""

    given: Mapping[str, int] = field(default_factory=dict[str, int])
    seen: dict[str, Atom] = field(default_factory=dict[str, Atom])
    places: dict[str, tuple[int, int, bool]] = field(
        default_factory=dict[str, tuple[int, int, bool]]
    )
    read: dict[str, Dim] = field(default_factory=dict[str, Dim])

    def extent(self, dim: int | str | None, unnamed: str) -> Dim:
        """A declared dimension; what has no number and no name becomes the symbol ``unnamed``."""
        if isinstance(dim, int) and dim >= 0:
            return dim
        name = dim if isinstance(dim, str) and dim else unnamed
        found = self.read.get(name)
        if found is None:
            is_expression = name is dim and EXPRESSION.match(name)
            found = self._expression(name) if is_expression else self._symbol(name)
            self.read[name] = found
        return found

    def _symbol(self, name: str) -> Poly:
        lo = 0 if "past" in name.lower() or self.given.get(name) == 0 else 1
        made = symbol(name, lo)
        atom = next(made.atoms())
        return Poly((((self.seen.setdefault(atom.key, atom),), 1),))

    def _expression(self, text: str) -> Dim:
        from perfc.ir.parse import parse_dim

        try:
            made = [self._symbol(name) for name in re.findall(r"[A-Za-z_][\w.]*", text)]
            return parse_dim(text, {atom.key: p for p in made for atom in p.atoms()})
        except (ParseError, ZeroDivisionError):
            return self._symbol(text)

    def type(self, proto: TypeProto | None, name: str) -> Type:
        """The declared type of the value ``name``."""
        if proto is None:
            return UNKNOWN
        match proto.kind:
            case TypeKind.TENSOR | TypeKind.SPARSE_TENSOR:
                dtype = BY_ONNX.get(proto.elem_type, DType.UNKNOWN)
                if proto.shape is None or len(proto.shape) > MAX_RANK:
                    return TensorType(dtype, None)
                return TensorType(dtype, self.shape(proto.shape, dtype, name))
            case TypeKind.SEQUENCE:
                return SequenceType(self.type(proto.elem, name))
            case TypeKind.OPTIONAL:
                return OptionalType(self.type(proto.elem, name))
            case TypeKind.MAP:
                key = BY_ONNX.get(proto.key_type, DType.UNKNOWN)
                return MapType(key, self.type(proto.elem, name))
            case _:
                return UNKNOWN

    def shape(self, dims: Sequence[int | str | None], dtype: DType, name: str) -> Shape:
        """Declared extents of the value ``name``."""
        extents: list[Dim] = []
        for axis, d in enumerate(dims):
            if isinstance(d, int) and d >= 0:
                extents.append(d)
                continue
            before = len(self.seen)
            extents.append(self.extent(d, f"{name}_d{axis}"))
            new = len(self.seen) - before
            for key in islice(reversed(self.seen), new):
                self.places[key] = (axis, len(dims), dtype.is_float)
        return tuple(extents)

    def declarations(self) -> tuple[SymbolDecl, ...]:
        """Every symbol with its default, in order of appearance."""
        return tuple(
            SymbolDecl(key, self.given.get(key, default_of(key, self.places.get(key))), a.lo, a.hi)
            for key, a in self.seen.items()
        )
