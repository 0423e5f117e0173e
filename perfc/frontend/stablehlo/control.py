"""Operations with regions: loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..reading.proto import ProtoGraph, ValueInfo
from .call import HloCall, HloScope, meta_of_type

Lower = Callable[[Mapping[str, Any]], list[int]]
"""Function that lowers a block and returns the numbers of its results."""


@contextmanager
def inner(c: HloCall, name: str) -> Iterator[ProtoGraph]:
    """Yield a new graph, into which operations are lowered until the end of the context.

    Values that were made in it are then removed from the scope.
    """
    scope, builder = c.scope, c.builder
    tables: list[dict[int, Any]] = [scope.plain, scope.first, scope.small, scope.metas]
    # a condition is lowered twice, with the same numbers of values
    before, outer = [table.copy() for table in tables], builder.enter()
    graph = builder.graph
    graph.name = f"{c.name}.{name}"
    try:
        yield graph
    finally:
        builder.leave(outer)
        for table, values in zip(tables, before, strict=True):
            table.clear()
            table.update(values)


def bound(scope: HloScope, block: Mapping[str, Any], numbers: Sequence[int]) -> None:
    """Bind the arguments of a block to values by their numbers."""
    for (formal, text, _), actual in zip(block["args"], numbers, strict=True):
        scope.alias(formal, actual, scope.metas.get(actual) or meta_of_type(text))


def plain(c: HloCall, numbers: Sequence[int]) -> list[str]:
    """Return values with all their elements, and axes in the order of the program."""
    reader = HloCall(c.scope, c.name, c.path, {**c.op, "in": list(numbers)})
    return [reader.value(at) for at in range(len(numbers))]


def returned(c: HloCall, graph: ProtoGraph, numbers: Sequence[int]) -> None:
    """Make values the results of a graph.

    A graph of ONNX must make its results itself, so that each goes through an `Identity`.
    """
    names = [c.emit("Identity", value) for value in plain(c, numbers)]
    graph.output.extend(ValueInfo(name) for name in names)


def _while(lower: Lower, c: HloCall) -> None:
    """Lower a loop; a state that the body returns unchanged is no state of ONNX's loop."""
    condition, body = c.op["regions"]
    formals, scope = [number for number, _, _ in body["args"]], c.scope
    # operands of the return at the end of the body
    ends = body["ops"][-1]["in"]
    varied = [at for at, pair in enumerate(zip(formals, ends, strict=True)) if pair[0] != pair[1]]
    bound(scope, condition, c.inputs)
    # the condition is lowered twice: before the loop, and at the end of its body as ONNX has it
    (begins,) = plain(c, lower(condition))
    initial = plain(c, [c.inputs[at] for at in varied])
    with inner(c, "body") as graph:
        bound(scope, body, c.inputs)
        metas = [scope.metas[c.inputs[at]] for at in varied]
        # the first two are the number of the iteration and the condition
        states = c.builder.loop_inputs(c.name, metas)[2:]
        for at, name, meta in zip(varied, states, metas, strict=True):
            scope.alias(formals[at], None, meta)
            scope.plain[formals[at]] = name
        results = lower(body)
        bound(scope, condition, results)
        returned(c, graph, [*lower(condition), *(results[at] for at in varied)])
    values = dict(
        zip(varied, c.several("Loop", ("", begins, *initial), len(varied), body=graph), strict=True)
    )
    for at, (number, text) in enumerate(c.op["out"]):
        # unchanged states have the same value before and after the loop
        if at in values:
            c.bind(values[at], at)
        else:
            scope.alias(number, c.inputs[at], meta_of_type(text))


def _case(lower: Lower, c: HloCall) -> None:
    """Lower a branch by a truth value or a number; the last region is for all other numbers."""
    (chooser,) = plain(c, c.inputs[:1])
    regions = c.op["regions"]
    if c.op["name"] == "stablehlo.case":
        dtype = c.given.dtype
        conditions = [c.emit("Equal", chooser, c.scalar(k, dtype)) for k in range(len(regions) - 1)]
    else:
        conditions = [chooser]
    for at, value in enumerate(_chosen(lower, c, conditions, regions)):
        c.bind(value, at)


def _chosen(
    lower: Lower, c: HloCall, conditions: Sequence[str], regions: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return the results of the first region whose condition holds, else of the last one."""
    with inner(c, "then") as first:
        returned(c, first, lower(regions[0]))
    with inner(c, "else") as other:
        # ONNX has only two branches: further regions are branches within the second
        if len(regions) > 2:
            names = _chosen(lower, c, conditions[1:], regions[1:])
            other.output.extend(ValueInfo(name) for name in names)
        else:
            returned(c, other, lower(regions[-1]))
    count = len(c.op["out"])
    return c.several("If", conditions[:1], count, then_branch=first, else_branch=other)


FLOWS = {"stablehlo.while": _while, "stablehlo.case": _case, "stablehlo.if": _case}
"""Operations with regions that run."""
