"""Type inference: the type of every value, and the contents of those that drive shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from perfc.errors import ShapeError
from perfc.ir import (
    UNKNOWN,
    Dim,
    DType,
    Folded,
    Graph,
    Inputs,
    Kind,
    Known,
    Module,
    Node,
    Op,
    Poly,
    SequenceType,
    TensorType,
    Type,
    Types,
    UnknownType,
    Value,
    frozen,
    interval,
    mutable,
    symbols,
)
from perfc.ir.graphs.duplicates import DuplicateKeys
from perfc.ir.op import UNFORESEEN
from perfc.ir.ops.opaque import Opaque
from perfc.ir.symbolic.fresh import issued, numbering
from perfc.ir.symbolic.sizes import bound_type, misfit

from .. import Transform
from ..manager import Analyses

Key = tuple[int, ...]


class Inferred(NamedTuple):
    """Types and contents of the results of an application.

    ``numbers`` identify type and content of each result in `DuplicateKeys`; they are empty where
    the application is not remembered. ``misfit`` is the first result that no tensor can be, as its
    position and the extent at fault.
    """

    types: Types
    folded: Folded
    numbers: tuple[int, ...] = ()
    misfit: tuple[int, int] | None = None


NOTHING = Inferred((), ())
"""Result of an application of which nothing can be inferred."""


class Application(NamedTuple):
    """An operator on operands, and what that gives; equal applications are listed once."""

    op: Op
    ins: Inputs
    result: Inferred


@frozen
class Shapes(Transform):
    """Infer types and small contents, with symbols, subgraphs included.

    Each operator's ``infer`` and ``fold`` are pure, so equal operands give remembered results.
    A declared type fills what inference leaves open; it never overrides it.
    """

    def run(self, module: Module, am: Analyses) -> Module:
        """Return the module with every value typed.

        Raises:
            ShapeError: operands of a node cannot go together.
        """
        return inferred(module)[0]


@frozen
class Recording(Shapes):
    """`Shapes` that also lists the applications that it infers.

    Args:
        applications: the different applications in the module, filled by ``run``.
    """

    # a cached result would leave the list empty
    is_retained = False
    applications: list[Application] = field(default_factory=list, compare=False)

    def run(self, module: Module, am: Analyses) -> Module:
        """Return the module with every value typed, as `Shapes` gives it."""
        typed, applications = inferred(module)
        self.applications.extend(applications)
        return typed


def inferred(module: Module) -> tuple[Module, list[Application]]:
    """Return a module with every value typed, and the applications in it that differ.

    Raises:
        ShapeError: operands of a node cannot go together.
    """
    declared = {s.name for s in module.symbols}
    inference = Inference(declared=declared)
    with numbering(declared):
        graph = inference.graph(module.graph, {})
    return Module(graph, module.symbols, module.origin), inference.applications


@mutable
class Inference:
    """Walks graphs and remembers what equal applications gave.

    Args:
        declared: names of the module's symbols.
        sizes: numbers that replace symbols, in the types of inputs and in declared types.
        duplicates: gives equal operators and equal operands the same number.
        memo: result of each application, by these numbers.
        fills: result of `filled` for each inferred and declared type.
        bound: types of the file with ``sizes`` put in.
        equal: one object for each type.
        applications: the different applications, in the order in which they are met.
        steps: nodes inferred so far, to limit a search.
        refused: the last node whose operands did not go together.
        varying: conditions of branches whose content changes between iterations.
    """

    declared: set[str] = field(default_factory=set)
    sizes: Mapping[str, int] = field(default_factory=dict)
    duplicates: DuplicateKeys = field(default_factory=DuplicateKeys)
    memo: dict[Key, Inferred] = field(default_factory=dict)
    fills: dict[tuple[Type, Type], tuple[Type, bool]] = field(default_factory=dict)
    bound: dict[Type, Type] = field(default_factory=dict)
    equal: dict[Type, Type] = field(default_factory=dict)
    applications: list[Application] = field(default_factory=list)
    steps: int = 0
    refused: Node | None = None
    varying: set[Value] = field(default_factory=set)

    def graph(
        self,
        graph: Graph,
        env: Mapping[Value, Value],
        arguments: Sequence[tuple[Type, Known | None]] | None = None,
    ) -> Graph:
        """Return ``graph`` with types, outer values from ``env``, inputs from ``arguments``."""
        # all of the outer values would take quadratic time in many regions
        local = {v: env[v] for v in graph.free if v in env} if env else dict[Value, Value]()
        inputs: list[Value] = []
        for i, v in enumerate(graph.inputs):
            new = v
            type_ = self.sized(v.type)
            # the loop or branch around knows more of an input than its declaration
            if arguments is not None and i < len(arguments):
                new = Value(v.name, sharper(arguments[i][0], type_), arguments[i][1], v.weight)
            elif type_ is not v.type:
                new = Value(v.name, type_, v.known, v.weight)
            if new is not v:
                local[v] = new
            inputs.append(new)
        nodes = [self.node(node, local) for node in graph.nodes]
        outputs = tuple(local.get(v, v) for v in graph.outputs)
        return Graph(graph.name, tuple(inputs), outputs, tuple(nodes), graph.weights)

    def node(self, node: Node, local: dict[Value, Value]) -> Node:
        """Return a node with typed results, itself if it has them; ``local`` gets new values."""
        self.steps += 1
        ins: Inputs = node.inputs
        if not local.keys().isdisjoint(ins):
            ins = tuple([v if v is None else local.get(v, v) for v in ins])
        regions = node.regions
        numbers: tuple[int, ...] = ()
        try:
            if regions and node.op.kind is Kind.CONTROL:
                # imported for models with control flow only
                from .regions import infer_control

                types, folded, regions = infer_control(self, node, ins, local)
            else:
                types, folded, numbers, misfit = self.apply(node.op, ins)
                if misfit is not None:
                    raise impossible(node, *misfit)
        except ShapeError as error:
            if not error.where:
                self.refused = node
            raise _located(error, node, ins) from None
        outputs: list[Value | None] = []
        is_new = ins is not node.inputs or regions is not node.regions
        for i, v in enumerate(node.outputs):
            if v is None:
                outputs.append(None)
                continue
            inferred = types[i] if i < len(types) else UNKNOWN
            content = folded[i] if i < len(folded) and v not in self.varying else None
            type_, as_inferred = self.fill(inferred, v.type)
            new = v
            if type_ is not v.type or content is not v.known or v.weight is not None:
                is_new = True
                new = local[v] = Value(v.name, type_, content)
            if as_inferred and i < len(numbers):
                self.duplicates.values[new] = numbers[i]
            outputs.append(new)
        return Node(node.op, ins, tuple(outputs), regions, node.loc) if is_new else node

    def apply(self, op: Op, ins: Inputs) -> Inferred:
        """Return the types and contents of an operator's results, remembered."""
        key = self.duplicates.operator(op), *self.duplicates.operands(ins)
        outcome = self.memo.get(key)
        if outcome is not None:
            return outcome
        before = issued()
        try:
            types, folded = applied(op, ins)
            # one object for equal types: further down, they are compared by identity first
            types = tuple([self.equal.setdefault(t, t) for t in types])
        except UNFORESEEN:
            # one malformed attribute must not end the analysis of a whole model
            self.applications.append(Application(op, ins, NOTHING))
            return NOTHING
        misfits = ((i, d) for i, t in enumerate(types) if (d := misfit(t)) is not None)
        at_fault = next(misfits, None)
        # a result with a new symbol, as its extent depends on data, is not remembered: each
        # application has a symbol for itself
        if issued() != before:
            outcome = Inferred(types, folded, (), at_fault)
            self.applications.append(Application(op, ins, outcome))
            return outcome
        contents = [*folded, *[None] * (len(types) - len(folded))]
        numbers = tuple(map(self.duplicates.content, types, contents))
        outcome = self.memo[key] = Inferred(types, folded, numbers, at_fault)
        self.applications.append(Application(op, ins, outcome))
        return outcome

    def sized(self, type_: Type) -> Type:
        """Return a type of the file with numbers for its symbols; itself without ``sizes``."""
        if not self.sizes:
            return type_
        numeric = self.bound.get(type_)
        if numeric is None:
            numeric = self.bound[type_] = bound_type(type_, self.sizes)
        return numeric

    def fill(self, inferred: Type, declared: Type) -> tuple[Type, bool]:
        """Return the result of `filled`, and True if it equals the inferred type; cached.

        A result equal to the declared type is the declared object, so that the node stays as it is.
        """
        # most values have no declared type
        if declared is inferred or declared is UNKNOWN:
            return inferred, True
        key = inferred, declared
        filled = self.fills.get(key)
        if filled is None:
            type_ = self.filled(inferred, self.sized(declared))
            as_inferred = type_ == inferred
            filled = self.fills[key] = declared if type_ == declared else type_, as_inferred
        return filled

    def filled(self, inferred: Type, declared: Type) -> Type:
        """Return ``inferred``, with rank, extents and type that only the declaration knows."""
        if inferred == declared:
            return inferred
        match inferred, declared:
            case UnknownType(), _:
                return declared
            case TensorType(dtype, None), TensorType(other, shape):
                return TensorType(other if dtype is DType.UNKNOWN else dtype, shape)
            case TensorType(dtype, mine), TensorType(other, theirs) if mine and theirs:
                if len(mine) != len(theirs):
                    return inferred
                dims = tuple(self._extent(a, b) for a, b in zip(mine, theirs, strict=True))
                return TensorType(other if dtype is DType.UNKNOWN else dtype, dims)
            case SequenceType(UnknownType(), length), SequenceType(elem, _):
                return SequenceType(elem, length)
            case _:
                return inferred

    def _extent(self, mine: Dim, declared: Dim) -> Dim:
        """Return the declared extent where the inferred one depends on data and may equal it."""
        if not isinstance(mine, Poly) or not self._is_data(mine):
            return mine
        if isinstance(declared, int):
            lo, hi = interval(mine)
            fits = (lo is None or lo <= declared) and (hi is None or declared <= hi)
            return declared if fits else mine
        return mine if self._is_data(declared) else declared

    def _is_data(self, dim: Dim) -> bool:
        """Return True if an extent has a symbol that only data decides."""
        return any(s.key not in self.declared for s in symbols(dim))


