"""Features that the program of TraPPM's authors reads: the profile of a network's ONNX file.

Source: github.com/karthickai/trappm at d96cbf519875, ``features.py``, ``converter.py`` and
``model.py``. Operations are counted as in ONNX-tool (``onnx_tool/graph.py`` and ``node.py``). The
features are numbers without a logarithm: extents, operations, parameters, and bytes of parameters
and outputs. The labels are times in milliseconds, memory in MiB and power in watts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.graph.schema import Schema
from perfc.common.fitted import data_next_to

from ..data.releases.torch_graphs import MIB, TRAPPM_OPS, mnemonic
from .networks.node_features import Encoding, indicators

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

# units of the authors' labels
UNITS: Mapping[Quantity, float] = {Quantity.TIME: 1e-3, Quantity.MEMORY: MIB, Quantity.POWER: 1.0}
EXTENTS = (*(f"in_{i}" for i in range(6)), *(f"out_{i}" for i in range(6)))
COLUMNS = (*EXTENTS, "mac", "parameters", "memory")
NODES = Schema("ONNX profile", (*indicators(TRAPPM_OPS), *COLUMNS))
STATIC = Schema("ONNX graph", ("batch", "nodes", "edges", "mac", "parameters", "memory"))
PLACES = {mnemonic(name): i for i, name in reversed(list(enumerate(TRAPPM_OPS)))}
"""Position of perfc's operators in the one-hot. Two names of one operator, as ``Clip`` and
``Relu6``, have the position of the first: it is assigned last, as the list is reversed."""
NONE = len(TRAPPM_OPS) - 1
"""Position of operators that the authors' list does not have, which is its last one."""
_DATA = data_next_to(__file__)
PER_OUTPUT: Mapping[str, int] = _DATA["per_output"]
"""Operations per output element in ONNX-tool, with the addition of a product's bias."""
PER_INPUT: Mapping[str, int] = _DATA["per_input"]
"""Operations per input element in ONNX-tool."""
# operators with an operation for each element of their window
POOLS = ("average_pool", "max_pool")
F32_BYTES = 4
"""Bytes of an element; the profile assumes f32 for every precision."""


def profile(graph: ModelGraph, batch: float) -> dict[str, Array]:
    """Return the operations, parameters and bytes of memory of each node, ``[nodes]`` each."""
    facts, ops = graph.ops.at(batch), graph.ops.ops
    outputs, inputs = facts["output_elements"], facts["input_elements"]
    # operations per output: a pool has one per element of its window, the bias of a dense layer one
    windows = np.array([op in POOLS for op in ops]) * facts["kernel_h"] * facts["kernel_w"]
    biases = np.array([op == "gemm" for op in ops]) * (facts["has_bias"] > 0)
    per_output = np.array([PER_OUTPUT.get(op, 0) for op in ops]) + windows + biases
    per_input = np.array([PER_INPUT.get(op, 0) for op in ops])
    parameters = facts["weight_elements"]
    memory = F32_BYTES * (parameters + outputs)
    return {
        "mac": facts["mac"] + per_output * outputs + per_input * inputs,
        "parameters": parameters,
        "memory": memory,
    }


def node_table(graph: ModelGraph, batch: float) -> Array:
    """Return the features of the nodes, ``[nodes, 113]``."""
    facts, counts = graph.ops.at(batch), profile(graph, batch)
    places = [PLACES.get(op, NONE) for op in graph.ops.ops]
    columns = [*(facts[name] for name in EXTENTS), *counts.values()]
    table: Array = np.concatenate(
        [np.eye(len(TRAPPM_OPS))[places], np.stack(columns, axis=1)], axis=1
    )
    return table


def edge_index(graph: ModelGraph) -> NDArray[np.int64]:
    """Return the edges, each pair of connected operators once, ``[2, edges]``."""
    return np.unique(graph.ops.edges, axis=1)


def static_features(graph: ModelGraph, batch: float) -> list[float]:
    """Return the columns of `STATIC`, ``[6]``.

    They are standardised by the mean and the deviation of these six numbers, as in the authors'
    program.
    """
    totals = [float(each.sum()) for each in profile(graph, batch).values()]
    numbers = np.array([batch, len(graph.ops), edge_index(graph).shape[1], *totals])
    static: list[float] = ((numbers - numbers.mean()) / numbers.std(ddof=1)).tolist()
    return static


ENCODING = Encoding(NODES, node_table, STATIC, static_features, edge_index=edge_index)
