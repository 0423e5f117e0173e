"""Gradient accumulation: several small batches before one update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfc.ir import Loc, Node, Phase, Value, entity
from perfc.ir.gradients.tape import Tape


@entity
class Accumulated:
    """Forward and backward of every small batch.

    Args:
        nodes: nodes of all batches, in execution order.
        inputs: inputs of the further batches.
        gradients: sums over batches, in the order of the given gradients.
    """

    nodes: list[Node]
    inputs: tuple[Value, ...]
    gradients: list[Value]


def accumulated(
    nodes: Sequence[Node],
    inputs: Sequence[Value],
    gradients: Sequence[Value],
    count: int,
    tape: Tape,
) -> Accumulated:
    """Return ``nodes`` for ``count`` batches with separate inputs; gradients add up.

    Source: PyTorch, torch/csrc/autograd/functions/accumulate_grad.h: one addition per parameter.
    """
    result, sums = list(nodes), list(gradients)
    places: dict[Value, list[int]] = {}
    for i, g in enumerate(gradients):
        places.setdefault(g, []).append(i)
    further_inputs: list[Value] = []
    # the first batch has the original nodes
    for batch in range(2, count + 1):
        renamed: dict[Value, Value] = {v: another(v, batch, tape) for v in inputs}
        further_inputs += renamed.values()
        # the tape appends its additions to the list of the result
        tape.phase, tape.nodes = Phase.BACKWARD, result
        tape.place, tape.suffix = Loc(f"accumulate.{batch}"), ""
        for node in nodes:
            result.append(repeated(node, renamed, batch, tape))
            # as autograd does, each gradient is added when it is computed, so that it is freed
            for i in [i for v in node.results for i in places.get(v, ())]:
                sums[i] = tape.add(sums[i], renamed[gradients[i]])
    return Accumulated(result, tuple(further_inputs), sums)


def another(v: Value, batch: int, tape: Tape) -> Value:
    """Return the same value of another batch."""
    return Value(tape.fresh(f"{v.name}.batch{batch}"), v.type, v.known)


def repeated(node: Node, renamed: dict[Value, Value], batch: int, tape: Tape) -> Node:
    """Return a node on the values of another batch; its results enter ``renamed``."""
    for v in node.results:
        renamed[v] = another(v, batch, tape)
    return replace(
        node,
        inputs=tuple(v and renamed.get(v, v) for v in node.inputs),
        outputs=tuple(v and renamed.get(v, v) for v in node.outputs),
        loc=replace(node.loc, name=f"{node.name}.batch{batch}"),
    )
