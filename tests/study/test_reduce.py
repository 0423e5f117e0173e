"""Reduced models are small, stand alone, and still show what they were cut out for."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner
from onnx import NodeProto, TensorProto, helper

from perfc.api import analyze, infer_shapes
from perfc.commands.dev.reduce import command
from perfc.errors import ModelError, ShapeError
from perfc.frontend.reading.onnx_file import read_model
from perfc.study.reduce import reduce_error, reduce_to_node

MODELS = Path(__file__).parents[2] / "examples" / "models"


def model_of(nodes: list[NodeProto], output: str, weights: list[TensorProto]) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])
    y = helper.make_empty_tensor_value_info(output)
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def relus(first: str, last: str, count: int) -> list[NodeProto]:
    names = [first, *(f"{last}_{i}" for i in range(1, count)), last]
    return [helper.make_node("Relu", [a], [b], name=f"relu_{b}") for a, b in pairwise(names)]


def matrix(name: str, rows: int, columns: int) -> TensorProto:
    return helper.make_tensor(name, TensorProto.FLOAT, [rows, columns], [0.5] * rows * columns)


def ops(model: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in model.graph.node]


def shape_of(info: onnx.ValueInfoProto) -> list[object]:
    return [d.dim_param or d.dim_value for d in info.type.tensor_type.shape.dim]


def test_a_node_gets_typed_inputs_and_stands_alone() -> None:
    result = reduce_to_node(read_model(MODELS / "resnet50.onnx.gz"), "/maxpool/MaxPool")
    assert (result.nodes, result.total) == (1, 175)
    assert ops(result.model) == ["MaxPool"]
    assert [shape_of(i) for i in result.model.graph.input] == [["batch", 64, 112, 112]]
    onnx.checker.check_model(result.model, full_check=True)


def test_a_cut_node_costs_what_it_cost_in_the_whole() -> None:
    path = MODELS / "resnet50.onnx.gz"
    whole = analyze(path, dims={"batch": 8})
    first = whole.source.graph.nodes[0]
    cut = analyze(reduce_to_node(read_model(path), first.name).model, dims={"batch": 8})
    assert cut.cost.work == whole.cost.nodes[first].work
    assert cut.cost.traffic == whole.cost.nodes[first].traffic


def test_contents_that_drive_shapes_come_along() -> None:
    path = MODELS / "gpt2.onnx.gz"
    model = reduce_to_node(read_model(path), "node_view_4").model
    assert ops(model)[-1] == "Reshape"
    assert "Shape" in ops(model)
    out = model.graph.output[0].name
    assert str(infer_shapes(model)[out]) == str(infer_shapes(path)[out])


def test_numeric_contents_become_constants() -> None:
    nodes = [
        helper.make_node("Shape", ["w"], ["s"]),
        helper.make_node("Reshape", ["x", "s"], ["y"], name="view"),
    ]
    model = reduce_to_node(model_of(nodes, "y", [matrix("w", 2, 8)]), "view").model
    assert ops(model) == ["Reshape"]
    assert [t.name for t in model.graph.initializer] == ["s"]
    assert onnx.numpy_helper.to_array(model.graph.initializer[0]).tolist() == [2, 8]


def test_small_constants_stay_and_large_ones_become_inputs() -> None:
    weights = [matrix("small", 4, 4), matrix("large", 4, 4096)]
    nodes = [
        helper.make_node("MatMul", ["x", "small"], ["h"], name="first"),
        helper.make_node("MatMul", ["h", "large"], ["y"], name="second"),
    ]
    model = model_of(nodes, "y", weights)
    first = reduce_to_node(model, "first").model
    assert [i.name for i in first.graph.input] == ["x"]
    assert [t.name for t in first.graph.initializer] == ["small"]
    second = reduce_to_node(model, "second").model
    assert [(i.name, shape_of(i)) for i in second.graph.input] == [
        ("h", ["n", 4]),
        ("large", [4, 4096]),
    ]


def test_a_node_of_a_subgraph_is_cut_with_its_owner() -> None:
    def branch(name: str) -> onnx.GraphProto:
        node = helper.make_node("Relu", ["x"], [f"{name}_y"], name=f"{name}_relu")
        return helper.make_graph(
            [node], name, [], [helper.make_empty_tensor_value_info(f"{name}_y")]
        )

    choice = helper.make_node(
        "If", ["c"], ["y"], name="choice", then_branch=branch("a"), else_branch=branch("b")
    )
    flag = helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0)
    cast = helper.make_node("Cast", ["m"], ["c"], to=TensorProto.BOOL)
    result = reduce_to_node(model_of([flag, cast, choice], "y", []), "b_relu")
    assert ops(result.model) == ["If"]
    assert {i.name for i in result.model.graph.input} == {"c", "x"}


def failing(before: int, after: int) -> onnx.ModelProto:
    """A product of extents that do not go together between many sound nodes."""
    bad = helper.make_node("MatMul", ["a", "w"], ["b"], name="bad")
    nodes = [*relus("x", "a", before), bad, *relus("b", "y", after)]
    return model_of(nodes, "y", [matrix("w", 5, 4)])


@pytest.mark.parametrize(("before", "after"), [(1, 1), (30, 1), (3, 30)])
def test_an_error_is_reduced_to_the_node_that_shows_it(before: int, after: int) -> None:
    result = reduce_error(failing(before, after))
    assert ops(result.model) == ["MatMul"]
    assert (result.nodes, result.total) == (1, before + after + 1)
    assert isinstance(result.error, ShapeError)
    assert [shape_of(i) for i in result.model.graph.input] == [["n", 4]]
    with pytest.raises(ShapeError):
        analyze(result.model)


def test_nodes_that_make_the_error_happen_are_kept() -> None:
    def probe(model: onnx.ModelProto) -> None:
        if {"Tanh", "Sigmoid"} <= set(ops(model)):
            raise ModelError("both are there; and more")

    tanh = helper.make_node("Tanh", ["a"], ["b"])
    sigmoid = helper.make_node("Sigmoid", ["c"], ["d"])
    nodes = [*relus("x", "a", 5), tanh, *relus("b", "c", 1), sigmoid, *relus("d", "y", 9)]
    result = reduce_error(model_of(nodes, "y", []), probe)
    assert "Tanh" in ops(result.model)
    assert "Sigmoid" in ops(result.model)
    assert result.nodes <= 3


def test_a_sound_model_has_no_error_to_reduce() -> None:
    with pytest.raises(ModelError, match="raises no error"):
        reduce_error(model_of(relus("x", "y", 2), "y", []))


def test_the_command_writes_a_model_or_prints_it(tmp_path: Path) -> None:
    source, out = tmp_path / "bad.onnx", tmp_path / "small.onnx"
    source.write_bytes(failing(8, 8).SerializeToString())
    result = CliRunner().invoke(command, [str(source), "--error", "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert "1 of 17 nodes" in result.output
    assert "contracted extents differ: 4 and 5" in result.output
    assert ops(onnx.load(out)) == ["MatMul"]
    shown = CliRunner().invoke(command, [str(MODELS / "resnet50.onnx.gz"), "--node", "#1"])
    assert "BatchNormalization" in shown.output


@pytest.mark.parametrize("arguments", [[], ["--node", "x", "--error"]])
def test_one_of_node_and_error_is_asked_for(arguments: list[str]) -> None:
    result = CliRunner().invoke(command, [str(MODELS / "resnet50.onnx.gz"), *arguments])
    assert result.exit_code == 2
