"""Parameter counts from the tensors in a model's file, independent of later folding."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import Enum

from perfc.common.fitted import data_next_to
from perfc.ir import Dim, DType, Graph, Kind, Module, Node, Op, Value, dim_sum, frozen
from perfc.ir.ops.control.control import If, Scan
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.elementwise.elementwise import Mul
from perfc.ir.ops.normalization.normalization import BatchNormalization
from perfc.ir.ops.opaque import Opaque
from perfc.ir.ops.quantized.quantize import DequantizeLinear, DynamicQuantizeLinear
from perfc.ir.ops.resampling.resize import Resize, Upsample

from .. import Analysis
from ..manager import Analyses
from ..memory.liveness import all_weights, in_memory
from ..rewriting.canonicalize import NEVER_FOLDED, live_nodes
from ..runtimes import Runtime
from .cost import executions


class Role(Enum):
    """Role of a stored tensor in the model; of several uses the first in this list counts."""

    PARAMETER = "parameter"
    """A learned weight, bias or embedding, in the type that the file stores."""
    STATISTIC = "running statistic"
    """Mean or variance of a batch normalization, updated without a gradient."""
    QUANTIZATION = "scale or zero point"
    """Converts a stored integer to a real number."""

    __hash__ = object.__hash__  # faster than Enum's hash of the name


ORDER = tuple(Role)
"""Roles in order of precedence, for a tensor with several."""
STATISTICS = frozenset({"input_mean", "input_var"})
"""Operands of a batch normalization that training updates without a gradient."""
QUANTIZATION = re.compile(r"(?<!norm_)scale|zero_point|absmax")
"""Names of operands that scale or shift a quantised one; a ``norm_scale`` is a learned factor."""
SETTINGS = frozenset(data_next_to(__file__)["settings"])
"""Names of operands that are settings or state; none of them is learned."""
MOVES = frozenset({Kind.VIEW, Kind.MOVEMENT, Kind.GATHER})
"""Kinds of operators whose results contain their input's elements unchanged."""
BIASES = frozenset({"B", "C", "bias"})
"""Operands that quantised operators take in 32 bits."""


@frozen
class ParameterTable:
    """Stored tensors that a model computes with, each once.

    Args:
        roles: role of each tensor.
        elements: number of logical elements, which may be packed into fewer stored elements.
        sources: from the name of a value that is computed from stored tensors alone to those
            tensors; a stored tensor is its only source.
    """

    roles: Mapping[Value, Role]
    elements: Mapping[Value, Dim]
    sources: Mapping[str, tuple[Value, ...]]

    def count(self, role: Role) -> Dim:
        """Return the elements of all tensors of a role."""
        return dim_sum(self.elements[v] for v, r in self.roles.items() if r is role)

    def tied(self, module: Module, table: Runtime) -> tuple[Dim, Dim]:
        """Return elements of parameters that are read in several layouts, and of further copies.

        A head that shares the table of an embedding reads it transposed. PyTorch reads the table
        in place; a runtime that folds the transposition stores a second copy.
        """
        weights = all_weights(module.graph)
        uses, places = self._whole(weights), self._whole(in_memory(weights, table))
        several = dim_sum(self.elements[w] for w, n in uses.items() if n > 1)
        return several, dim_sum(self.elements[w] * (n - 1) for w, n in places.items() if n > 1)

    def _whole(self, stored: Iterable[Value]) -> Counter[Value]:
        """Return for each parameter the number of stored tensors that hold all of its elements."""
        return Counter(
            w
            for v in stored
            for w in self.sources.get(v.name, ())
            if self.roles.get(w) is Role.PARAMETER and numel(w) == numel(v)
        )

    def behind(self, values: Iterable[Value | None]) -> dict[Value, Dim]:
        """Return elements of the parameters from which folded ``values`` were computed."""
        read = (s for v in values if v is not None for s in self.sources.get(v.name, ()))
        return {v: self.elements[v] for v in read if self.roles.get(v) is Role.PARAMETER}


@frozen
class Parameters(Analysis[ParameterTable]):
    """The role and the logical elements of every stored tensor that a result depends on.

    Runs on the module before folding: an operator on stored tensors alone (a transposition, a
    cast, a dequantization) passes them to the operators that read its result, so that the count
    does not depend on a runtime's folding. Integers of more than 8 bits are shapes, axes, trip
    counts and positions, unless a quantised operator takes them as a bias.
    """

    def run(self, module: Module, am: Analyses) -> ParameterTable:
        """Return the table of the module; needs inferred types."""
        walk = Walk()
        walk.graph(module.graph)
        walk.use(Role.PARAMETER, [v for v in module.graph.outputs if v.is_real])
        return ParameterTable(
            walk.roles, walk.elements, {v.name: s for v, s in walk.sources.items() if s}
        )


