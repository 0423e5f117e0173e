"""Names of nodes in files that have none."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import perfc
from perfc.frontend import load
from perfc.ir import Module
from perfc.ir.graphs.blocks import BLOCK, filled, path_of_weights, split

MODELS = Path(__file__).parents[2] / "examples" / "models"


def read(name: str) -> onnx.ModelProto:
    return onnx.load_from_string(gzip.decompress((MODELS / name).read_bytes()))


def renamed(model: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    """Give nodes and tensors names by chance, and remove what else names them."""
    rng = random.Random(seed)
    graph = model.graph
    outer = {v.name for v in (*graph.input, *graph.output)}
    names = {"": ""} | {name: name for name in outer}
    for node in graph.node:
        node.name = f"n{rng.randrange(10**9)}"
        del node.metadata_props[:]
        for field in (node.input, node.output):
            field[:] = [names.setdefault(n, f"t{rng.randrange(10**9)}") for n in field]
    for tensor in graph.initializer:
        tensor.name = names.setdefault(tensor.name, tensor.name)
    del graph.value_info[:]
    return model


def paths(module: Module) -> list[tuple[str, ...]]:
    return [split(n.name)[:-1] for n in module.graph]


@pytest.mark.parametrize(
    ("name", "count", "share"),
    [
        ("resnet50.onnx.gz", 16, 1.0),
        ("bert-base.onnx.gz", 12, 0.97),
        ("gpt2.onnx.gz", 12, 0.94),
        ("vit-b16.onnx.gz", 12, 0.97),
    ],
)
def test_blocks_have_the_nodes_of_the_modules_that_repeat(
    name: str, count: int, share: float
) -> None:
    known = load(MODELS / name)
    blocks = load(renamed(read(name), 1).SerializeToString())
    assert len({p for (p,) in paths(blocks) if p.startswith("block ")}) == count
    pairs = {}
    for path, (block,) in zip(paths(known), paths(blocks), strict=True):
        number = next((i for i, part in enumerate(path) if part.isdecimal()), None)
        if number is not None:
            pairs.setdefault(path[: number + 1], []).append(block)
    assert len(pairs) == count
    agreed = [max(map(found.count, found)) for found in pairs.values()]
    assert len({max(found, key=found.count) for found in pairs.values()}) == count
    assert sum(agreed) >= share * sum(map(len, pairs.values()))


@pytest.mark.parametrize("name", ["resnet50.onnx.gz", "swin-t.onnx.gz"])
def test_names_do_not_follow_those_of_the_file(name: str) -> None:
    one, other = (load(renamed(read(name), seed).SerializeToString()).graph for seed in (1, 2))
    assert [n.name for n in one] == [n.name for n in other]
    assert len({n.name for n in one}) == len(one.nodes)
    assert all(BLOCK.match(n.name) for n in one)
    assert all(n.loc.stored_name.startswith("n") for n in one)


def test_no_blocks_are_searched_on_a_path_beyond_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("perfc.ir.graphs.blocks.MOST", 10)
    model = load(renamed(read("resnet50.onnx.gz"), 1).SerializeToString())
    assert not any(BLOCK.match(n.name) for n in model.graph)


def test_blocks_that_share_their_weights_are_trained_as_one() -> None:
    w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[8, 8])
    w.data_location = TensorProto.EXTERNAL
    w.external_data.add(key="location", value="w.bin")
    nodes, last = [], "x"
    for i in range(4):
        nodes += [
            helper.make_node("MatMul", [last, "w"], [f"a{i}"]),
            helper.make_node("Relu", [f"a{i}"], [f"b{i}"]),
            helper.make_node("Add", [f"b{i}", last], [f"c{i}"]),
        ]
        last = f"c{i}"
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 8]) for n in ("x", last))
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], [w]), ir_version=8)
    report = perfc.analyze(model, train="sgd")
    assert {p for (p,) in paths(load(model.SerializeToString()))} == {
        f"block {i} of 4" for i in range(1, 5)
    }
    assert sum(v.weight is not None and v.shape == (8, 8) for v in report.module.graph.weights) == 1


def test_names_are_split_at_slashes_before_dots() -> None:
    assert split("/layer1/layer1.0/Conv") == ("layer1", "layer1.0", "Conv")
    assert split("encoder.0.weight") == ("encoder", "0", "weight")
    assert split("node_12") == ("node_12",)


def test_between_two_modules_lies_what_they_have_in_common() -> None:
    a, b, c = ("m", "a"), ("m", "b"), ("n",)
    assert filled([a, None, b, None, c]) == [a, ("m",), b, (), c]


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
    module = load(model.SerializeToString())
    assert [n.name for n in module.graph] == [
        "block/0/fc/MatMul",
        "block/Reshape",
        "block/1/fc/MatMul",
    ]
    assert path_of_weights(module.graph.nodes[1]) is None
