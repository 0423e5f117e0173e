"""One module at any numbers of its symbols: what inference says there, or where it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from perfc.errors import ShapeError
from perfc.ir.dim import Dim, Poly, symbols
from perfc.ir.fresh import numbering
from perfc.ir.graph import Graph, Module, Node, SymbolDecl, Value, walk
from perfc.ir.types import OptionalType, SequenceType, TensorType, Type

from .shapes import Inference

MOST_STEPS = 2_000_000
"""Nodes inferred in search of sizes that go together, over all attempts."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Where inference with numbers ended.

    Args:
        position: of the node among all of the module's.
        error: what was wrong there.
        env: the numbers.
    """

    position: int
    error: ShapeError
    env: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Settled:
    """Values of all symbols that go together, and the module typed with them.

    Args:
        declared: the symbols, with what is assumed now.
        env: the values.
        numeric: the module typed with numbers alone.
    """

    declared: tuple[SymbolDecl, ...]
    env: Mapping[str, int]
    numeric: Module


@dataclass
class Sizing:
    """A module whose types are inferred with numbers.

    Args:
        read: the module to infer the types of.
        typed: the same with types in formulas, node by node.
        steps: nodes inferred so far.
    """

    read: Module
    typed: Module
    steps: int = 0
    refusals: dict[tuple[tuple[str, int], ...], Refusal] = field(
        default_factory=dict[tuple[tuple[str, int], ...], Refusal]
    )

    @cached_property
    def names(self) -> frozenset[str]:
        """The symbols."""
        return frozenset(s.name for s in self.read.symbols)

    @cached_property
    def formulas(self) -> tuple[Poly, ...]:
        """Extents of all values that follow from the symbols alone, each once."""
        types = dict.fromkeys(v.type for v in values_of(self.typed.graph))
        found = dict.fromkeys(d for t in types for d in extents_of(t) if isinstance(d, Poly))
        return tuple(d for d in found if self.is_closed(d))

    def is_closed(self, d: Dim) -> bool:
        """Whether an extent follows from the symbols alone."""
        return all(a.key in self.names for a in symbols(d))

    @cached_property
    def nodes(self) -> tuple[tuple[Node, Node], ...]:
        """Each node as read, and as typed."""
        return tuple(zip(walk(self.read.graph), walk(self.typed.graph), strict=False))

    def attempt(self, env: Mapping[str, int]) -> Module | Refusal:
        """The module typed with these numbers, or where that ended."""
        key = tuple(sorted(env.items()))
        if key in self.refusals:
            return self.refusals[key]
        inference = Inference(set(self.names), env)
        try:
            with numbering(self.names):
                graph = inference.graph(self.read.graph, {})
        except ShapeError as error:
            order = (i for i, (node, _) in enumerate(self.nodes) if node is inference.refused)
            found = self.refusals[key] = Refusal(next(order, 0), error, dict(env))
            return found
        finally:
            self.steps += inference.steps
        return Module(graph, self.read.symbols, self.read.origin)

    @property
    def is_exhausted(self) -> bool:
        """Whether no further numbers are tried, so that time stays bounded."""
        return self.steps > MOST_STEPS


def values_of(graph: Graph) -> Iterator[Value]:
    """Inputs and results, those of regions included."""
    yield from graph.inputs
    for node in graph.nodes:
        yield from node.results
        for region in node.regions:
            yield from values_of(region)


def extents_of(type_: Type) -> Iterator[Dim]:
    """Extents in a type."""
    match type_:
        case TensorType(_, shape):
            yield from shape or ()
        case SequenceType(elem) | OptionalType(elem):
            yield from extents_of(elem)
        case _:
            return
