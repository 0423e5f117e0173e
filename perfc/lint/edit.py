"""Rewrites as a few elementary edits, carried out on the IR here and on ONNX by ``onnx_edit``.

One description and two readers: the gain of a rewrite is that of the very rewrite that ``--fix``
writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import TypeAlias

from perfc.ir.graph import Module, Node, Value
from perfc.ir.record import record
from perfc.ir.rewrite import Rewriter, with_graph

NO_ATTRIBUTES: Mapping[str, tuple[int, ...]] = MappingProxyType({})


@record
class ReadInstead:
    """Whoever reads ``old`` reads ``new``, which has the same elements in the same order."""

    old: Value
    new: Value


@record
class Rewire:
    """The node reads other inputs, and has other values for some attributes."""

    node: Node
    inputs: tuple[Value | None, ...]
    attributes: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: NO_ATTRIBUTES)


@record
class Remove:
    """A node whose results nobody reads."""

    node: Node


@record
class Unname:
    """An optional output that nobody reads is not asked for."""

    node: Node
    index: int


@record
class Unstore:
    """A stored tensor that nobody reads."""

    value: Value


@record
class Store:
    """Results that follow from stored tensors alone become stored tensors."""

    values: tuple[Value, ...]


Edit: TypeAlias = "ReadInstead | Rewire | Remove | Unname | Unstore | Store"


def touched(edit: Edit) -> set[str]:
    """Names of the values whose maker or reader an edit changes."""
    match edit:
        case ReadInstead(old, new):
            return {old.name, new.name}
        case Rewire(node, inputs):
            return {v.name for v in (*node.results, *inputs) if v is not None}
        case Remove(node) | Unname(node):
            return {v.name for v in node.results}
        case Unstore(value):
            return {value.name}
        case Store(values):
            return {v.name for v in values}


def rewritten(module: Module, edits: Iterable[Edit], stored: Iterable[Value] = ()) -> Module:
    """``module`` with the edits applied; types of what follows are not inferred anew.

    ``stored`` are further stored tensors, which rewired nodes read.
    """
    rewriter = Rewriter(module.graph)
    for value in stored:
        rewriter.add_weight(value)
    for edit in edits:
        match edit:
            case ReadInstead(old, new):
                rewriter.replace_uses(old, new)
            case Rewire(node, inputs, attributes):
                op = replace(node.op, **dict(attributes)) if attributes else node.op
                made = Node(op, inputs, node.outputs, node.regions, node.loc)
                rewriter.replace_node(node, made)
            case Remove(node):
                rewriter.erase(node)
            case Unname(node, index):
                outputs = tuple(None if i == index else v for i, v in enumerate(node.outputs))
                made = Node(node.op, node.inputs, outputs, node.regions, node.loc)
                rewriter.replace_node(node, made)
            case Unstore(value):
                rewriter.drop_weight(value)
            case Store():
                continue  # every runtime stores them while loading, and so does Canonicalize
    return with_graph(module, rewriter.result())
