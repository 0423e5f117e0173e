"""Features that the program of DIPPM's authors reads: the calls of a network's Relay program.

Source: github.com/karthickai/dippm at 19be0ed14fe9, ``model.py`` and ``dippm.py``. Nodes are the
calls that have a parameter as an argument, in order, with an edge from each to the next. The
one-hot starts at 1, and numbers have no logarithm. Times are in microseconds, energies in tenths of
a joule, memory in MB.
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
"""Position of an operator in the one-hot, 0 for others. That of `matmul` is the one of `transpose`:
in TVM's frontend for PyTorch the weight is an argument of the `transpose` before the product."""
VECTORS = ("batch_norm", "layer_norm", "group_norm", "instance_norm", "prelu", "add", "mul", "div")
"""Operators whose stored vectors are parameters; stored vectors of others are axes and sizes."""
KINDS, ATTRIBUTES, SHAPE = 16, 12, 4
"""Numbers of columns of the authors' features: kinds of operators, attributes, extents of the
parameter."""
ONE_HOT = [[float(0 < i == place) for i in range(KINDS)] for place in range(KINDS)]
"""One-hot rows by position; that of position 0 is all zeros."""
UNITS: Mapping[Quantity, float] = {
    Quantity.TIME: 1e-6,
    Quantity.ENERGY: 0.1,
    Quantity.MEMORY: 1e6,
}
"""Units of the outputs, in the order of the outputs."""
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
    # one node for a graph without such calls, so that a batch of graphs can have it
    return np.array(rows or [[0.0] * len(NODES)], np.float64)


def chain(graph: ModelGraph) -> NDArray[np.int64]:
    """Return the edges from each node of the Relay program to the next, ``[2, nodes - 1]``."""
    sources = np.arange(len(relay_nodes(graph)) - 1)
    return np.stack([sources, sources + 1])


def _calls(op: str, fact: Mapping[str, float]) -> Iterator[list[float]]:
    """Yield the calls of an operator that have a parameter: the operator, and that of its bias."""
    shape = [fact[f"weight_{k}"] for k in range(SHAPE)]
    if not any(shape):
        if op not in VECTORS or fact["weight_elements"] < 2:
            return
        # stored vectors of an operator have equal lengths; a single stored element is a constant
        shape = [fact["weight_elements"] / fact["weights"], 0.0, 0.0, 0.0]
        op = "bias" if op == "add" else op
    # weights of a dense layer are [out, in] in TVM
    if op == "matmul":
        shape[0], shape[1] = shape[1], shape[0]
    attributes = [0.0] * ATTRIBUTES
    if op.startswith("conv"):
        # the table has the sum of both sides; if it is odd, the end has one more
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
    """Return the columns of `STATIC`, ``[5]``; a product with stored weights is dense."""
    ops = list(graph.ops.ops)
    stored = graph.ops.fixed[:, OP_FIXED.index("weights")] > 0
    dense = sum(op in ("gemm", "matmul") and has for op, has in zip(ops, stored, strict=True))
    giga_mac = float(graph.ops.at(batch)["mac"].sum()) / 1e9
    return [batch, giga_mac, float(ops.count("conv")), float(dense), float(ops.count("relu"))]


ENCODING = Encoding(
    NODES, lambda graph, _: relay_nodes(graph), STATIC, static_features, edge_index=chain
)