class Walk:
    """Follows stored tensors to the operators that compute with them."""

    def __init__(self) -> None:
        self.sources: dict[Value, tuple[Value, ...]] = {}
        self.stored: set[Value] = set()
        self.roles: dict[Value, Role] = {}
        self.elements: dict[Value, Dim] = {}
        self.scaled: set[Value] = set()
        """Scales of a dynamic quantization, and the products of integers that they scale."""

    def graph(self, graph: Graph) -> None:
        """Record for each value of one graph the stored tensors it comes from."""
        for w in graph.weights:
            self.sources[w] = (w,)
            self.stored.add(w)
        alive, _ = live_nodes(list(graph.nodes), graph.outputs)
        for node in alive:
            if node.regions:
                self.control(node)
            else:
                self.node(node)

    def control(self, node: Node) -> None:
        """Follow operands into the regions that run; into both if a condition is unknown."""
        # Scan-8 has sequence lengths as its first operand, which its body does not get
        skipped = int(isinstance(node.op, Scan) and node.op.has_batch)
        for region in executions(node).regions:
            if not isinstance(node.op, If):
                for inner, outer in zip(region.inputs, node.inputs[skipped:], strict=False):
                    self.sources[inner] = self.sources.get(outer, ()) if outer else ()
            self.graph(region)
            # a region may return a stored tensor that none of its nodes reads
            self.use(Role.PARAMETER, [v for v in region.outputs if v.is_real and v in self.stored])

    def node(self, node: Node) -> None:
        """Assign roles to an operator's operands, or pass them to the readers of its results."""
        op, present = node.op, [v for v in node.inputs if v is not None]
        # a dequantization never folds, but here it passes its weight on to the readers
        is_stored = op.kind not in NEVER_FOLDED - {Kind.QUANTIZE} and all(
            v in self.stored or (v.known is not None and v.known.is_complete) for v in present
        )
        is_scaling = self.scales(node)
        # stored tensors that readers of the results get in place of this operator
        passed_on: dict[Value, None] = {}
        packed = op.logical_elements(node.inputs)
        for i, v in enumerate(node.inputs):
            sources = self.sources.get(v, ()) if v is not None else ()
            if v is None or not sources:
                continue
            role = role_of(op, op.operand_name(i), v)
            if role is Role.PARAMETER and is_scaling and v not in self.scaled:
                role = Role.QUANTIZATION
            if i in packed:
                self.unpack(sources, v, packed[i])
            # integers that an operator only moves, such as a quantized embedding, have their role
            # from the operators that read its result
            if role is Role.PARAMETER and (is_stored or (op.kind in MOVES and not v.is_real)):
                passed_on.update(dict.fromkeys(sources))
            elif role is not None:
                self.use(role, [v])
        for v in node.results:
            self.sources[v] = tuple(passed_on)
            if is_stored:
                self.stored.add(v)

    def scales(self, node: Node) -> bool:
        """Record what a node scales; return True if its stored operands are scales.

        After a dynamic quantization, sums of products of integers are multiplied by its scale and
        by the scale of the weights.
        """
        match node.op:
            case DynamicQuantizeLinear():
                self.scaled.update(node.results[1:2])
            case Op(kind=Kind.MATMUL | Kind.CONV) if has_integers(node.results[0]):
                self.scaled.update(node.results)
            case Cast() | Mul() if not self.scaled.isdisjoint(node.inputs):
                # a cast is still to be scaled; a product is a scale only if it has one element
                is_scale = isinstance(node.op, Cast) or numel(node.results[0]) == 1
                self.scaled.update(node.results if is_scale else ())
                return isinstance(node.op, Mul)
            case _:
                pass
        return False

    def use(self, role: Role, values: Collection[Value]) -> None:
        """Record that an operator computes with the stored tensors behind ``values``."""
        for w in dict.fromkeys(s for v in values for s in self.sources.get(v, ())):
            if role is Role.PARAMETER and not w.is_parameter:
                continue
            self.roles[w] = min(role, self.roles.get(w, role), key=ORDER.index)
            self.elements.setdefault(w, numel(w))

    def unpack(self, sources: Collection[Value], operand: Value, elements: Dim) -> None:
        """Record the number of logical elements of the stored tensors behind an operand."""
        for w in sources:
            # a stored tensor may be a part of the operand, joined by a concatenation: its shares of
            # the logical and of the stored elements are equal
            stored, in_operand = numel(w), numel(operand)
            if (
                isinstance(stored, int)
                and isinstance(in_operand, int)
                and isinstance(elements, int)
            ):
                self.elements[w] = stored * elements // in_operand if in_operand else 0


def role_of(op: Op, name: str, v: Value) -> Role | None:
    """Return the role of an operator's stored operand ``name``; None if it is a setting.

    >>> from perfc.ir import TensorType
    >>> role_of(DequantizeLinear(), "x_scale", Value("s", TensorType(DType.F32, ())))
    <Role.QUANTIZATION: 'scale or zero point'>
    """
    if op.kind in (Kind.CLASSICAL, Kind.STRING):
        return Role.PARAMETER
    if name in SETTINGS or op.kind is Kind.SHAPE:
        return None
    # name of a scale that is learned, as a normalization has, and so scales no integers
    learned = "scale" if op.kind is Kind.NORMALIZATION else ""
    is_quantised = any(o != learned and QUANTIZATION.search(o) for o in op.signature.names)
    match op:
        case BatchNormalization() if name in STATISTICS:
            return Role.STATISTIC
        case Resize() | Upsample() if name != "X":
            return None
        case _ if is_quantised and name != learned and QUANTIZATION.search(name):
            return Role.QUANTIZATION
    dtype = v.dtype
    if not dtype.is_integer and dtype is not DType.BOOL:
        return Role.PARAMETER
    # sums of products of 8-bit integers have 32 bits, and so have the biases added to them
    if dtype is DType.I32 and is_quantised:
        is_bias = name in BIASES or isinstance(op, DequantizeLinear)
        return Role.PARAMETER if is_bias else None
    # wider integers are shapes and positions
    is_computed = is_quantised or op.kind in MOVES or isinstance(op, Cast | Opaque)
    return Role.PARAMETER if dtype.is_integer and dtype.bits <= 8 and is_computed else None


def has_integers(v: Value) -> bool:
    """Return True for a sum of products of integers, which a scale makes real numbers."""
    return v.dtype is DType.I32


def numel(v: Value) -> Dim:
    """Return the elements of a tensor; 0 if unknown."""
    return v.numel or 0
