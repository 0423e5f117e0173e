"""Operators join their post-dominators under the table of TVM, as FuseOps of Relax groups them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from perfc.api import typed
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.runtimes import runtime
from perfc_lab.fusion import OracleRequest, compared, is_executed, operators
from tests.oracles import tvm_fusion

TABLE = runtime("tvm")

WEIGHTS = {
    "w": np.ones((16, 16), np.float32),
    "half": np.float32(0.5),
    "flat": np.array([2, 8, 8]),
    "image": np.array([1, 1, 8, 16]),
    "roi": np.ones(0, np.float32),
    "scales": np.float32([1, 1, 2, 2]),
    "row": np.ones(16, np.float32),
    "fours": np.array([4, 4]),
    "eights": np.array([8, 8]),
}
PRODUCT = ("MatMul", "x w", "p")
GATE = [PRODUCT, ("Sigmoid", "p", "s"), ("Mul", "p s", "y")]
HALVES = [("Split", "x fours", "a b"), ("Relu", "a", "r"), ("Mul", "r b", "y")]
TURNED = [("Transpose", "x", "t"), ("Split", "t eights", "a b"), *HALVES[1:]]
Steps = list[tuple[str, str, str]]
CASES: list[tuple[Steps, str, list[str]]] = [
    (GATE, "y", ["MatMul+Mul+Sigmoid"]),
    (GATE, "y p", ["MatMul", "Mul+Sigmoid"]),
    ([PRODUCT, ("Add", "p row", "a"), ("Add", "a x", "y")], "y", ["Add×2+MatMul"]),
    ([PRODUCT, ("Transpose", "p", "y")], "y", ["MatMul", "Transpose"]),
    ([("Relu", "x", "r"), ("MatMul", "r w", "y")], "y", ["MatMul", "Relu"]),
    (
        [("Relu", "x", "r"), ("Transpose", "r", "t"), ("Sigmoid", "t", "y")],
        "y",
        ["Relu+Sigmoid+Transpose"],
    ),
    ([("Relu", "x", "r"), ("ReduceMax", "r", "y")], "y", ["ReduceMax+Relu"]),
    ([("ReduceMax", "x", "m"), ("Sub", "x m", "y")], "y", ["ReduceMax", "Sub"]),
    ([("ReduceMean", "x", "m"), ("Sqrt", "m", "y")], "y", ["ReduceMean+Sqrt"]),
    ([("Softmax", "x", "s"), ("Mul", "s half", "y")], "y", ["Mul+Softmax"]),
    (
        [PRODUCT, ("Sigmoid", "x", "s"), ("MatMul", "s w", "q"), ("Add", "p q", "y")],
        "y",
        ["Add+MatMul", "MatMul", "Sigmoid"],
    ),
    ([PRODUCT, ("Reshape", "p flat", "f"), ("Relu", "f", "y")], "y", ["MatMul", "Relu"]),
    (
        [
            ("Reshape", "x image", "i"),
            ("Sigmoid", "i", "s"),
            ("Resize", "s roi scales", "z"),
            ("Relu", "z", "y"),
        ],
        "y",
        ["Relu+Resize+Sigmoid"],
    ),
    (TURNED, "y", ["Mul+Relu+Split+Transpose"]),
    (HALVES, "y b", ["Mul+Relu", "Split"]),
]


def written(steps: Steps, outputs: str, path: Path) -> str:
    """Write a model of ``x[8, 16]``, and return its path."""
    nodes = [helper.make_node(op, read.split(), made.split()) for op, read, made in steps]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 16])
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs.split()]
    stored = [numpy_helper.from_array(np.asarray(a), name) for name, a in WEIGHTS.items()]
    graph = helper.make_graph(nodes, "g", [x], ends, stored)
    opset = [helper.make_opsetid("", 17)]
    save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return str(path)


@pytest.mark.parametrize(("steps", "outputs", "expected"), CASES)
def test_operators_on_all_paths_to_one_that_allows_them_are_one_kernel(
    steps: Steps, outputs: str, expected: list[str], tmp_path: Path
) -> None:
    module = Analyses().apply(Canonicalize(), typed(written(steps, outputs, tmp_path / "m.onnx")))
    kernels = Analyses().get(Fuse(TABLE.name), module).kernels
    nodes = [frozenset(n for n in k.nodes if is_executed(n, TABLE)) for k in kernels]
    assert sorted(map(operators, nodes)) == expected


@pytest.mark.long
@pytest.mark.parametrize(("steps", "outputs", "expected"), CASES)
def test_relax_makes_these_kernels(
    steps: Steps, outputs: str, expected: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("tvm")
    answer = tvm_fusion.answer(OracleRequest(written(steps, outputs, tmp_path / "m.onnx")))
    pairs = compared(answer, TABLE).pairs
    assert sorted(operators(p.group.nodes) for p in pairs) == expected
