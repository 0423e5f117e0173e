"""Last iteration of a loop that counts, by search instead of following each iteration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from perfc.ir import DType, Graph, Item, Kind, Known, Node, TensorType, Type, Value, captured
from perfc.ir.ops.control.control import If
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.elementwise.elementwise import Add, Neg, Sub
from perfc.ir.ops.elementwise.logic import And, Greater, GreaterOrEqual, Less, LessOrEqual, Not
from perfc.ir.ops.movement.gather import Gather
from perfc.ir.ops.movement.view import Identity, Reshape, Squeeze, Unsqueeze

if TYPE_CHECKING:
    from .shapes import Inference

Argument: TypeAlias = "tuple[Type, Known | None]"
MOST_ITERATIONS = 1 << 40
"""Iterations from which on a loop counts as one without an end: the doubling search stops there."""
FOLLOWED = (3, 8)
"""Numbers of iterations after which a loop is searched for counters.

Equal steps show in three states. A counter whose first step differs is not regular after 3
iterations but is after 8.
"""
COMPARISONS = (Less, LessOrEqual, Greater, GreaterOrEqual)
"""Conditions of a counter that has a limit on one side."""
MONOTONE = (*COMPARISONS, And, Add, Sub, Neg, Cast, Squeeze, Unsqueeze, Reshape, Identity)
"""Operators that a condition on counters may consist of so that it stays false once it is false.

