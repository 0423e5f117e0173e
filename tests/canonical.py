"""Canonical text of modules that differ only in names and in the order of independent nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property

from perfc.ir import NOWHERE, Graph, ModelOrigin, Module, Node, Value, captured
from perfc.ir.syntax.text import print_module


def canonical(module: Module) -> Module:
    """Return ``module`` with values numbered in the order in which results need them.

    Nodes are sorted by a depth-first walk from the outputs along the operands, which neither names
    nor the original order affect; nodes that no output needs come last. Names, source locations
    and metadata of the model file are left out.
    """
    graph = _Namer(_Order(module.graph)).graph(module.graph, "main")
    return Module(graph, module.symbols, ModelOrigin())


def digest(module: Module) -> str:
    """Return the SHA-256 of the canonical text, in hexadecimal."""
    return hashlib.sha256(print_module(canonical(module)).encode("utf-8")).hexdigest()


class _Order:
    """Order of nodes in a graph and its regions, determined by their connections alone."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def nodes(self, graph: Graph) -> tuple[Node, ...]:
        """Return nodes in depth-first order from the outputs, then those that no output needs."""
        producers = graph.producers
        reads = {node: tuple(self.reads(node)) for node in graph.nodes}
        used = {v for values in reads.values() for v in values}
        unused = [n for n in graph.nodes if not any(v in used for v in n.results)]
        if len(unused) > 1:
            unused.sort(key=lambda n: self._signatures[n])
        done: dict[Node, None] = {}
        for root in (*[producers.get(v) for v in graph.outputs], *unused):
            stack = [] if root is None or root in done else [(root, iter(reads[root]))]
            while stack:
                node, operands = stack[-1]
                for v in operands:
                    producer = producers.get(v)
                    if producer is not None and producer not in done:
                        stack.append((producer, iter(reads[producer])))
                        break
                else:
                    done[node] = None
                    stack.pop()
        return tuple(done)

    def reads(self, node: Node) -> Iterable[Value]:
        """Yield the operands, then outer values that regions use, in order of use."""
        yield from (v for v in node.inputs if v is not None)
        if node.regions:
            yield from self._mentions(node.regions, captured(node))

    def _mentions(self, regions: tuple[Graph, ...], free: set[Value]) -> Iterable[Value]:
        for region in regions:
            for node in self.nodes(region):
                yield from (v for v in node.inputs if v in free and v is not None)
                yield from self._mentions(node.regions, free)
            yield from (v for v in region.outputs if v in free)

    @cached_property
    def _signatures(self) -> dict[Node, str]:
        """Return a digest of each node and of everything it depends on, without names."""
        values: dict[Value | None, str] = {None: "_"}
        nodes: dict[Node, str] = {}

        def sign(graph: Graph) -> str:
            for i, v in enumerate(graph.inputs):
                values[v] = _hashed("input", i, v.type, v.known)
            for v in graph.weights:
                values[v] = _hashed("weight", v.type, v.known, v.weight)
            for n in graph.nodes:
                inner = [sign(r) for r in n.regions]
                types = [v and v.type for v in n.outputs]
                signed = _hashed(repr(n.op), [values[v] for v in n.inputs], inner, types)
                nodes[n] = signed
                for i, result in enumerate(n.outputs):
                    if result is not None:
                        values[result] = _hashed(signed, i)
            ends = [values[v] for v in graph.outputs]
            return _hashed(ends, sorted(nodes[n] for n in graph.nodes))

        sign(self._graph)
        return nodes


def _hashed(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


class _Namer:
    """Renames values along the walk; outer values have the same new names inside regions."""

    def __init__(self, order: _Order) -> None:
        self.order = order
        self.new: dict[Value, Value] = {}

    def graph(self, graph: Graph, name: str) -> Graph:
        inputs = tuple(self.rename(v) for v in graph.inputs)
        nodes = self.order.nodes(graph)
        mentioned = (v for n in nodes for v in self.order.reads(n))
        stored = set(graph.weights)
        first_use = dict.fromkeys(v for v in (*mentioned, *graph.outputs) if v in stored)
        unused = sorted(stored - first_use.keys(), key=lambda v: (str(v.type), str(v.weight)))
        weights = tuple(self.rename(v) for v in (*first_use, *unused))
        made = tuple(self.node(n) for n in nodes)
        outputs = tuple(self.new.get(v, v) for v in graph.outputs)
        return Graph(name, inputs, outputs, made, weights)

    def node(self, node: Node) -> Node:
        inputs = tuple(None if v is None else self.new.get(v, v) for v in node.inputs)
        regions = tuple(self.graph(r, f"r{i}") for i, r in enumerate(node.regions))
        outputs = tuple(None if v is None else self.rename(v) for v in node.outputs)
        return Node(node.op, inputs, outputs, regions, NOWHERE)

    def rename(self, value: Value) -> Value:
        made = Value(str(len(self.new)), value.type, value.known, value.weight)
        self.new[value] = made
        return made
