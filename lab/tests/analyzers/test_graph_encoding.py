from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import perfc
from perfc.analyzers.features.rows import DataError
from perfc.analyzers.graph.dataset import graph_path, load
from perfc.analyzers.graph.encode import encode_module
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.schema import Schema
from perfc.analyzers.graph.store import load_graph, parse_rows, rows_text, save_graph
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.ir.tensors.types import TensorType
from perfc_lab.datasets.spaces import fbnet, nas_bench_101, nas_bench_201
from perfc_lab.datasets.spaces.builder import ArchitectureError
from perfc_lab.datasets.timm import encoded_file

from .graph_rows import SETTING, arch, measurements

RESNET = Path(__file__).parents[3] / "examples" / "models" / "resnet50.onnx.gz"


@pytest.fixture(scope="module")
def resnet() -> ModelGraph:
    return encoded_file("resnet50", RESNET, [Setting(), Setting(compiled=True)])


def test_the_nodes_do_what_the_report_counts(resnet: ModelGraph) -> None:
    report = perfc.analyze(RESNET, "a100", dims={"batch": 8})
    at = resnet.ops.at(8)
    env = {"batch": 8}
    assert at["mac"].sum() == 8 * 4089184256
    stored = (v.type for v, w in report.cost.weights.items() if w.is_parameter)
    elements = sum(t.numel for t in stored if isinstance(t, TensorType) and t.numel)
    assert resnet.ops.whole_at(8)["parameters"] == elements
    assert resnet.ops.whole_at(8)["peak_bytes"] == report.liveness.peak(env)[0]


def test_counts_between_the_two_batches_are_exact(resnet: ModelGraph) -> None:
    one, four = resnet.ops.at(1), resnet.ops.at(4)
    assert four["mac"].sum() == 4 * one["mac"].sum()
    convolutions = [i for i, op in enumerate(resnet.ops.ops) if op == "conv"]
    assert (one["out_0"][convolutions] == 1).all()
    assert (four["out_0"][convolutions] == 4).all()
    assert (one["weight_0"][convolutions] == one["out_1"][convolutions]).all()


def test_a_convolution_states_its_window(resnet: ModelGraph) -> None:
    at = resnet.ops.at(1)
    first = {n: at[n][0] for n in ("kernel_h", "kernel_w", "stride_h", "pad_h", "groups", "bits")}
    assert first == {
        "kernel_h": 7,
        "kernel_w": 7,
        "stride_h": 2,
        "pad_h": 6,
        "groups": 1,
        "bits": 32,
    }


def test_edges_go_forward_and_join_all_but_the_first(resnet: ModelGraph) -> None:
    for graph in (resnet.ops, *resnet.kernels.values()):
        source, target = graph.edges
        assert (source < target).all()
    assert set(range(1, len(resnet.ops))) == set(resnet.ops.edges[1].tolist())
    assert 50 < resnet.depth <= len(resnet.ops)


def test_settings_with_other_kernels_have_their_own(resnet: ModelGraph) -> None:
    eager, compiled = (resnet.kernels[Setting(compiled=c).launch_key] for c in (False, True))
    assert len(compiled) < len(eager)
    times = eager.columns.at(16)
    assert (times.amounts["mac"] * times.times).sum() == 16 * 4089184256


def test_f32_moves_twice_the_bytes_of_bf16() -> None:
    module = nas_bench_201.network(arch(["nor_conv_3x3"] * 6))
    wide, narrow = Setting(Precision.F32), Setting(Precision.BF16)
    graph = encode_module("x", module, [wide, narrow])
    totals = [
        graph.kernels[s.launch_key].columns.at(32).amounts["read_bytes"].sum()
        for s in (wide, narrow)
    ]
    assert totals[0] == 2 * totals[1]


