"""Operators with less known of their operands, as text for a golden file.

A question of `tests/golden_estimates.py` names a file of nodes::

    > variants ../operators/products.pir

Of each operator the first nodes are taken, each alone. Then operands are changed one at a time: of
a type that nobody knows, with an extent that is a symbol, without the content that was known, left
out. So are attributes, one at a time. A line says what the operator makes of it: types, operations,
bytes and the kernel's extents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType

from perfc.errors import PerfcError
from perfc.ir.graph import Graph, Module, Node, SymbolDecl, Value
from perfc.ir.symbolic.dim import symbol
from perfc.ir.syntax.parse import parse
from perfc.ir.tensors.types import UNKNOWN, TensorType
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses
from perfc.passes.roofline.cost import Cost

NODES_OF_AN_OPERATOR = 2
SYMBOL = "N"
FRESH = re.compile(r"\bu\d+\b")
SEPARATOR = "# ---- expect\n"

Operand = Value | None


def answer(path: Path) -> Iterator[str]:
    """What operators make of the operands of a file, and of less."""
    taken: Counter[str] = Counter()
    text = path.read_text(encoding="utf-8").partition(SEPARATOR)[0]
    for node in parse(text, path.name).module.graph.nodes:
        taken[node.op.mnemonic] += 1
        if taken[node.op.mnemonic] <= NODES_OF_AN_OPERATOR:
            yield from variants(node)


def variants(node: Node) -> Iterator[str]:
    """A node as it is, and what else comes out where an operand says less."""
    whole = outcome(node, node.inputs)
    yield f"{node.op.mnemonic} of {', '.join(map(stated, node.inputs))}: {whole}"
    for place, operand in enumerate(node.inputs):
        if operand is None:
            continue
        for name, other in lesser(operand):
            inputs = (*node.inputs[:place], other, *node.inputs[place + 1 :])
            result = outcome(node, inputs)
            yield f"  {place} {name}: {'the same' if result == whole else result}"
    for attribute in fields(node.op):
        old = getattr(node.op, attribute.name)
        for other in others(old):
            result = outcome(node, node.inputs, {attribute.name: other})
            if result != whole:
                yield f"  {attribute.name} {plain(other)}: {result}"


def lesser(operand: Value) -> Iterator[tuple[str, Operand]]:
    """The operand with less known of it."""
    yield "absent", None
    yield "unknown", replace(operand, type=UNKNOWN, known=None)
    if operand.known is not None:
        yield "without content", replace(operand, known=None)
    if isinstance(operand.type, TensorType) and operand.type.shape and operand.known is None:
        for axis in {0, len(operand.type.shape) - 1}:
            dims = list(operand.type.shape)
            dims[axis] = symbol(SYMBOL)
            yield (
                f"symbol at {axis}",
                replace(operand, type=replace(operand.type, shape=tuple(dims))),
            )


def others(value: object) -> tuple[object, ...]:
    """Other values of an attribute."""
    match value:
        case bool():
            return (not value,)
        case Enum():
            return tuple(v for v in type(value) if v is not value)
        case int():
            return (value + 1, -1)
        case (int(), *_):
            assert isinstance(value, tuple)
            return (value[::-1], tuple(v + 1 for v in value))
        case _:
            return ()


def outcome(
    node: Node, inputs: tuple[Operand, ...], attributes: Mapping[str, object] = MappingProxyType({})
) -> str:
    """Types, work, traffic and extents of one node."""
    given = tuple(dict.fromkeys(v for v in inputs if v is not None))
    results = tuple(None if v is None else Value(v.name, UNKNOWN) for v in node.outputs)
    am = Analyses()
    try:
        op = replace(node.op, **attributes)
        alone = replace(node, op=op, inputs=inputs, outputs=results)
        graph = Graph("main", given, alone.results, (alone,))
        module = am.apply(Shapes(), Module(graph, (SymbolDecl(SYMBOL, 4),)))
        (cost,) = am.get(Cost(), module).nodes.values()
    except PerfcError as error:
        return f"error: {str(error).partition(': ')[2]}"
    except ValueError as error:  # of an attribute, whose place the reader would add
        return f"refused: {error}"
    types = ", ".join(str(v.type) for v in module.graph.nodes[0].results)
    parts = (types, *map(plain, (cost.work, cost.traffic, cost.problem)))
    return renumbered("; ".join(filter(None, parts)))


def renumbered(text: str) -> str:
    """A line whose extents that nobody knows are numbered from one; others may be named before."""
    names = {name: f"u{i}" for i, name in enumerate(dict.fromkeys(FRESH.findall(text)), 1)}
    return FRESH.sub(lambda result: names[result[0]], text)


def stated(operand: Operand) -> str:
    """An operand's type, with its content."""
    if operand is None:
        return "-"
    return str(operand.type) + ("" if operand.known is None else f" = {operand.known}")


def plain(value: object) -> str:
    """Fields that are neither empty nor zero."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        named = zip(value._fields, value, strict=True)
        return f"{type(value).__name__}({', '.join(f'{n} {plain(v)}' for n, v in named if v)})"
    if isinstance(value, tuple):
        return f"[{', '.join(map(plain, value))}]"
    if not is_dataclass(value):
        return "" if value is None else str(value)
    named = ((f.name, getattr(value, f.name)) for f in fields(value))
    shown = [(n, plain(v)) for n, v in named if v is not None]
    return " ".join(f"{n} {v}" for n, v in shown if v not in ("", "0", "1", "False", "[]"))
