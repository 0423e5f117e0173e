"""Which node reads what another one wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfc.ir import Node, Value, record, walk

from .layers import Edge

if TYPE_CHECKING:
    from perfc.api import Report


@record
class Wiring:
    """The nodes that are left to execute, and the values between them.

    Args:
        nodes: in execution order; nodes of regions follow the node that holds the regions.
        edges: positions of writer and reader, each pair once.
        kernels: position of the kernel each node runs in, None where it launches nothing.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    kernels: tuple[int | None, ...]


def wiring(report: Report) -> Wiring:
    """Return the nodes, edges and kernels of ``report``."""
    nodes = tuple(walk(report.module.graph))
    kernel_of = {n: i for i, k in enumerate(report.kernels.kernels) for n in k.nodes}
    return Wiring(nodes, tuple(dict.fromkeys(edges(nodes))), tuple(map(kernel_of.get, nodes)))


def edges(nodes: Sequence[Node]) -> list[Edge]:
    """Return a pair of writer and reader for each value and reader.

    A node with regions reads their results. Inputs and weights of the model have no writer.
    """
    writer: dict[Value, int] = {v: i for i, n in enumerate(nodes) for v in n.results}
    pairs: list[Edge] = []
    for i, n in enumerate(nodes):
        read = [*n.inputs, *(v for region in n.regions for v in region.outputs)]
        pairs += [(writer[v], i) for v in read if v is not None and v in writer]
    return pairs
