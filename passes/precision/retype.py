"""Retyping: the same model with its floating-point tensors in another element type."""

from __future__ import annotations

from dataclasses import field, fields, replace
from functools import cache

from perfc.errors import ParseError, PassError
from perfc.ir import (
    DType,
    Graph,
    Inputs,
    Kind,
    Module,
    Node,
    Op,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
    Types,
    Value,
    Work,
    dtype_named,
    entity,
    frozen,
    record,
)
from perfc.ir.op import REGISTRY
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.tensors.types import with_tensors

from .. import Transform
from ..manager import Analyses

WIDE = ("f64", "f32", "tf32", "f16", "bf16")
"""Precisions of all tensors and operations."""
NARROW = ("i8", "f8e4m3", "f8e5m2", "i4", "f4e2m1")
"""Precisions of products and of stored tensors; all other operations are in f16."""
AUTOCAST = {"amp-f16": "f16", "amp-bf16": "bf16"}
"""Precisions that are autocast (`mixed`), and the type of their products."""
MATRIX_KINDS = frozenset({Kind.MATMUL, Kind.CONV, Kind.ATTENTION})
"""Kinds whose multiply–accumulates may have another type than their results."""


def precision(name: str) -> DType:
    """Return the element type of a name.

    Raises:
        PassError: a model cannot be retyped to it.

    >>> precision("fp8")
    <DType.F8E4M3FN: ('f8e4m3', 8, 17)>
    """
    try:
        dtype = dtype_named(name)
    except ParseError:
        dtype = DType.UNKNOWN
    if dtype.code not in WIDE and dtype.code not in NARROW:
        choice = ", ".join((*WIDE, *NARROW, *AUTOCAST))
        raise PassError(
            f"no precision {name[:32]!r}", hint=f"choose one of {choice}", where="retype"
        )
    return dtype


def precision_name(name: str) -> str:
    """Return the canonical name of a what-if precision; "" stands for that of the model.

    Raises:
        PassError: there is none of that name.

    >>> [precision_name(n) for n in ("", "FP16", "float8_e4m3fn", "amp", "AMP_bfloat16")]
    ['', 'f16', 'f8e4m3', 'amp-f16', 'amp-bf16']
    """
    lower = name.strip().lower()
    is_autocast = lower.startswith("amp")
    element = lower.removeprefix("amp").lstrip("-_ ") if is_autocast else lower
    if not element:
        return "amp-f16" if is_autocast else ""
    code = precision(element).code
    if not is_autocast:
        return code
    if f"amp-{code}" not in AUTOCAST:
        raise PassError(f"no autocast to {code}", hint=" or ".join(AUTOCAST), where="retype")
    return f"amp-{code}"


@frozen
class Retype(Transform):
    """The module as it would be in another precision: a what-if, not a conversion.

    - ``f64``, ``f32``, ``f16``, ``bf16``: every floating-point tensor of 16 bits or more is
      stored in that type.
    - ``tf32``: stored as f32, multiply–accumulates done in tf32.
    - ``i8``, ``f8e4m3``, ``f8e5m2``, ``i4``, ``f4e2m1``: every multiply–accumulate is done in that
      type and every other operation in f16. Every floating-point tensor is stored narrow, also
      graph inputs, outputs and sums of residual branches: runtimes may write and read quantised
      values anywhere, and a floor must not count more bytes. Biases, scales and other
      weights of one axis, and constants whose contents are known, are f16.

    Assumed: conversions are part of the kernels that write or read, so that there are no cast
    kernels and casts between types that became equal vanish; scales and zero points take no
    bytes. Integers, booleans, complex numbers and floats below 16 bits stay as they are.

    Source: TensorRT developer guide, "Working with Quantized Types": any layer runs in a quantised
    type between a dequantisation before it and a quantisation behind it.
    """

    dtype: str = "f16"

    def run(self, module: Module, am: Analyses) -> Module:
        """Return the module in the new precision; needs inferred types."""
        target = precision(self.dtype)
        narrow = target if target.code in NARROW else None
        # tensors of tf32 products are f32; next to narrow products all else is f16
        stored = DType.F16 if narrow else DType.F32 if target is DType.TF32 else target
        executed = narrow or (DType.TF32 if target is DType.TF32 else None)
        renaming = Retyping(stored, narrow, executed)
        graph = renaming.graph(module.graph)
        return Module(graph, module.symbols, module.origin)


