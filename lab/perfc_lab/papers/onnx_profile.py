"""Features of the authors' program of TraPPM: the profile of the ONNX file of a network.

Source: github.com/karthickai/trappm at d96cbf519875, ``features.py``, ``converter.py`` and
``model.py``, whose counts are those of ONNX-tool (``onnx_tool/graph.py`` and ``node.py``). Numbers
are plain: extents, multiplications and additions, parameters, and bytes of parameters and outputs.
Times are in milliseconds, memory in MiB, power in watts.
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
"""Place of our operators in the one-hot. Of two names for one operator the first stands, as the
last assignment of the reversed list: ``Clip`` comes before ``Relu6``."""
NONE = len(TRAPPM_OPS) - 1
"""Place of operators that the authors' list lacks: its last one."""
_DATA = data_next_to(__file__)
PER_OUTPUT: Mapping[str, int] = _DATA["per_output"]
"""Operations of ONNX-tool for each output; those of a product's bias among them."""
PER_INPUT: Mapping[str, int] = _DATA["per_input"]
# operators with an operation for each element of their window
POOLS = ("average_pool", "max_pool")
F32_BYTES = 4
"""Bytes of an element: the profile counts in f32 whatever the precision."""


def profile(graph: ModelGraph, batch: float) -> dict[str, Array]:
    """Return operations, parameters and memory in bytes of each node."""
    facts, ops = graph.ops.at(batch), graph.ops.ops
    outputs, inputs = facts["output_elements"], facts["input_elements"]
    # a pool has an operation for each element of its window, a dense layer's bias an addition
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
    """Return the features of the operators, ``[nodes, 113]``."""
    facts, counts = graph.ops.at(batch), profile(graph, batch)
    places = [PLACES.get(op, NONE) for op in graph.ops.ops]
    columns = [*(facts[name] for name in EXTENTS), *counts.values()]
    table: Array = np.concatenate(
        [np.eye(len(TRAPPM_OPS))[places], np.stack(columns, axis=1)], axis=1
    )
    return table


def edge_index(graph: ModelGraph) -> NDArray[np.int64]:
    """Return each pair of operators that a tensor connects once, ``[2, edges]``."""
    return np.unique(graph.ops.edges, axis=1)


def static_features(graph: ModelGraph, batch: float) -> list[float]:
    """Return batch, nodes, edges, operations, parameters and memory, ``[6]``.

    They are standardized by their own mean and deviation, of one network.
    """
    totals = [float(each.sum()) for each in profile(graph, batch).values()]
    numbers = np.array([batch, len(graph.ops), edge_index(graph).shape[1], *totals])
    static: list[float] = ((numbers - numbers.mean()) / numbers.std(ddof=1)).tolist()
    return static


ENCODING = Encoding(NODES, node_table, STATIC, static_features, edge_index=edge_index)
