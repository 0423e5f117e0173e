"""Node data for Model Explorer: one number per node, colored from smallest to largest.

Format: an object by graph id, each with ``results`` (node id or output tensor to ``value``) and a
``gradient`` of stops. Source: google-ai-edge/model-explorer, ``node_data_builder.py``; node ids as
in the ONNX adapter, the names of the nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from perfc.api import Report

from .properties import NodeNumbers, NumbersByNode

if TYPE_CHECKING:
    import onnx

METRICS: dict[str, Callable[[NodeNumbers], float | None]] = {
    "time_us": lambda n: round(n.predicted[0] * 1e6, 3) if n.predictions else None,
    "sustained_us": lambda n: round(n.sustained_s * 1e6, 3) if n.anchored else None,
    "floor_us": lambda n: round(n.floor_s * 1e6, 3) if n.anchored else None,
    "flop": lambda n: n.flop,
    "bytes": lambda n: n.read_bytes + n.write_bytes,
}
GRADIENT = ((0.0, "#f1f8e9"), (0.5, "#ffcc80"), (1.0, "#d84315"))


def node_data(model: onnx.ModelProto, report: Report, metric: str) -> dict[str, object]:
    """Return node data of the main graph; the time of a kernel is at its anchor node."""
    numbers = NumbersByNode.of(report)
    functions = {(f.domain, f.name) for f in model.functions}
    results: dict[str, object] = {}
    for node in model.graph.node:
        at_node = numbers.at(node, (node.domain, node.op_type) in functions)
        value = METRICS[metric](at_node) if at_node is not None else None
        key = node.name or next((o for o in node.output if o), "")
        if value is not None and key:
            results[key] = {"value": value}
    gradient = [{"stop": stop, "bgColor": colour} for stop, colour in GRADIENT]
    return {model.graph.name or "main_graph": {"results": results, "gradient": gradient}}
