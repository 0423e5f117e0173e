"""One module at any numbers of its symbols: what inference says there, or where it ends."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from perfc.errors import ShapeError
from perfc.ir import (
    Dim,
    Env,
    Graph,
    Module,
    Node,
    OptionalType,
    Poly,
    SequenceType,
    SymbolDecl,
    TensorType,
    Type,
    Value,
    evaluate,
    symbols,
    walk,
)
from perfc.ir.op import UNFORESEEN
from perfc.ir.symbolic.fresh import numbering
from perfc.ir.symbolic.sizes import bound_known, bound_type, is_symbolic, misfit

from .shapes import Application, Inference, applied, inferred

MOST_STEPS = 500_000
"""Budget of a search for sizes that go together; beyond it the last error is reported.

A step is a node that is inferred, or a symbol or extent that is evaluated.
"""


class Refusal(NamedTuple):
    """Node at which inference with numbers failed.

    Args:
        position: position of the node among all of the module's; -1 for an input.
        error: error that inference raised.
        env: the numbers.
    """

    position: int
    error: ShapeError
    env: Env


class Settled(NamedTuple):
    """Values of all symbols that go together, and the module typed with them.

    Args:
        declared: the symbols, with the defaults that are assumed now.
        env: the values.
        numeric: the module typed with numbers alone; None where formulas are known to hold.
    """

    declared: tuple[SymbolDecl, ...]
    env: Env
    numeric: Module | None


class Sizing:
    """A module whose types are inferred with numbers.

    Args:
        read: the module to infer the types of.
        typed: the module with symbolic types, of the same nodes in the same order.
        applications: record of the inference of ``typed``; None if not recorded.
        steps: cost of the search so far.
    """

    def __init__(
        self, read: Module, typed: Module, applications: Sequence[Application] | None = None
    ) -> None:
        self.read = read
        self.typed = typed
        self.applications = applications
        self.steps = 0
        # failed attempts alone are remembered: the first that succeeds ends a search
        self.refusals: dict[tuple[tuple[str, int], ...], Refusal] = {}

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the symbols."""
        return frozenset(s.name for s in self.read.symbols)

    @cached_property
    def met(self) -> Sequence[Application]:
        """Return the applications met by inference of ``typed``."""
        return inferred(self.read)[1] if self.applications is None else self.applications

    @cached_property
    def has_regions(self) -> bool:
        """Return True if the module has control flow."""
        return any(n.regions for n in self.read.graph.nodes)

    @cached_property
    def types(self) -> tuple[Type, ...]:
        """Return the types of all values, each once."""
        # bodies of loops are inferred several times: the typed graph has their last types
        if self.has_regions:
            return tuple(dict.fromkeys(v.type for v in values_of(self.typed.graph)))
        inputs = (v.type for v in self.read.graph.inputs)
        return tuple(dict.fromkeys((*inputs, *(t for a in self.met for t in a.result.types))))

    @cached_property
    def formulas(self) -> tuple[Poly, ...]:
        """Return the extents of all values that follow from the symbols alone, each once."""
        extents = (d for t in self.types for d in extents_of(t) if isinstance(d, Poly))
        return tuple(d for d in dict.fromkeys(extents) if self.is_closed(d))

    def is_closed(self, d: Dim) -> bool:
        """Return True if an extent follows from the symbols alone."""
        return all(a.key in self.names for a in symbols(d))

    @cached_property
    def nodes(self) -> tuple[tuple[Node, Node], ...]:
        """Return each node as read, and as typed."""
        return tuple(zip(walk(self.read.graph), walk(self.typed.graph), strict=False))

    def is_filled(self, env: Env) -> bool:
        """Return True if no extent that follows from the symbols is empty or negative."""
        return all(evaluate(p, env) >= 1 for p in self.formulas)

    @cached_property
    def symbolic(self) -> tuple[Application, ...]:
        """Return the applications with a symbol in an operand."""
        return tuple(a for a in self.met if any(v is not None and has_symbols(v) for v in a.ins))

    @cached_property
    def is_local(self) -> bool:
        """Return True if formulas hold whenever they hold for every application by itself.

        True for a module without control flow in which every extent follows from the symbols.
        """
        return not self.has_regions and not any(is_open_in(t, self.names) for t in self.types)

    def holds_at(self, env: Env) -> bool:
        """Return True if formulas of all applications hold with numbers; False if unsure."""
        # empty operands are special cases of operators, which formulas may not know
        if 0 in env.values() or not self.is_local:
            return False
        types: dict[Type, Type] = {}
        values: dict[Value, Value] = {}

        def bound(type_: Type) -> Type:
            if type_ not in types:
                types[type_] = bound_type(type_, env)
            return types[type_]

        def numeric(v: Value | None) -> Value | None:
            if v is None or not has_symbols(v):
                return v
            if v not in values:
                values[v] = Value(v.name, bound(v.type), bound_known(v.known, env), v.weight)
            return values[v]

        if any(misfit(bound(v.type)) is not None for v in self.read.graph.inputs):
            return False
        # applications without a symbol give the same at any numbers
        for op, ins, result in self.symbolic:
            try:
                outs, folded = applied(op, tuple([numeric(v) for v in ins]))
            except (ShapeError, *UNFORESEEN):
                return False
            if outs != tuple([bound(t) for t in result.types]):
                return False
            if folded != tuple([bound_known(k, env) for k in result.folded]):
                return False
            if any(misfit(t) is not None for t in outs):
                return False
        return True

    def attempt(self, env: Env) -> Module | Refusal:
        """Return the module typed with these numbers, or the node at which inference failed."""
        key = tuple(sorted(env.items()))
        if key in self.refusals:
            return self.refusals[key]
        inference = Inference(set(self.names), env)
        self.steps += len(self.read.graph.inputs)
        for v in self.read.graph.inputs:
            # an input that no tensor can be ends the attempt before inference
            count = misfit(inference.sized(v.type))
            if count is not None:
                words = f"{v.name} has more than 2^{count.bit_length() - 1} elements"
                return Refusal(-1, ShapeError(words, where=f"input {v.name!r}"), dict(env))
        try:
            with numbering(self.names):
                graph = inference.graph(self.read.graph, {})
        except ShapeError as error:
            # inference names the node as it was read
            order = (i for i, (node, _) in enumerate(self.nodes) if node is inference.refused)
            refusal = self.refusals[key] = Refusal(next(order, 0), error, dict(env))
            return refusal
        finally:
            self.steps += inference.steps
        return Module(graph, self.read.symbols, self.read.origin)

    @property
    def is_exhausted(self) -> bool:
        """Return True if the search budget is used up, so that no further numbers are tried."""
        return self.steps > MOST_STEPS


def values_of(graph: Graph) -> Iterator[Value]:
    """Yield the inputs and results, those of regions included."""
    yield from graph.inputs
    for node in graph.nodes:
        yield from node.results
        for region in node.regions:
            yield from values_of(region)


def extents_of(type_: Type) -> Iterator[Dim]:
    """Yield the extents in a type."""
    match type_:
        case TensorType(_, shape):
            yield from shape or ()
        case SequenceType(elem) | OptionalType(elem):
            yield from extents_of(elem)
        case _:
            return


def has_symbols(v: Value) -> bool:
    """Return True if a symbol occurs in the type or content of a value."""
    return any(isinstance(d, Poly) for d in extents_of(v.type)) or is_symbolic(v.known)


def is_open_in(type_: Type, names: Collection[str]) -> bool:
    """Return True if a type depends on more than the values of some symbols."""
    match type_:
        case TensorType(_, shape) if shape is not None:
            return any(a.key not in names for d in shape for a in symbols(d))
        case _:
            return True
