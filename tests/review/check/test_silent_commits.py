"""Commits that change nothing that a budget measures."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from .moved_models import committed, git, network, put
from .projects import said

Change = Callable[[onnx.ModelProto], onnx.ModelProto]


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    return committed(tmp_path, monkeypatch, capsys)


def renamed_nodes(model: onnx.ModelProto) -> onnx.ModelProto:
    return network(prefix="other/")


def stripped(model: onnx.ModelProto) -> onnx.ModelProto:
    model.producer_name, model.doc_string = "", ""
    del model.metadata_props[:]
    for node in model.graph.node:
        node.name = ""
    return model


def annotated(model: onnx.ModelProto) -> onnx.ModelProto:
    model.doc_string = "trained again"
    model.metadata_props.append(onnx.StringStringEntryProto(key="epoch", value="90"))
    return onnx.shape_inference.infer_shapes(model)


def external(model: onnx.ModelProto) -> onnx.ModelProto:
    onnx.external_data_helper.convert_model_to_external_data(
        model, location="a.data", size_threshold=0
    )
    for tensor in model.graph.initializer:
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
    return model


def exporter(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model as another exporter and version write it."""
    model.producer_name, model.producer_version, model.ir_version = "other", "9.9", 10
    model.opset_import[0].version = 21
    for tensor in model.graph.initializer:
        model.graph.input.append(
            helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        )
    return model


def shuffled(model: onnx.ModelProto) -> onnx.ModelProto:
    weights = list(model.graph.initializer)
    random.Random(1).shuffle(weights)
    del model.graph.initializer[:]
    model.graph.initializer.extend(weights)
    return model


def constants(model: onnx.ModelProto) -> onnx.ModelProto:
    nodes = [helper.make_node("Constant", [], [t.name], value=t) for t in model.graph.initializer]
    nodes += model.graph.node
    del model.graph.initializer[:]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def shuffled_nodes(model: onnx.ModelProto) -> onnx.ModelProto:
    nodes = list(model.graph.node)
    made = {n.output[0]: n for n in nodes if n.op_type == "Constant"}
    del model.graph.node[:]
    for node in nodes:
        if node.op_type != "Constant":
            model.graph.node.extend([made[name] for name in node.input if name in made])
            model.graph.node.append(node)
    return model


def identities(model: onnx.ModelProto) -> onnx.ModelProto:
    model.graph.node[0].input[0] = "same"
    model.graph.node.insert(0, helper.make_node("Identity", ["x"], ["same"]))
    return model


def floats(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with its weights in the field of floats."""
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor).ravel().tolist()
        tensor.ClearField("raw_data")
        tensor.float_data.extend(values)
    return model


NEUTRAL: dict[str, Change] = {
    "retrained weights": lambda m: network(seed=7),
    "renamed nodes and tensors": renamed_nodes,
    "stripped metadata": stripped,
    "metadata and shapes": annotated,
    "external data": external,
    "another exporter and version": exporter,
    "shuffled weights": shuffled,
    "weights as constants": constants,
    "shuffled nodes": lambda m: shuffled_nodes(constants(m)),
    "an identity": identities,
    "weights as floats": floats,
}


@pytest.mark.parametrize("place", ["models/a.onnx", "other/b.onnx"])
@pytest.mark.parametrize("change", NEUTRAL.values(), ids=NEUTRAL)
def test_a_commit_that_changes_nothing_stays_silent(
    project: Path, capsys: pytest.CaptureFixture[str], change: Change, place: str
) -> None:
    (project / "models/a.onnx").unlink()
    put(project, place, change(network()))
    git(project, "add", "-A")
    for files in ([], [place]):
        code, out, err = said(capsys, "check", "--strict", *files)
        assert (code, err, "warn" in out, "FAIL" in out) == (0, "", False, False), out
        assert "all budgets met" in out
