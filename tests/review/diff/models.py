"""Small networks to compare, built anew with the options of a test, and what `perfc diff` says."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
from onnx import TensorProto, helper

from perfc import cli

FLOAT = TensorProto.FLOAT


def convolutional(
    channels: int = 16,
    *,
    stride: int = 1,
    activation: str = "Relu",
    prefix: str = "",
    size: int = 32,
    dtype: int = FLOAT,
    opset: int = 18,
) -> onnx.ModelProto:
    """Three convolutions with activations, a residual sum and a classifier."""
    p = prefix
    nodes = [
        helper.make_node("Conv", ["x", f"{p}w1"], [f"{p}a"], f"{p}conv1", pads=[1] * 4),
        helper.make_node(
            "Conv",
            [f"{p}b", f"{p}w2"],
            [f"{p}c"],
            f"{p}conv2",
            pads=[1] * 4,
            strides=[stride, stride],
        ),
        helper.make_node("Relu", [f"{p}c"], [f"{p}d"], f"{p}relu2"),
        helper.make_node("Conv", [f"{p}d", f"{p}w3"], [f"{p}e"], f"{p}conv3", pads=[1] * 4),
        helper.make_node("Sigmoid", [f"{p}e"], [f"{p}f"], f"{p}gate"),
        helper.make_node("Mul", [f"{p}e", f"{p}f"], [f"{p}g"], f"{p}mul"),
        helper.make_node("GlobalAveragePool", [f"{p}g"], [f"{p}h"], f"{p}pool"),
        helper.make_node("Flatten", [f"{p}h"], [f"{p}i"], f"{p}flatten"),
        helper.make_node("Gemm", [f"{p}i", f"{p}w4"], ["y"], f"{p}fc"),
    ]
    if activation:
        nodes.insert(1, helper.make_node(activation, [f"{p}a"], [f"{p}b"], f"{p}act1"))
    else:
        nodes[1].input[0] = f"{p}a"
    shapes = {
        "w1": (channels, 3, 3, 3),
        "w2": (32, channels, 3, 3),
        "w3": (64, 32, 3, 3),
        "w4": (64, 10),
    }
    weights = [stored(f"{p}{name}", shape, dtype) for name, shape in shapes.items()]
    return model(nodes, weights, ["n", 3, size, size], ["n", 10], dtype, opset)


def stored(name: str, shape: tuple[int, ...], dtype: int = FLOAT) -> onnx.TensorProto:
    """A weight whose content lies in a file that does not exist."""
    tensor = onnx.TensorProto(name=name, data_type=dtype, dims=shape)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.append(onnx.StringStringEntryProto(key="location", value="absent"))
    return tensor


def model(
    nodes: list[onnx.NodeProto],
    weights: list[onnx.TensorProto],
    x: list[int | str],
    y: list[int | str],
    dtype: int = FLOAT,
    opset: int = 18,
) -> onnx.ModelProto:
    """A model of one input ``x`` and one output ``y``."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", dtype, x)],
        [helper.make_tensor_value_info("y", dtype, y)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def texts(old: onnx.ModelProto | str, new: onnx.ModelProto | str, *options: str) -> str:
    """What `perfc diff` prints of two models, ONNX or the text form of modules."""
    out = StringIO()
    with TemporaryDirectory() as folder, redirect_stdout(out):
        paths: list[str] = []
        for name, model in (("old", old), ("new", new)):
            is_text = isinstance(model, str)
            path = Path(folder, f"{name}.{'pir' if is_text else 'onnx'}")
            path.write_bytes(model.encode() if is_text else model.SerializeToString())
            paths.append(str(path))
        assert cli.run(["diff", *paths, "--isolated", *options]) == 0
    return out.getvalue()


def between(old: onnx.ModelProto | str, new: onnx.ModelProto | str, *options: str) -> Any:
    """The JSON of `perfc diff` of two models."""
    return json.loads(texts(old, new, *options, "--output-format", "json"))


def total(found: Any, metric: str) -> Any:
    """The row of a metric."""
    return next(row for row in found["totals"] if row["metric"] == metric)


def edits(found: Any) -> set[str]:
    """The nodes whose edits cause all changes."""
    return {change["cause"] for change in found["changes"]}
