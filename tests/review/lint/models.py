"""Small models for the rules, built with onnx."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from perfc import cli

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
    source: onnx.ModelProto,
    *codes: str,
    target: str = "a100",
    dims: Mapping[str, int] | None = None,
    runtime: str = "ort",
    min_gain: float = 0.0,
    dtype: str = "",
    tf32: bool = True,
) -> list[SimpleNamespace]:
    """What `perfc lint` finds by some rules, or by all."""
    options = ["--target", target, "--runtime", runtime, "--min-gain", repr(min_gain)]
    options += ["--select", ",".join(codes)] if codes else []
    options += ["--dtype", dtype] if dtype else []
    options += ["--tf32" if tf32 else "--no-tf32"]
    options += [word for k, n in (dims or {}).items() for word in ("--dim", f"{k}={n}")]
    out = StringIO()
    with TemporaryDirectory() as folder, redirect_stdout(out):
        path = Path(folder, "m.onnx")
        path.write_bytes(source.SerializeToString())
        words = ["--isolated", "--exit-zero", "--output-format", "json", *options]
        assert cli.run(["lint", str(path), *words]) == 0
    (file,) = json.loads(out.getvalue(), object_hook=lambda d: SimpleNamespace(**d)).files
    for finding in file.findings:
        finding.nodes = tuple(finding.nodes)
        finding.place = next(iter(finding.nodes), finding.tensor)
    return list(file.findings)


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
