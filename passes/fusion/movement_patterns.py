"""Patterns of data movement that exporters write out: assignments to slices."""

from __future__ import annotations

from perfc.ir import Node
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.elementwise.elementwise import Add, Mul
from perfc.ir.ops.movement.gather import Gather
from perfc.ir.ops.movement.movement import Expand
from perfc.ir.ops.movement.shape import Range
from perfc.ir.ops.movement.slice import Concat, Slice

from .neighbourhood import Neighbourhood

MAX_MEMBERS = 48
"""Maximum nodes of a match: grids of a few axes have fewer, and the search ends early in others."""
GRID = (Range, Expand, Concat, Cast, Add, Mul, Slice, Gather)
"""Operators, other than views, that compute a grid of indices from extents alone."""


def slice_update(node: Node, near: Neighbourhood) -> list[Node] | None:
    """Match ``x[a:b, c:d] = y``, which is exported as a scatter of y to all indices of a grid.

    Source: torch.onnx, symbolic_opset11.index_put; the framework itself copies the slice.
    """
    if len(node.inputs) != 3 or node.inputs[1] is None:
        return None
    members: dict[Node, None] = {node: None}
    indices = near.root(node.inputs[1])
    if indices.weight is not None:
        # a grid of constant extents is folded; indices that belong to the model are parameters
        return None if indices.weight.is_parameter else [node]
    waiting = [indices]
    while waiting:
        maker = near.maker(waiting.pop())
        if maker is None or not isinstance(maker.op, GRID) or len(members) > MAX_MEMBERS:
            return None
        if maker not in members:
            members[maker] = None
            waiting += near.computed(maker)
    nodes = list(members)
    return nodes if len(nodes) > 1 and near.is_sealed(nodes, node.results[0]) else None
