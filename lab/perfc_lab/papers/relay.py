"""Features of the authors' program of DIPPM: the calls of the Relay program of a network.

Source: github.com/karthickai/dippm at 19be0ed14fe9, ``model.py`` and ``dippm.py``. Nodes are the
calls that have a parameter as an argument, in order; their one-hot starts at 1, numbers are plain,
and each node sends to the next one. Times are in microseconds, energies in tenths of a joule,
memory in MB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.graph.model_graph import OP_FIXED, ModelGraph
from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.graph.schema import Schema

from .networks.node_features import Encoding, indicators

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

CODES: Mapping[str, int] = {
    "conv": 1,
    "conv_transpose": 2,
    "gemm": 3,
    "bias": 5,
    "layer_norm": 8,
    "matmul": 10,
    "add": 11,
    "mul": 13,
}
"""Place in the one-hot of calls that can have a parameter; 0 for none of theirs. The weight of a
`matmul` is an argument of the `transpose` before it (TVM's frontend of PyTorch)."""
VECTORS = ("batch_norm", "layer_norm", "group_norm", "instance_norm", "prelu", "add", "mul", "div")
"""Operators whose stored vectors are parameters; those of others are axes and sizes."""
KINDS, ATTRIBUTES, SHAPE = 16, 12, 4
"""Columns of the authors' feature matrix: kinds of operators, attributes, extents of a
parameter."""
ONE_HOT = [[float(0 < i == place) for i in range(KINDS)] for place in range(KINDS)]
"""One-hot rows by kind of operator; the row of kind 0 is all zeros."""
UNITS: Mapping[Quantity, float] = {
    Quantity.TIME: 1e-6,
    Quantity.ENERGY: 0.1,
    Quantity.MEMORY: 1e6,
}
"""Units of the outputs, in their order."""
NODES = Schema(
    "Relay calls 2",
    (
        *indicators(f"operator {i}" for i in range(KINDS)),
        *("stride_h", "stride_w", "pad_top", "pad_left", "pad_bottom", "pad_right", "dilation_h"),
        *("dilation_w", "groups", "channels", "kernel_h", "kernel_w"),
        *(f"stored_{i}" for i in range(SHAPE)),
    ),
)
# columns of a graph's table of operators that `_calls` reads
FACTS = (
    "weights",
    "has_bias",
    "groups",
    "kernel_h",
    "kernel_w",
    "stride_h",
    "stride_w",
    "dilation_h",
    "dilation_w",
    "pad_h",
    "pad_w",
    "weight_0",
    "weight_1",
    "weight_2",
    "weight_3",
    "weight_elements",
)
COLUMNS = [OP_FIXED.index(name) for name in FACTS]
STATIC = Schema("Relay program", ("batch", "giga_mac", "convolutions", "dense", "relu"))


@lru_cache(1)
def relay_nodes(graph: ModelGraph) -> Array:
    """Return the features of the nodes of the Relay program, ``[nodes, 32]``."""
    facts = zip(graph.ops.ops, graph.ops.fixed[:, COLUMNS].tolist(), strict=True)
    rows = [row for op, fact in facts for row in _calls(op, dict(zip(FACTS, fact, strict=True)))]
    # a graph without such a call still is one node, so that a batch of graphs holds it
    return np.array(rows or [[0.0] * len(NODES)], np.float64)


def chain(graph: ModelGraph) -> NDArray[np.int64]:
    """Return the edges from each node of the Relay program to the next, ``[2, nodes - 1]``."""
    sources = np.arange(len(relay_nodes(graph)) - 1)
    return np.stack([sources, sources + 1])


def _calls(op: str, fact: Mapping[str, float]) -> Iterator[list[float]]:
    """Yield the calls of an operator that have a parameter as an argument: its own, its bias."""
    shape = [fact[f"weight_{k}"] for k in range(SHAPE)]
    if not any(shape):
        if op not in VECTORS or fact["weight_elements"] < 2:
            return
        # stored vectors of one operator have equal lengths; one stored element is a constant
        shape = [fact["weight_elements"] / fact["weights"], 0.0, 0.0, 0.0]
        op = "bias" if op == "add" else op
    # weights of TVM's dense are [out, in]
    if op == "matmul":
        shape[:2] = shape[1::-1]
    attributes = [0.0] * ATTRIBUTES
    if op.startswith("conv"):
        # the table has sums of both sides: of an odd sum the end has one more
        pads = [fact[f"pad_{axis}"] // 2 for axis in "hw"]
        ends = [fact[f"pad_{axis}"] - start for axis, start in zip("hw", pads, strict=True)]
        attributes = [
            fact["stride_h"],
            fact["stride_w"],
            *pads,
            *ends,
            fact["dilation_h"],
            fact["dilation_w"],
            fact["groups"],
            fact["weight_0"],
            fact["kernel_h"],
            fact["kernel_w"],
        ]
    yield [*ONE_HOT[CODES.get(op, 0)], *attributes, *shape]
    if fact["has_bias"] and op in ("conv", "conv_transpose", "gemm"):
        yield [*ONE_HOT[CODES["bias"]], *[0.0] * ATTRIBUTES, fact["weight_0"], 0.0, 0.0, 0.0]


def static_features(graph: ModelGraph, batch: float) -> list[float]:
    """Return batch, GMACs, and the numbers of convolutions, dense products and ReLUs, ``[5]``."""
    ops = list(graph.ops.ops)
    stored = graph.ops.fixed[:, OP_FIXED.index("weights")] > 0
    dense = sum(op in ("gemm", "matmul") and has for op, has in zip(ops, stored, strict=True))
    giga_mac = float(graph.ops.at(batch)["mac"].sum()) / 1e9
    return [batch, giga_mac, float(ops.count("conv")), float(dense), float(ops.count("relu"))]


ENCODING = Encoding(
    NODES, lambda graph, _: relay_nodes(graph), STATIC, static_features, edge_index=chain
)
