"""What-if precision: the same model with its floating-point tensors in another element type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING

from perfc.errors import PassError
from perfc.ir.cost import Work
from perfc.ir.graph import Graph, Inputs, Module, Node, Value
from perfc.ir.op import REGISTRY, Kind, Op, Types
from perfc.ir.types import BY_CODE, DType, OptionalType, SequenceType, TensorType, Type

from . import Transform

if TYPE_CHECKING:
    from .manager import Analyses

SPELLINGS: Mapping[str, str] = {
    "fp64": "f64",
    "float64": "f64",
    "double": "f64",
    "fp32": "f32",
    "float32": "f32",
    "float": "f32",
    "fp16": "f16",
    "float16": "f16",
    "half": "f16",
    "bfloat16": "bf16",
    "int8": "i8",
    "int4": "i4",
    "fp8": "f8e4m3",
    "f8": "f8e4m3",
    "fp8e4m3": "f8e4m3",
    "e4m3": "f8e4m3",
    "fp8e5m2": "f8e5m2",
    "e5m2": "f8e5m2",
    "fp4": "f4e2m1",
}
"""Other names of precisions, as frameworks and command lines spell them."""

WIDE = ("f64", "f32", "tf32", "f16", "bf16")
NARROW = ("i8", "f8e4m3", "f8e5m2", "i4", "f4e2m1")
AUTOCAST = {"amp-f16": "f16", "amp-bf16": "bf16"}
"""What-if precisions that are autocast (`mixed`), and the type of their products."""
MATRIX_KINDS = frozenset({Kind.MATMUL, Kind.CONV, Kind.ATTENTION})
FOLLOWS = frozenset({"transpose"})
"""Movements that carry a narrow operand as well as views do."""


def precision(name: str) -> DType:
    """The element type that ``name`` asks for.

    Raises:
        PassError: it is none of those a model can be retyped to.

    >>> precision("fp8")
    <DType.F8E4M3FN: ('f8e4m3', 8, 17)>
    """
    code = SPELLINGS.get(name.lower(), name.lower())
    if code not in WIDE and code not in NARROW:
        choice = ", ".join((*WIDE, *NARROW, *AUTOCAST))
        raise PassError(f"no precision {name!r}", hint=f"choose one of {choice}", where="retype")
    return BY_CODE[code]


@dataclass(frozen=True)
class Retype(Transform):
    """The module as it would be in another precision: a what-if, not a conversion.

    - ``f64``, ``f32``, ``f16``, ``bf16``: every floating-point tensor of 16 bits or more is
      stored in that type.
    - ``tf32``: stored as f32, multiply–accumulates done in tf32.
    - ``i8``, ``f8e4m3``, ``f8e5m2``, ``i4``, ``f4e2m1``: matrix products, convolutions and
      attention multiply in that type; everything else is f16. A weight is stored narrow. So is
      an activation that only such operators read, directly or through views and transposes; one
      that others read too is stored as f16 and narrowed while it is loaded.

    Assumed: conversions are part of the kernels that write or read, so that there are no cast
    kernels and casts between types that became equal vanish; scales and zero points take no
    bytes; graph inputs and outputs are f16 where a narrow type is asked for. Recurrent operators
    keep f16. Integers, booleans, complex numbers and floats below 16 bits stay as they are.
    """

    dtype: str = "f16"

    def run(self, module: Module, am: Analyses) -> Module:
        """The module in the new precision; needs inferred types."""
        target = precision(self.dtype)
        narrow = target if target.code in NARROW else None
        stored = DType.F16 if narrow else DType.F32 if target is DType.TF32 else target
        executed = narrow or (DType.TF32 if target is DType.TF32 else None)
        renaming = Retyping(stored, narrow, executed)
        graph = renaming.graph(module.graph)
        return Module(graph, module.symbols, module.origin)


@dataclass(slots=True)
class Retyping:
    """State of one walk: which value stands for which.

    Args:
        stored: type of the tensors.
        narrow: type of the operands of matrix kernels, None where that is ``stored``.
        executed: type their multiply–accumulates are done in, None where operands tell.
    """

    stored: DType
    narrow: DType | None
    executed: DType | None
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def graph(self, graph: Graph) -> Graph:
        """The graph and the regions below it, retyped."""
        narrowed = narrow_values(graph) if self.narrow else frozenset[Value]()
        inputs = tuple(self.value(v, v in narrowed) for v in graph.inputs)
        weights = tuple(self.value(v, v in narrowed) for v in graph.weights)
        nodes: list[Node] = []
        for node in graph.nodes:
            made = self.node(node, narrowed)
            if made is not None:
                nodes.append(made)
        outputs = tuple(self.values.get(v, v) for v in graph.outputs)
        return Graph(graph.name, inputs, outputs, tuple(nodes), weights)

    def node(self, node: Node, narrowed: frozenset[Value]) -> Node | None:
        """The node on retyped operands; None for a cast between types that became equal."""
        ins = tuple(v and self.values.get(v, v) for v in node.inputs)
        outs = tuple(v and self.value(v, v in narrowed) for v in node.outputs)
        if node.op.mnemonic in ("cast", "cast_like") and ins and outs:
            source, old, new = ins[0], node.outputs[0], outs[0]
            if source and old and new and source.type == new.type:
                self.values[old] = source
                return None
        regions = tuple(self.graph(r) for r in node.regions)
        op = self.op(node, outs)
        return Node(op, ins, outs, regions, node.loc)

    def op(self, node: Node, outs: Inputs) -> Op:
        """The operator with its own element types changed, doing what the new types ask for."""
        op = node.op
        changed = {
            f.name: self.stored
            for f in fields(op)
            if isinstance(found := getattr(op, f.name), DType) and is_wide_float(found)
        }
        if changed:
            op = replace(op, **changed)
        executed = self.executed if operand_positions(node) else None
        results = tuple(element_type(v) for v in outs)
        if executed is None and self.narrow not in results:
            plain = REGISTRY[op.mnemonic]
            return op if type(op) is plain else _as(op, plain)
        return converting(op, executed, results)

    def value(self, v: Value, is_narrow: bool) -> Value:
        """What stands for ``v``: the same object where nothing changes."""
        dtype = self.narrow if is_narrow and self.narrow else self.stored
        type_ = retyped(v.type, dtype)
        if type_ == v.type:
            self.values[v] = v
            return v
        known = v.known
        if known is not None and dtype.is_integer:
            known = None
        weight = v.weight
        if weight is not None:
            nbytes = type_.nbytes if isinstance(type_, TensorType) else None
            size = nbytes if isinstance(nbytes, int) else None
            weight = replace(weight, nbytes=size, digest="")
        self.values[v] = made = Value(v.name, type_, known, weight)
        return made


def is_wide_float(dtype: DType) -> bool:
    """Whether it is a real floating-point type of 16 bits or more."""
    return dtype.is_float and dtype.bits >= 16


def retyped(type_: Type, dtype: DType) -> Type:
    """``type_`` with floats of 16 bits or more replaced by ``dtype``."""
    match type_:
        case TensorType(old, shape) if is_wide_float(old) and old is not dtype:
            return TensorType(dtype, shape)
        case SequenceType(elem, length, items):
            each = None if items is None else tuple(retyped(t, dtype) for t in items)
            return SequenceType(retyped(elem, dtype), length, each)
        case OptionalType(elem):
            return OptionalType(retyped(elem, dtype))
        case _:
            return type_


def operand_positions(node: Node) -> tuple[int, ...]:
    """The inputs that a matrix kernel multiplies: floats of rank 2 or more among the first."""
    if node.op.kind not in MATRIX_KINDS:
        return ()
    if node.op.mnemonic == "einsum":
        first = len(node.inputs)
    else:
        first = 3 if node.op.kind is Kind.ATTENTION else 2
    return tuple(i for i, v in enumerate(node.inputs[:first]) if v is not None and _is_matrix(v))


def _is_matrix(v: Value) -> bool:
    match v.type:
        case TensorType(dtype, shape):
            return is_wide_float(dtype) and shape is not None and len(shape) > 1
        case _:
            return False


def narrow_values(graph: Graph) -> frozenset[Value]:
    """Values that nobody but matrix kernels reads, through views and transposes too."""
    outer = {*graph.inputs, *graph.outputs}
    positions = {n: operand_positions(n) for n in graph.nodes}
    found: set[Value] = set()
    candidates = [*graph.weights, *(v for n in graph.nodes for v in n.results)]
    for v in reversed(candidates):
        readers = graph.users.get(v, ())
        if v in outer or not readers or not _is_matrix(v):
            continue
        if all(_takes_narrow(n, v, positions[n], found) for n in readers):
            found.add(v)
    for node in graph.nodes:
        if _follows(node) and node.inputs[0] not in found:
            found.difference_update(node.results)
    return frozenset(found)


def _follows(node: Node) -> bool:
    return bool(node.inputs) and (node.op.kind is Kind.VIEW or node.op.mnemonic in FOLLOWS)


def _takes_narrow(node: Node, v: Value, positions: tuple[int, ...], found: set[Value]) -> bool:
    used = [i for i, w in enumerate(node.inputs) if w is v]
    if node.regions or not used:
        return False
    if _follows(node):
        return used == [0] and all(r in found for r in node.results)
    return all(i in positions for i in used)


def element_type(v: Value | None) -> DType:
    """Element type of a tensor, UNKNOWN for anything else."""
    return v.type.dtype if v is not None and isinstance(v.type, TensorType) else DType.UNKNOWN


@cache
def _converting(mnemonic: str, executed: DType | None, results: tuple[DType, ...]) -> type[Op]:
    cls = REGISTRY[mnemonic]

    def infer(self: Op, ins: Inputs) -> Types:
        types = cls.infer(self, ins)
        changed = (
            TensorType(dtype, t.shape)
            if isinstance(t, TensorType) and dtype is not DType.UNKNOWN
            else t
            for t, dtype in zip(types, results, strict=False)
        )
        return (*changed, *types[len(results) :])

    def work(self: Op, ins: Inputs, outs: Types) -> Work | None:
        found = cls.work(self, ins, outs)
        return found if found is None or executed is None else replace(found, dtype=executed)

    return type(cls.__name__, (cls,), {"__doc__": cls.__doc__, "infer": infer, "work": work})


def converting(op: Op, executed: DType | None, results: tuple[DType, ...]) -> Op:
    """``op`` that multiplies in ``executed`` and writes ``results``, conversions included.

    It is of a subclass of its class, so that passes see the same operator.
    """
    return _as(op, _converting(op.mnemonic, executed, results))


def _as(op: Op, cls: type[Op]) -> Op:
    made = object.__new__(cls)
    for f in fields(op):
        object.__setattr__(made, f.name, getattr(op, f.name))
    return made