def test_a_graph_is_read_back_as_it_was_written(resnet: ModelGraph, tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    save_graph(resnet, path)
    found = load_graph(path, "resnet50")
    assert found is not None
    assert found.ops.ops == resnet.ops.ops
    assert np.allclose(found.ops.scaled, resnet.ops.scaled, rtol=1e-6)
    assert np.array_equal(found.ops.edges, resnet.ops.edges)
    assert list(found.kernels) == list(resnet.kernels)
    assert load_graph(tmp_path / "none.npz", "none") is None


def test_a_damaged_graph_is_an_error_and_not_a_number(resnet: ModelGraph, tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    save_graph(resnet, path)
    content = bytearray(path.read_bytes())
    path.write_bytes(bytes(content[: len(content) // 2]))
    with pytest.raises(DataError, match="damaged graph"):
        load_graph(path, "resnet50")


def test_rows_are_read_back_as_they_were_written() -> None:
    rows = measurements(3).rows
    assert parse_rows(rows_text(rows))[0].floor_s == rows[0].floor_s
    again = [replace(r, memory_bytes=0.0, energy_j=0.0, power_w=0.0, sm_active=0.5) for r in rows]
    assert parse_rows(rows_text(again)) == again
    # rows of data sets built before multiprocessors were counted end a number earlier
    shorter = "".join(line[: line.rindex(",")] + "]\n" for line in rows_text(again).splitlines())
    assert [r.power_w for r in parse_rows(shorter)] == [0.0] * len(again)
    assert all(r.sm_active != r.sm_active for r in parse_rows(shorter))
    with pytest.raises(DataError):
        parse_rows('["x", 1]\n')


def test_a_name_from_a_table_cannot_leave_the_folder(tmp_path: Path) -> None:
    for name in ("../../x", "/etc/passwd", ".hidden", "a/b"):
        assert graph_path(tmp_path, name).parent == tmp_path / "graphs"


def test_a_data_set_that_is_not_there_says_how_to_build_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="perfc data build timm"):
        load(tmp_path, "timm")


def test_a_schema_is_known_by_its_columns() -> None:
    assert Schema("t", ("a", "b")).digest == Schema("t", ("a", "b")).digest
    assert len({Schema("t", c).digest for c in (("a", "b"), ("b", "a"), ("ab",))}) == 3


def test_a_cell_of_nas_bench_101_has_the_parameters_that_were_published() -> None:
    module = nas_bench_101.network("[[0,1,0,1],[0,0,1,1],[0,0,0,1],[0,0,0,0]]", "[-1,0,0,-2]")
    norms = [n for n in module.graph.nodes if n.op.mnemonic == "batch_norm"]
    stored = sum(w.type.numel for w in module.graph.weights)  # type: ignore[union-attr, misc]
    running = sum(2 * n.inputs[1].type.numel for n in norms)  # type: ignore[union-attr, operator, misc]
    assert stored - running == 5969674


def test_vertices_that_lead_nowhere_are_left_out() -> None:
    matrix = ((0, 1, 1, 0), (0, 0, 0, 1), (0, 0, 0, 0), (0, 0, 0, 0))
    assert nas_bench_101.pruned(matrix, (-1, 0, 1, -2)) == (
        ((0, 1, 0), (0, 0, 1), (0, 0, 0)),
        (-1, 0, -2),
    )


def test_channels_of_a_cell_share_the_outputs() -> None:
    matrix = ((0, 1, 1, 1, 0), (0, 0, 0, 0, 1), (0, 0, 0, 0, 1), (0, 0, 0, 0, 1), (0,) * 5)
    assert nas_bench_101.vertex_channels(64, 128, matrix) == [64, 43, 43, 42, 128]


def test_fbnet_skips_cost_nothing_where_shapes_agree() -> None:
    dense, sparse = (encode_module("x", fbnet.network(",".join([str(n)] * 22)), []) for n in (3, 8))
    assert dense.ops.at(1)["mac"].sum() > 3 * sparse.ops.at(1)["mac"].sum()
    assert len(sparse.ops) < len(dense.ops) / 3


@pytest.mark.parametrize(
    "call",
    [
        lambda: nas_bench_201.network("|conv~0|"),
        lambda: nas_bench_201.network("|none~0|+|none~0|none~0|+|none~0|none~1|none~2|"),
        lambda: fbnet.network("1,2,3"),
        lambda: fbnet.network(",".join(["9"] * 22)),
        lambda: nas_bench_101.network("[[0,1],[1,0]]", "[-1,-2]"),
        lambda: nas_bench_101.network("[[0,0],[0,0]]", "[-1,-2]"),
        lambda: nas_bench_101.network("{}", "nonsense"),
    ],
)
def test_a_string_of_no_architecture_is_refused(call: object) -> None:
    assert callable(call)
    with pytest.raises(ArchitectureError):
        call()


def test_a_row_is_no_faster_than_its_floor() -> None:
    data = measurements(3)
    assert all(0 < r.floor_s < r.time_s for r in data.rows)
    assert SETTING in {r.setting for r in data.rows}