Equality and alternatives may hold again later, and so may the opposite of a conjunction.
"""


def advanced(states: Sequence[Sequence[Argument]], by: int) -> list[Argument] | None:
    """Return the states after ``by`` more iterations; None if a state is not predictable.

    Types must be constant, and each element constant or an integer that changes by equal steps.

    Args:
        states: the last three states, in order.
        by: number of iterations.
    """
    later: list[Argument] = []
    for (first, a), (second, b), (third, c) in zip(*states, strict=True):
        if not first == second == third:
            return None
        # constant so far, whatever it contains
        if a == b == c:
            later.append((third, c))
            continue
        if a is None or b is None or c is None:
            return None
        items = [stepped(*triple, by) for triple in zip(a.items, b.items, c.items, strict=True)]
        if None in items:
            return None
        later.append((third, Known(c.shape, tuple(items))))
    return later


def stepped(a: Item, b: Item, c: Item, by: int) -> Item:
    """Return the number that follows three others after ``by`` steps; None without equal steps."""
    if a == b == c:
        return c
    # truth values are integers to Python, but no counters
    numbers = [n for n in (a, b, c) if isinstance(n, int) and not isinstance(n, bool)]
    if len(numbers) < 3 or numbers[1] - numbers[0] != numbers[2] - numbers[1]:
        return None
    return numbers[2] + by * (numbers[2] - numbers[1])


def is_monotone(body: Graph) -> bool:
    """Return True if a body's condition compares counters, and stays false once it is false.

    The walk goes from the condition, the first output, back to the states. It gives up after 100
    operators, as the condition of a counter has few.
    """
    producers, waiting, seen = body.producers, list(body.outputs[:1]), 0
    while waiting and seen < 100:
        node = producers.get(waiting.pop())
        # an input of the body, or a number that all iterations share
        if node is None or is_extent(node, producers):
            continue
        # the opposite of a comparison is a comparison; the opposite of a conjunction is none
        before = producers.get(node.inputs[0]) if node.inputs and node.inputs[0] else None
        compared = before is not None and isinstance(before.op, COMPARISONS)
        if not isinstance(node.op, MONOTONE) and not (isinstance(node.op, Not) and compared):
            return False
        waiting += [v for v in node.inputs if v is not None]
        seen += 1
    return not waiting


def is_extent(node: Node, producers: Mapping[Value, Node]) -> bool:
    """Return True if a node's result is the same in every iteration.

    That is so for a constant, and for an extent of a state, as states keep their types.
    """
    data, index = (*node.inputs, None, None)[:2]
    source = producers.get(data) if data is not None else None
    if isinstance(node.op, Gather) and source is not None and index is not None:
        return index.weight is not None and source.op.kind is Kind.SHAPE
    return node.op.kind is Kind.SHAPE or not node.inputs


def last_iteration(goes_on: Callable[[int], bool | None], most: int) -> int | None:
    """Return how many further iterations precede the last one; at most ``most``.

    The step doubles until the condition is false, then bisection finds where it became so.

    Args:
        goes_on: whether the loop goes on after the iteration that so many further ones precede;
            None if unknown.
        most: number that ends the search; the loop need not end by then.
    """
    # the loop goes on after ``low``; once doubling ends it does not after ``high``, unless ``most``
    # ended it
    low, high = -1, 0
    while (answer := goes_on(high)) and high < most:
        low, high = high, min(2 * high + 1, most)
    if answer is None or high >= MOST_ITERATIONS:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if goes_on(middle):
            low = middle
        else:
            high = middle
    return high


def counts_iterations(body: Graph) -> bool:
    """Return True if the body of a loop reads the number of its iteration."""
    number = body.inputs[0] if body.inputs else None
    return number in body.outputs or any(
        number in node.inputs or number in captured(node) for node in body.nodes
    )


def decided(body: Graph) -> dict[Value, list[Known | None]]:
    """Return the conditions of Ifs that a body computes, each with an empty list of contents."""
    computed = {v for node in body.nodes for v in node.results}
    conditions = [n.inputs[0] for n in body.nodes if isinstance(n.op, If)]
    return {v: [] for v in conditions if v and v in computed}


def changing(body: Graph, typed: Graph, seen: dict[Value, list[Known | None]]) -> set[Value]:
    """Add an iteration's contents of conditions; return the conditions that have changed so far.

    Args:
        body: body of the loop.
        typed: the same body, inferred for this iteration.
        seen: contents of each condition in all iterations; one is added.
    """
    for node, now in zip(body.nodes, typed.nodes, strict=True):
        if isinstance(node.op, If) and (v := node.inputs[0]) in seen and now.inputs[0] is not None:
            seen[v].append(now.inputs[0].known)
    return {v for v, contents in seen.items() if any(c != contents[0] for c in contents)}


def elements(states: Sequence[Argument]) -> float:
    """Return the number of elements of all states; unknown extents do not count."""
    shapes = [t.shape for t, _ in states if isinstance(t, TensorType) and t.shape is not None]
    return sum(math.prod(d for d in shape if isinstance(d, int)) for shape in shapes)


def body_arguments(carried: Sequence[Argument], iteration: Known | None) -> list[Argument]:
    """Return the arguments of a body: iteration, condition and states."""
    scalar = TensorType(DType.I64, ())
    condition = TensorType(DType.BOOL, ())
    # a body that runs in a known iteration was entered, so its condition was true
    goes_on = None if iteration is None else Known.scalar(True)
    return [(scalar, iteration), (condition, goes_on), *carried]


def last_states(
    inference: Inference,
    body: Graph,
    env: Mapping[Value, Value],
    states: Sequence[list[Argument]],
    done: int,
    trip: object,
) -> tuple[list[Argument], int]:
    """Return the states before the last iteration, and how many iterations come before it.

    If the last one is unknown, these are the current states and ``done``.

    Args:
        inference: infers the body.
        body: body of the loop.
        env: typed values outside of the body.
        states: the last three states, in order.
        done: iterations so far.
        trip: limit of the iterations; an integer if known.
    """
    if not is_monotone(body):
        return states[-1], done
    counter = partial(goes_on, inference, body, env, states, done)
    # the last iteration is inferred by itself, for the types of its results
    end = trip - 1 - done if isinstance(trip, int) else MOST_ITERATIONS
    more = last_iteration(counter, end) if end > 0 else None
    # `goes_on` has advanced the states by ``more`` before, so only a loop without states has none
    return (
        (states[-1], done) if more is None else (advanced(states, more) or states[-1], done + more)
    )


def goes_on(
    inference: Inference,
    body: Graph,
    env: Mapping[Value, Value],
    states: Sequence[Sequence[Argument]],
    done: int,
    by: int,
) -> bool | None:
    """Return whether a counting loop goes on after the iteration that ``by`` further ones precede.

    None if its states there, or its condition, are not predictable.
    """
    carried = advanced(states, by)
    if carried is None:
        return None
    arguments = body_arguments(carried, Known.scalar(done + by))
    condition = inference.graph(body, env, arguments).outputs[0].known
    return None if condition is None else bool(condition.item)
