"""Models the report is tried on, and their analyses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import perfc

MODELS = Path(__file__).parents[3] / "examples" / "models"


def model_of(*nodes: onnx.NodeProto, output: str = "y") -> onnx.ModelProto:
    """A model with one f32 input ``x[n, 64]``."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])
    y = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
    graph = helper.make_graph(list(nodes), "g", [x], [y])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("acme", 1)]
    return helper.make_model(graph, opset_imports=opsets)


@pytest.fixture(scope="session")
def resnet() -> perfc.Report:
    return perfc.analyze(MODELS / "resnet50.onnx.gz", "a100", dims={"batch": 8})


@pytest.fixture(scope="session")
def gpt2() -> perfc.Report:
    return perfc.analyze(MODELS / "gpt2.onnx.gz", "a100", runtime="eager")


@pytest.fixture(scope="session")
def unknown() -> perfc.Report:
    """A model with an operator nobody knows between two known ones."""
    return perfc.analyze(
        model_of(
            helper.make_node("Relu", ["x"], ["a"], name="first"),
            helper.make_node("Mystery", ["a"], ["b"], name="secret", domain="acme"),
            helper.make_node("Relu", ["b"], ["y"], name="last"),
        )
    )


@pytest.fixture(scope="session")
def data_dependent() -> perfc.Report:
    """A model whose extents only running can tell."""
    return perfc.analyze(
        model_of(
            helper.make_node("NonZero", ["x"], ["a"], name="find"),
            helper.make_node("Cast", ["a"], ["b"], to=TensorProto.FLOAT, name="cast"),
            helper.make_node("Exp", ["b"], ["y"], name="exp"),
        )
    )


@pytest.fixture(scope="session")
def views(resnet: perfc.Report) -> Any:
    return resnet.views
