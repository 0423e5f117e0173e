"""Nodes that a runtime on a processor runs beside the kernels: what computes shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.ir import Module, walk

if TYPE_CHECKING:
    from perfc.passes.fusion.fuse import KernelTable


def host_nodes(source: Module, kernels: KernelTable) -> int:
    """Nodes of the file that run and launch nothing in our reading.

    Args:
        source: the module as read: its folded form has lost them.
        kernels: what launches.
    """
    computed = {v.name for k in kernels.kernels for n in k.nodes for v in n.results}
    live = {v for v in source.graph.inputs if v.weight is None}
    count = 0
    for node in walk(source.graph):
        if not any(v in live for v in node.inputs if v is not None):
            continue
        live.update(node.results)
        count += not any(v.name in computed for v in node.results)
    return count
