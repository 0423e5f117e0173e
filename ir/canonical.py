"""One text for all modules that differ only in names and in the order of independent nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from .graph import NOWHERE, Graph, ModelOrigin, Module, Node, Value, captured
from .text import print_module


def canonical(module: Module) -> Module:
    """``module`` with values numbered in the order in which results need them.

    Nodes are sorted by a depth-first walk from the outputs along the operands, which neither names
    nor the given order decide; nodes that no output needs come last. Names, places in the model
    file and the file's own particulars are left out.
    """
    graph = _Namer().graph(module.graph, "main")
    return Module(graph, module.symbols, ModelOrigin())


def digest(module: Module) -> str:
    """SHA-256 of the canonical text, in hexadecimal."""
    return hashlib.sha256(print_module(canonical(module)).encode("utf-8")).hexdigest()


def ordered(graph: Graph) -> tuple[Node, ...]:
    """Nodes by depth-first walk from the outputs; those that no output needs at the end."""
    producers = graph.producers
    done: dict[Node, None] = {}
    reads = {node: tuple(_reads(node)) for node in graph.nodes}
    used = {v for values in reads.values() for v in values}
    dead = [n for n in graph.nodes if not any(v in used for v in n.results)]
    dead.sort(key=lambda n: (str(n.op), [str(v.type) for v in reads[n]]))
    roots = [producers.get(v) for v in graph.outputs]
    for root in (*roots, *dead):
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


def _reads(node: Node) -> Iterable[Value]:
    """Operands, then what regions use from outside, in the order in which they use it."""
    yield from (v for v in node.inputs if v is not None)
    if node.regions:
        free = captured(node)
        yield from _mentions(node.regions, free)


def _mentions(regions: tuple[Graph, ...], free: set[Value]) -> Iterable[Value]:
    for region in regions:
        for node in ordered(region):
            yield from (v for v in node.inputs if v in free and v is not None)
            yield from _mentions(node.regions, free)
        yield from (v for v in region.outputs if v in free)


class _Namer:
    """Renames along the walk; outer values keep their new names inside regions."""

    def __init__(self) -> None:
        self.new: dict[Value, Value] = {}

    def graph(self, graph: Graph, name: str) -> Graph:
        inputs = tuple(self.rename(v) for v in graph.inputs)
        nodes = ordered(graph)
        mentioned = (v for n in nodes for v in _reads(n))
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
        made = self.new[value] = replace(value, name=str(len(self.new)))
        return made
