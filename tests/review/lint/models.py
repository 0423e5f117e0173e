"""Small models for the rules, built with onnx."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from perfc.api import analyze
from perfc.review.lint.engine import Linter, selected
from perfc.review.lint.finding import Finding
from perfc.review.lint.settings import Settings

F32, F16 = TensorProto.FLOAT, TensorProto.FLOAT16
Shape = Sequence[int | str]
node = helper.make_node


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    weights: Mapping[str, npt.NDArray[np.generic]] | None = None,
    dtype: int = F32,
    opset: int = 21,
) -> onnx.ModelProto:
    """A model whose inputs and outputs have one element type."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        list(nodes),
        "g",
        [info(n, dtype, list(s)) for n, s in inputs.items()],
        [info(n, dtype, list(s)) for n, s in outputs.items()],
        [numpy_helper.from_array(a, n) for n, a in (weights or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("acme", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def found(
    source: object,
    *codes: str,
    target: str = "a100",
    dims: Mapping[str, int] | None = None,
    runtime: str = "ort",
    min_gain: float = 0.0,
    dtype: str = "",
    tf32: bool = True,
    predictor: str = "",
) -> list[Finding]:
    """Findings of some rules, or of all."""
    settings = Settings()
    report = analyze(
        source, target, dims=dims, runtime=runtime, dtype=dtype, tf32=tf32, predictor=predictor
    )
    linter = Linter(settings, selected(settings, codes), min_gain)
    return list(linter.check(report, "m.onnx").findings)


def blemished() -> onnx.ModelProto:
    """A model with something for every rule that can fix."""
    rng = np.random.default_rng(0)
    nodes = [
        node("Transpose", ["x"], ["a"], perm=[0, 2, 3, 1], name="there"),
        node("Transpose", ["a"], ["b"], perm=[0, 3, 1, 2], name="back"),
        node("Conv", ["b", "w"], ["c"], pads=[1, 1, 1, 1], name="conv"),
        node("Transpose", ["c"], ["d"], perm=[0, 2, 3, 1], name="out"),
        node("Relu", ["d"], ["e"], name="relu"),
        node("Mul", ["e", "two"], ["f"], name="mul"),
        node("Transpose", ["f"], ["h"], perm=[0, 3, 1, 2], name="home"),
        node("Cast", ["h"], ["i"], to=TensorProto.DOUBLE, name="widen"),
        node("Cast", ["i"], ["j"], to=F32, name="narrow"),
        node("Unsqueeze", ["j", "one"], ["k"], name="unsqueeze"),
        node("Squeeze", ["k", "one"], ["l"], name="squeeze"),
        node("MaxPool", ["l"], ["m", "indices"], kernel_shape=[2, 2], name="pool"),
        node("Sqrt", ["four"], ["root"], name="sqrt"),
        node("Div", ["m", "root"], ["y"], name="div"),
        node("Exp", ["m"], ["unread"], name="dead"),
    ]
    weights = {
        "w": rng.standard_normal((8, 8, 3, 3)).astype(np.float32),
        "two": np.float32(2).reshape(()),
        "one": np.array([1], np.int64),
        "four": np.array([3], np.float32),
        "left_behind": np.zeros((16, 16), np.float32),
    }
    made = model(nodes, {"x": ["n", 8, 16, 16]}, {"y": ["n", 8, 15, 15]}, weights)
    made.metadata_props.add(key="author", value="somebody")
    made.graph.node[2].metadata_props.add(key="module", value="stem")
    return made


def rows(*shape: int) -> npt.NDArray[np.float32]:
    """Return ones, which a weight may be."""
    return np.ones(shape, np.float32)


def product(n: int, dtype: int = F16) -> onnx.ModelProto:
    """Return a product of rows with a stored matrix of n columns."""
    kind = np.float16 if dtype == F16 else np.float32
    return model(
        [node("MatMul", ["x", "w"], ["y"], name="mm")],
        {"x": [4096, 1024]},
        {"y": [4096, n]},
        {"w": np.ones((1024, n), kind)},
        dtype,
    )
