"""Small models for the tests of measuring; weights may point to a file that does not exist."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def stripped(name: str, shape: tuple[int, ...]) -> onnx.TensorProto:
    """A tensor whose content lies in a file that nobody has."""
    tensor = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="stripped")
    return tensor


def save(
    path: Path,
    nodes: list[onnx.NodeProto],
    stored: list[onnx.TensorProto],
    inputs: dict[str, tuple[int, list[int | str]]],
    output: str = "y",
) -> str:
    """Write a model of these nodes; its path."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        stored,
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=opsets), path)
    return str(path)


def residual(path: Path) -> str:
    """Convolutions with normalisation, activation and a sum, then a product; symbolic batch."""
    scale = [
        numpy_helper.from_array(np.ones(32, np.float32), f"{n}{i}") for i in "ab" for n in "sbmv"
    ]
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "wa"], ["v0"], name="conv_a", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["v0", "sa", "ba", "ma", "va"], ["v1"], name="bn_a"),
        node("Relu", ["v1"], ["v2"], name="relu_a"),
        node("Conv", ["v2", "wb"], ["v3"], name="conv_b", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["v3", "sb", "bb", "mb", "vb"], ["v4"], name="bn_b"),
        node("Add", ["v2", "v4"], ["v5"], name="add"),
        node("Relu", ["v5"], ["v6"], name="relu_b"),
        node("GlobalAveragePool", ["v6"], ["v7"], name="pool"),
        node("Flatten", ["v7"], ["v8"], name="flatten"),
        node("Gemm", ["v8", "wf"], ["y"], name="fc", transB=1),
    ]
    stored = [
        stripped("wa", (32, 16, 3, 3)),
        stripped("wb", (32, 32, 3, 3)),
        stripped("wf", (10, 32)),
        *scale,
    ]
    shape: list[int | str] = ["batch", 16, 20, 20]
    return save(path, nodes, stored, {"x": (TensorProto.FLOAT, shape)})


def embedding(path: Path) -> str:
    """Ids into a table, a mask, a product and a softmax."""
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "ids"], ["e"], name="gather"),
        node("Cast", ["mask"], ["m"], name="cast", to=TensorProto.FLOAT),
        node("Unsqueeze", ["m", "axis"], ["m3"], name="unsqueeze"),
        node("Mul", ["e", "m3"], ["h"], name="mul"),
        node("MatMul", ["h", "w"], ["z"], name="matmul"),
        node("Softmax", ["z"], ["y"], name="softmax"),
    ]
    stored = [
        stripped("table", (40, 24)),
        stripped("w", (24, 24)),
        numpy_helper.from_array(np.array([2], np.int64), "axis"),
    ]
    shape: list[int | str] = ["batch", "seq"]
    kinds = {"ids": (TensorProto.INT64, shape), "mask": (TensorProto.INT64, shape)}
    return save(path, nodes, stored, kinds)
