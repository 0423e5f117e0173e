"""Declared shapes of a model file as types with symbols, and the defaults of those symbols."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import islice
from typing import Any

from perfc.errors import ParseError
from perfc.ir import (
    UNKNOWN,
    Dim,
    DType,
    MapType,
    OptionalType,
    Poly,
    SequenceType,
    Shape,
    SymbolDecl,
    TensorType,
    Type,
    entity,
    symbol,
)
from perfc.ir.symbolic.dim import Atom
from perfc.ir.syntax.names import symbol_key
from perfc.ir.tensors.types import BY_ONNX

from ..reading.proto import SymbolRange, TypeKind, TypeProto
from .roles import Assumption, Roles, SymbolPlace

MAX_RANK = 64
"""Maximum axes of a declared shape; a longer one counts as unknown, as no operator has as many."""
EXPRESSION = re.compile(r"(?=.*([+*]|//| - ))[\w.\s()+*/-]+\Z")
"""Exporters write ``past + seq`` or ``2*s0``; a name with a dash is a name."""


@entity
class SymbolTable:
    """Symbols met while reading a model, with the values the caller gave and the file allows.

    Args:
        given: values that the caller gives, by key of the symbol.
        ranges: ranges that the file allows, by name.
        seen: symbols by key, in order of appearance.
        places: occurrences of each symbol in shapes, by key.
        read: extents by their text in the file.
    """

    given: Mapping[str, int] = field(default_factory=dict)
    ranges: Mapping[str, SymbolRange] = field(default_factory=dict)
    seen: dict[str, Atom] = field(default_factory=dict)
    places: dict[str, list[SymbolPlace]] = field(default_factory=dict)
    read: dict[str, Dim] = field(default_factory=dict)

    def extent(self, dim: int | str | None, unnamed: str) -> Dim:
        """Return a declared extent; one without number and name becomes the symbol ``unnamed``."""
        if isinstance(dim, int) and dim >= 0:
            return dim
        name = dim if isinstance(dim, str) and dim else unnamed
        parsed = self.read.get(name)
        if parsed is None:
            is_expression = name is dim and EXPRESSION.match(name)
            parsed = self._expression(name) if is_expression else self._symbol(name)
            self.read[name] = parsed
        return parsed

    def opaque(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes of an operator without definition: its name and registered work."""
        # the work may be an expression of symbols, as an extent may
        flop = {key: self.extent(given[key], key) for key in ("flop",) if key in given}
        return {"name": name, **flop}

    def _symbol(self, name: str) -> Poly:
        """Return a symbol in its range; a name that occurred before keeps its first range."""
        # a cache may be empty; other extents are at least 1 unless the caller gives 0
        lo = 0 if "past" in name.lower() or self.given.get(symbol_key(name)) == 0 else 1
        allowed = self.ranges.get(name)
        declared = symbol(name, max(lo, allowed.lo), allowed.hi) if allowed else symbol(name, lo)
        atom = next(declared.atoms())
        # a polynomial of one term: the symbol, times 1
        return Poly((((self.seen.setdefault(atom.key, atom),), 1),))

    def _expression(self, text: str) -> Dim:
        """Return an expression of symbols; the whole text as one symbol if it is not valid."""
        from perfc.ir.syntax.parse import parse_dim

        try:
            atoms_of_names = [self._symbol(name) for name in re.findall(r"[A-Za-z_][\w.]*", text)]
            return parse_dim(text, {atom.key: p for p in atoms_of_names for atom in p.atoms()})
        except (ParseError, ZeroDivisionError):
            # a text that does not parse as an expression is a name
            return self._symbol(text)

    def type(self, proto: TypeProto | None, name: str) -> Type:
        """Return the declared type of the value ``name``."""
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
        """Return the declared extents of the value ``name``."""
        extents: list[Dim] = []
        axes: list[tuple[str, int]] = []
        for axis, d in enumerate(dims):
            if isinstance(d, int) and d >= 0:
                extents.append(d)
                continue
            before = len(self.seen)
            extent = self.extent(d, f"{name}_d{axis}")
            extents.append(extent)
            # the symbol of this extent, or those that its expression introduced: only these have a
            # role by their place
            new = islice(reversed(self.seen), len(self.seen) - before)
            axes += [(key, axis) for key in {str(extent), *new} if key in self.seen]
        shape = tuple(extents)
        for key, axis in axes:
            self.places.setdefault(key, []).append(SymbolPlace(name, axis, shape, dtype))
        return shape

    def declarations(self) -> tuple[SymbolDecl, ...]:
        """Return every symbol with its default, in order of appearance."""
        roles = Roles(self.places, self.seen)
        return tuple(self._declaration(a, roles.assumed(key)) for key, a in self.seen.items())

    def _declaration(self, atom: Atom, assumed: Assumption) -> SymbolDecl:
        """Return a symbol with the size that the caller gives, else the assumed one."""
        if atom.key in self.given:
            return SymbolDecl(atom.key, self.given[atom.key], atom.lo, atom.hi, assumed.basis)
        return SymbolDecl(atom.key, assumed.size, atom.lo, atom.hi, assumed.basis, assumed.tie)
