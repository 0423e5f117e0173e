"""The performance IR: immutable graphs of typed values, operators, exact symbolic extents."""

from __future__ import annotations

from .cost import NO_TRAFFIC, NO_WORK, Traffic, Work, total_traffic, total_work
from .facts import Origin, weakest
from .graph import (
    NOWHERE,
    Graph,
    Loc,
    ModelOrigin,
    Module,
    Node,
    SymbolDecl,
    Value,
    Weight,
    captured,
    walk,
)
from .op import Kind, Op
from .symbolic.dim import Dim, Poly, dim_max, dim_min, interval, substitute, symbol
from .tensors.known import Known
from .tensors.types import (
    UNKNOWN,
    DType,
    MapType,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
    UnknownType,
)

__all__ = [
    "NOWHERE",
    "NO_TRAFFIC",
    "NO_WORK",
    "UNKNOWN",
    "DType",
    "Dim",
    "Graph",
    "Kind",
    "Known",
    "Loc",
    "MapType",
    "ModelOrigin",
    "Module",
    "Node",
    "Op",
    "OptionalType",
    "Origin",
    "Poly",
    "SequenceType",
    "SymbolDecl",
    "TensorType",
    "Traffic",
    "Type",
    "UnknownType",
    "Value",
    "Weight",
    "Work",
    "captured",
    "dim_max",
    "dim_min",
    "interval",
    "substitute",
    "symbol",
    "total_traffic",
    "total_work",
    "walk",
    "weakest",
]