@entity
class Retyping:
    """State of one walk over a graph and its regions.

    Args:
        stored: type of the tensors, and of all operations but products.
        narrow: type of the tensors that quantised models store narrow; None for ``stored``.
        executed: type of multiply–accumulates; None for that of the operands.
        values: replacement of each value.
    """

    stored: DType
    narrow: DType | None
    executed: DType | None
    values: dict[Value, Value] = field(default_factory=dict)

    def graph(self, graph: Graph) -> Graph:
        """Return the graph and the regions below it, retyped."""
        inputs = tuple(map(self.value, graph.inputs))
        weights = tuple(map(self.value, graph.weights))
        nodes: list[Node] = []
        for node in graph.nodes:
            retyped = self.node(node)
            if retyped is not None:
                nodes.append(retyped)
        outputs = tuple(self.values.get(v, v) for v in graph.outputs)
        return Graph(graph.name, inputs, outputs, tuple(nodes), weights)

    def node(self, node: Node) -> Node | None:
        """Return the node on retyped operands; None for a cast between types that became equal."""
        ins = tuple(v and self.values.get(v, v) for v in node.inputs)
        outs = tuple(v and self.value(v) for v in node.outputs)
        if isinstance(node.op, Cast) and ins and outs:
            source, old, new = ins[0], node.outputs[0], outs[0]
            if source and old and new and source.type == new.type:
                self.values[old] = source
                return None
        regions = tuple(self.graph(r) for r in node.regions)
        return Node(self.op(node, ins, outs), ins, outs, regions, node.loc)

    def op(self, node: Node, ins: Inputs, outs: Inputs) -> Op:
        """Return the operator with its element types changed, and as a subclass if it converts.

        Args:
            node: the node before.
            ins: retyped operands.
            outs: retyped results.
        """
        op = node.op
        changed = {
            f.name: self.stored
            for f in fields(op)
            if isinstance(dtype := getattr(op, f.name), DType) and is_wide_float(dtype)
        }
        if changed:
            op = replace(op, **changed)
        results = tuple(map(element_type, outs))
        if self.narrow is not None and self.narrow in (*results, *map(element_type, ins)):
            operands = (retyped(v.type, self.stored) if v else None for v in node.inputs)
            loaded = Loaded(self.stored, tuple(dtype_of(t) for t in operands))
            return converting(op, self.executed, results, loaded)
        if self.narrow is None and self.executed is not None and operand_positions(node):
            return converting(op, self.executed, results)
        if ins == node.inputs and outs != node.outputs:
            # the operands are unchanged and the operator itself fixes the type of its results
            return converting(op, None, results)
        # a class that an earlier retyping made goes back to the declared one
        declared = REGISTRY[op.mnemonic]
        return op if type(op) is declared else _as(op, declared)

    def value(self, v: Value) -> Value:
        """Return the replacement of ``v``; the same object if nothing changes."""
        dtype = self.narrow if self.narrow is not None and is_narrowed(v) else self.stored
        type_ = retyped(v.type, dtype)
        if type_ == v.type:
            self.values[v] = v
            return v
        weight = v.weight
        if weight is not None:
            size = type_.known_nbytes if isinstance(type_, TensorType) else None
            # the digest is of the bytes in the file, which are not those of a retyped tensor
            weight = replace(weight, nbytes=size, digest="")
        self.values[v] = narrowed = Value(v.name, type_, v.known, weight)
        return narrowed


def is_narrowed(v: Value) -> bool:
    """Return True if quantized models may store a floating-point tensor in the narrow type.

    Activations, and weights of two axes or more. Contents that are known are constants, such as the
    scales of a Resize, which passes still read.
    """
    if v.known is not None:
        return False
    shape = v.shape
    return v.weight is None or shape is None or len(shape) > 1


def is_wide_float(dtype: DType) -> bool:
    """Return True for a real floating-point type of 16 bits or more."""
    return dtype.is_float and dtype.bits >= 16


def retyped(type_: Type, dtype: DType) -> Type:
    """Return ``type_`` with floats of 16 bits or more replaced by ``dtype``."""

    def narrowed(t: TensorType) -> TensorType:
        is_kept = t.dtype is dtype or not is_wide_float(t.dtype)
        return t if is_kept else TensorType(dtype, t.shape)

    return with_tensors(type_, narrowed)