def applied(op: Op, ins: Inputs) -> tuple[Types, Folded]:
    """Return the types and contents of an operator's results.

    Raises:
        ShapeError: the operands cannot go together.
    """
    types = op.infer(ins)
    return types, checked(types, op.fold(ins, types))


def sharper(first: Type, second: Type) -> Type:
    """Return the one of two types for the same value that says more."""
    match first, second:
        case UnknownType(), _:
            return second
        case TensorType(dtype, None), TensorType(other, shape):
            return TensorType(other if dtype is DType.UNKNOWN else dtype, shape)
        case TensorType(DType.UNKNOWN, shape), TensorType(other, _):
            return TensorType(other, shape)
        case _:
            return first


def checked(types: Types, folded: Folded) -> Folded:
    """Return the contents that agree with their types; one that does not is dropped."""
    if not folded:
        return folded
    return tuple(k if fits(t, k) else None for t, k in zip(types, folded, strict=False))


def fits(type_: Type, known: Known | None) -> bool:
    """Return True if a value of this type can have this content."""
    match type_:
        case TensorType(shape=shape):
            return known is not None and known.shape == shape
        case SequenceType(length=length):
            return known is not None and known.shape == (length,)
        case _:
            return False


def impossible(node: Node, index: int, extent: int) -> ShapeError:
    """Return the error of a result that no tensor can be."""
    value = node.outputs[index] if index < len(node.outputs) else None
    name = f"result {index}" if value is None else value.name
    if extent < 0:
        return ShapeError(f"leaves {name} with extent {extent}")
    return ShapeError(f"{name} has more than 2^{extent.bit_length() - 1} elements")


def _located(error: ShapeError, node: Node, ins: Inputs) -> ShapeError:
    """Return an error with node and operands; itself if an inner node is named already."""
    if error.where:
        return error
    shown = ", ".join("-" if v is None else str(v.type) for v in ins)
    name = "opaque" if isinstance(node.op, Opaque) else node.loc.op_type or node.op.mnemonic
    return ShapeError(
        f"{name}: {error.message}; operands {shown}",
        where=f"node {node.name!r}",
        hint=error.hint or "the model contradicts itself here; check what feeds this node",
    )
