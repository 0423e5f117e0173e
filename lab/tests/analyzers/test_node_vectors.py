"""What networks of the papers read of a node, number by number, on a graph of known extents."""

from __future__ import annotations

from math import log2
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.graph.encode import encode_module
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.frontend import load
from perfc.machine.mig import mig_profile, profiles
from perfc_lab.papers.networks.node_features import OTHER, logs, one_hot

pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from perfc_lab.papers import nnlqp, pmgns, trappm
from perfc_lab.papers.static_features import static_features

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
g (float[batch, 8, 16, 16] x) => (float[batch, 5] y)
<float[32, 2, 3, 5] w = ["location": "w.bin"], float[32] b = ["location": "w.bin"],
 float[32, 5] v = ["location": "w.bin"]> {
  c = Conv <group: int = 4, pads: ints = [1, 2, 1, 2], strides: ints = [2, 1]> (x, w, b)
  r = Relu (c)
  p = GlobalAveragePool (r)
  f = Flatten (p)
  m = MatMul (f, v)
  y = Exp (m)
}"""
BATCH = 4
MAC = 4 * 32 * 8 * 16 * (2 * 3 * 5), 4 * 32 * 5


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> ModelGraph:
    path = Path(tmp_path_factory.mktemp("models")) / "g.onnxtxt"
    path.write_text(TEXT, encoding="utf-8")
    return encode_module("g", load(path), [Setting(Precision.F32, version=(1, 8))])


def node(table: np.ndarray, columns: tuple[str, ...], index: int) -> dict[str, float]:
    """Columns of a node that are not zero; logarithms undone but for its name."""
    row = dict(zip(columns, table[index].tolist(), strict=True))
    found = {n: v if n.startswith("is ") else 2**v - 1 for n, v in row.items() if v}
    return {n: pytest.approx(v) for n, v in found.items()}


CONV = {
    "kernel_h": 3,
    "kernel_w": 5,
    "stride_h": 2,
    "stride_w": 1,
    "dilation_h": 1,
    "pad_h": 2,
    "pad_w": 4,
    "groups": 4,
    "out_0": 4,
    "out_1": 32,
    "out_2": 8,
    "out_3": 16,
}


def test_nodes_of_nnlqp_are_operator_attributes_and_shape(graph: ModelGraph) -> None:
    table = nnlqp.node_table(graph, BATCH)
    assert node(table, nnlqp.NODES.columns, 0) == {"is conv": 1, **CONV}
    relu = {"is relu": 1, "out_0": 4, "out_1": 32, "out_2": 8, "out_3": 16}
    assert node(table, nnlqp.NODES.columns, 1) == relu


def test_nodes_of_pmgns_are_named_as_in_relay(graph: ModelGraph) -> None:
    table = pmgns.node_table(graph, BATCH)
    conv = {"is conv": 1, **CONV, "dilation_w": 1, "weight_0": 32, "weight_1": 2, "has_bias": 1}
    assert node(table, pmgns.NODES.columns, 0) == conv
    names = pmgns.relay_names(graph)
    assert names[:3] == ["conv", "relu", "average_pool"]
    assert names[-2:] == ["dense", "exp"]
    # one of each of convolutions, dense products and ReLU
    assert pmgns.static_features(graph, BATCH) == pytest.approx([log2(1 + sum(MAC)), 2, 1, 1, 1])


MEANS = """<ir_version: 10, opset_import: ["" : 21]>
g (float[batch, 8, 16, 16] x) => (float[batch, 8] y, float[batch, 8, 16] d)
<int64[2] plane = {2, 3}, int64[1] channels = {1}, int64[1] one = {3}> {
  a = ReduceMean <keepdims: int = 1> (x, plane)
  b = ReduceMean <keepdims: int = 0> (x, plane)
  c = ReduceMean <keepdims: int = 1> (x, channels)
  d = ReduceMean <keepdims: int = 0> (x, one)
  e = Add (x, a)
  f = Add (e, c)
  i = ReduceMean <keepdims: int = 0> (f, plane)
  y = Add (i, b)
}"""


def test_a_mean_over_an_image_is_a_pool_to_pmgns(tmp_path: Path) -> None:
    (path := tmp_path / "means.onnxtxt").write_text(MEANS, encoding="utf-8")
    graph = encode_module("means", load(path), [Setting(Precision.F32, version=(1, 8))])
    names = pmgns.relay_names(graph)
    assert names == [
        *["average_pool"] * 2,
        *["reduce_mean"] * 2,
        *["add"] * 2,
        "average_pool",
        "add",
    ]
    zeros = pmgns.node_table(graph, BATCH)[:, : len(pmgns.VOCABULARY)].sum(axis=1) == 0
    assert zeros.nonzero()[0].tolist() == [2, 3]


def test_nodes_of_trappm_carry_what_they_compute_and_move(graph: ModelGraph) -> None:
    found = node(trappm.node_table(graph, BATCH), trappm.NODES.columns, 0)
    read = 4 * (4 * 8 * 16 * 16 + 32 * 2 * 15 + 32)
    assert found == {
        "is conv": 1,
        "in_0": 4,
        "in_1": 8,
        "in_2": 16,
        "in_3": 16,
        "out_0": 4,
        "out_1": 32,
        "out_2": 8,
        "out_3": 16,
        "mac": MAC[0],
        "parameters": 32 * 2 * 15 + 32,
        "memory": read + 4 * (4 * 32 * 8 * 16),
    }


def test_static_numbers_are_sums_over_nodes(graph: ModelGraph) -> None:
    batch, nodes, edges, mac, parameters, _ = static_features(graph, BATCH)
    count = len(graph.ops)
    assert (batch, nodes, edges) == pytest.approx((log2(5), log2(1 + count), log2(count)))
    assert mac == pytest.approx(log2(1 + sum(MAC)))
    assert parameters == pytest.approx(log2(1 + 32 * 2 * 15 + 32 + 160))
    flop, own, _, images = nnlqp.static_features(graph, BATCH)
    assert (own, images) == (parameters, batch)
    # beside the products: bias, ReLU and mean of 4·32·8·16 elements, an exponential of 4·5
    assert 2**flop - 1 == pytest.approx(2 * sum(MAC) + 3 * (4 * 32 * 8 * 16) + 4 * 5, rel=1e-9)


def test_one_hot_parts_and_logarithms() -> None:
    names = ("conv", "what", "add")
    assert one_hot(names, ("add", "conv")).tolist() == [[0, 1], [0, 0], [1, 0]]
    assert one_hot(names, ("add", OTHER)).tolist() == [[0, 1], [0, 1], [1, 0]]
    assert logs({"a": np.array([0.0, 3.0]), "b": np.array([1.0, 7.0])}, ("b", "a")).tolist() == [
        [1, 0],
        [3, 2],
    ]


def test_a_slice_holds_less_than_its_name_says() -> None:
    names = {9.9e9: "2g.10gb", 10e9: "3g.20gb", 4.9e9: "1g.5gb", 39e9: "7g.40gb"}
    for memory_bytes, name in names.items():
        found = mig_profile(memory_bytes)
        assert found is not None
        assert found.name == name
    assert mig_profile(40e9) is None
    assert mig_profile(0.0) is None
    assert mig_profile(float("nan")) is None
    names = ["1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"]
    assert [p.name for p in profiles("a100-sxm4-40gb")] == names
    assert [p.capacity_bytes for p in profiles("a100-sxm4-80gb")] == [10e9, 20e9, 40e9, 80e9]
    assert [p.name for p in profiles("a30")] == ["1g.6gb", "2g.12gb", "4g.24gb"]
    assert profiles("l4") == ()
