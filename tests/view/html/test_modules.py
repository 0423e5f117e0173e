"""Modules of a model, whatever its exporter called things."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import perfc
from perfc.view.html.modules import MOST_CHILDREN, ModuleTree, filled, paths_of, split, tree
from perfc.view.html.wiring import wiring

from .conftest import chain


def names(module: ModuleTree) -> list[object]:
    return [c if isinstance(c, int) else (c.name, names(c)) for c in module.children]


def test_paths_become_a_tree_in_execution_order() -> None:
    found = tree([("a", "b"), ("a", "b"), ("a", "c"), ("a", "c"), ("d",), ("d",)], "m")
    assert names(found) == [("a", [("b", [0, 1]), ("c", [2, 3])]), ("d", [4, 5])]


def test_a_module_of_one_is_that_one() -> None:
    assert names(tree([("a", "b"), ("c", "d"), ("c", "d")], "m")) == [0, ("c/d", [1, 2])]


def test_a_wrapper_of_nearly_all_nodes_is_opened() -> None:
    paths = [("m", "h", str(i // 2)) for i in range(8)]
    found = tree([(), *paths], "model")
    assert names(found) == [
        0,
        ("h/0", [1, 2]),
        ("h/1", [3, 4]),
        ("h/2", [5, 6]),
        ("h/3", [7, 8]),
    ]


def test_names_are_split_at_slashes_before_dots() -> None:
    assert split("/layer1/layer1.0/Conv") == ("layer1", "layer1.0", "Conv")
    assert split("encoder.0.weight") == ("encoder", "0", "weight")
    assert split("node_12") == ("node_12",)


def test_between_two_modules_lies_what_they_have_in_common() -> None:
    a, b, c = ("m", "a"), ("m", "b"), ("n",)
    assert filled([a, None, b, None, c]) == [a, ("m",), b, (), c]


def test_many_nodes_without_a_path_are_put_together() -> None:
    report = perfc.analyze(chain(400))
    nodes = wiring(report).nodes
    root = tree(paths_of(nodes), "m")
    waiting, seen = [root], 0
    while waiting:
        module = waiting.pop()
        assert len(module.children) <= MOST_CHILDREN
        waiting += [c for c in module.children if isinstance(c, ModuleTree)]
        seen += sum(isinstance(c, int) for c in module.children)
    assert seen == len(nodes)


def test_weights_tell_the_modules_where_nodes_are_numbered(resnet: perfc.Report) -> None:
    nodes = wiring(resnet).nodes
    named = paths_of(nodes)
    assert ("layer1", "0", "conv1") in named
    from dataclasses import replace

    flat = [replace(n, loc=replace(n.loc, name=f"node_{i}")) for i, n in enumerate(nodes)]
    found = paths_of(flat)
    assert len(set(found)) > 50
    convolutions = [p for n, p in zip(flat, found, strict=True) if n.op.mnemonic == "conv"]
    assert all(p[-1].startswith(("conv", "0")) for p in convolutions), convolutions


def test_every_edge_joins_a_writer_to_a_reader(resnet: perfc.Report) -> None:
    wires = wiring(resnet)
    for a, b in wires.edges:
        assert set(wires.nodes[a].results) & set(wires.nodes[b].inputs)
    assert len(wires.edges) >= len(wires.nodes) - 1


def test_names_of_stored_shapes_are_no_modules() -> None:

    weights = {
        "block.0.fc.weight": np.zeros((8, 8), np.float32),
        "block.1.fc.weight": np.zeros((8, 8), np.float32),
        "view_13/shape": np.array([-1, 8], np.int64),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "block.0.fc.weight"], ["a"], name="node_1"),
        helper.make_node("Reshape", ["a", "view_13/shape"], ["b"], name="node_2"),
        helper.make_node("MatMul", ["b", "block.1.fc.weight"], ["y"], name="node_3"),
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 8]) for n in "xy")
    stored = [numpy_helper.from_array(a, n) for n, a in weights.items()]
    graph = helper.make_graph(nodes, "g", [x], [y], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    found = paths_of(wiring(perfc.analyze(model)).nodes)
    assert ("block", "0", "fc") in found
    assert not any("view_13" in p for p in found)