def operand_positions(node: Node) -> tuple[int, ...]:
    """Return the inputs that a matrix kernel multiplies: floats of rank 2 or more."""
    if node.op.kind not in MATRIX_KINDS:
        return ()
    if node.op.signature.repeats:
        # an Einsum multiplies all its operands
        first = len(node.inputs)
    else:
        # queries, keys and values; else data and matrix or filters, without the bias
        first = 3 if node.op.kind is Kind.ATTENTION else 2
    return tuple(i for i, v in enumerate(node.inputs[:first]) if v is not None and _is_matrix(v))


def _is_matrix(v: Value) -> bool:
    """Return True for floats of 16 bits or more with two axes or more."""
    match v.type:
        case TensorType(dtype, shape):
            return is_wide_float(dtype) and shape is not None and len(shape) > 1
        case _:
            return False


def element_type(v: Value | None) -> DType:
    """Return the element type of a tensor, or of tensors in a container; UNKNOWN for all else."""
    return dtype_of(None if v is None else v.type)


def dtype_of(type_: Type | None) -> DType:
    """Return the type of tensors, also in sequences and optionals; UNKNOWN for all other types."""
    match type_:
        case TensorType(dtype, _):
            return dtype
        case SequenceType(elem) | OptionalType(elem):
            return dtype_of(elem)
        case _:
            return DType.UNKNOWN


def of_elements(type_: Type, dtype: DType) -> Type:
    """Return ``type_`` with ``dtype`` as its element type; ``type_`` itself if that is UNKNOWN."""
    if dtype is DType.UNKNOWN:
        return type_
    return with_tensors(type_, lambda t: TensorType(dtype, t.shape))


@record
class Loaded:
    """Element types with which an operator on narrow tensors computes, other than products.

    Args:
        computed: element type of the computation.
        operands: element types of the operands once loaded.
    """

    computed: DType
    operands: tuple[DType, ...]

    def widened(self, ins: Inputs) -> Inputs:
        """Return stand-ins for the operands with their types once loaded."""
        pairs = zip(ins, self.operands, strict=True)
        return tuple(v and as_loaded(v, dtype) for v, dtype in pairs)


def as_loaded(v: Value, dtype: DType) -> Value:
    """Return a value with another element type; the same object where nothing changes."""
    return v if element_type(v) is dtype else replace(v, type=of_elements(v.type, dtype))


@cache
def _converting(
    mnemonic: str, executed: DType | None, results: tuple[DType, ...], loaded: Loaded | None
) -> type[Op]:
    """Return the subclass of an operator that `converting` needs; one for each set of types."""
    cls = REGISTRY[mnemonic]

    def infer(self: Op, ins: Inputs) -> Types:
        # results are inferred from loaded operands, then take their stored types
        types = cls.infer(self, ins if loaded is None else loaded.widened(ins))
        changed = (of_elements(t, dtype) for t, dtype in zip(types, results, strict=False))
        return (*changed, *types[len(results) :])

    def work(self: Op, ins: Inputs, outs: Types) -> Work | None:
        counted = cls.work(self, ins if loaded is None else loaded.widened(ins), outs)
        dtype = executed
        # without products the operator computes in the type of loaded tensors
        if loaded is not None and counted is not None and counted.mac == 0:
            dtype = loaded.computed
        return counted if counted is None or dtype is None else replace(counted, dtype=dtype)

    return type(cls.__name__, (cls,), {"__doc__": cls.__doc__, "infer": infer, "work": work})


def converting(
    op: Op, executed: DType | None, results: tuple[DType, ...], loaded: Loaded | None = None
) -> Op:
    """Return ``op`` as an operator that multiplies in ``executed`` and writes ``results``.

    It includes the conversions. Its class is a subclass, so that passes see the same operator.

    Args:
        op: operator of any class.
        executed: type of multiply–accumulates; None for that of the operands.
        results: element types of the results.
        loaded: types of the computation and of loaded operands; None for those of the operands.
    """
    return _as(op, _converting(op.mnemonic, executed, results, loaded))


def _as(op: Op, cls: type[Op]) -> Op:
    """Return a copy of an operator with another class, without checking its fields again."""
    copied = object.__new__(cls)
    for f in fields(op):
        object.__setattr__(copied, f.name, getattr(op, f.name))
    return copied
