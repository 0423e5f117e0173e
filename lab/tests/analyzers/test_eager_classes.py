"""Kernels of eager PyTorch: element-wise, rows, FP32 products, convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from perfc.analyzers.estimators.candidate_times import transferred
from perfc.analyzers.features import reach
from perfc.analyzers.features.classes.convolution import Convolution, gain
from perfc.analyzers.features.classes.elementwise import Elementwise
from perfc.analyzers.features.classes.matmul_f32 import MatmulF32
from perfc.analyzers.features.classes.normalization import Normalization
from perfc.analyzers.features.classes.softmax import Softmax
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import complete
from perfc.machine import load_machine
from perfc_lab.tables.deepbench import DeepBenchTable
from perfc_lab.tables.neusight import POINTWISE, NeuSightTable
from perfc_lab.tables.operand_layout import OTHER_LAYOUT, layout
from perfc_lab.training.experiments import OperatorExperiment, experiments

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

V100 = Sheet(load_machine("v100-pcie-32gb"))
P100 = Sheet(load_machine("p100"))
A100 = Sheet(load_machine("a100-pcie-40gb"))


def columns(**values: float) -> Mapping[str, Array]:
    return {name: np.array([value], float) for name, value in values.items()}


def per_byte(sheet: Sheet, cols: float) -> float:
    rows = columns(rows=2**28 / cols, cols=cols)
    body = float(Softmax().body_s(rows, "f32", sheet)[0])
    return body * reach.memory_bytes_per_s(sheet) / (4 * 2**28)


def test_rows_that_stay_in_registers_are_read_once() -> None:
    assert per_byte(V100, 1024) == pytest.approx(2.0)
    assert per_byte(P100, 512) == pytest.approx(2.0)


def test_long_rows_are_read_again_where_caches_are_small() -> None:
    assert per_byte(A100, 2048) < 2.2
    assert per_byte(P100, 2048) > 2.7
    assert per_byte(P100, 65536) == pytest.approx(4.0, rel=0.05)


def test_normalisation_reads_long_rows_twice() -> None:
    rows = columns(rows=2**14, cols=2**14)
    body = float(Normalization().body_s(rows, "f32", V100)[0])
    assert body * reach.memory_bytes_per_s(V100) / (4 * 2**28) == pytest.approx(3.0, rel=0.1)


@pytest.mark.parametrize(("size", "name"), [(1000.0, "launch"), (1e9, "body")])
def test_intervals_are_calibrated_by_what_takes_longest(size: float, name: str) -> None:
    pointwise = complete(
        Elementwise(), columns(elements=size, read_bytes=4 * size, write_bytes=4 * size)
    )
    for kind, rows in (
        (Elementwise(), pointwise),
        (Softmax(), columns(rows=size / 100, cols=100)),
        (Normalization(), columns(rows=size / 100, cols=100)),
    ):
        found = kind.category(rows, "f32", V100, Protocol.EAGER)
        assert kind.categories[found[0]] == name


def test_the_floor_of_single_precision_leaves_tf32_out() -> None:
    kind = MatmulF32()
    rows = complete(kind, columns(m=4096, n=4096, k=4096))
    floor = float(kind.floor_s(rows, "f32", A100)[0])
    assert floor == pytest.approx(2 * 4096**3 / 19.5e12, rel=0.02)
    assert float(kind.scale_s(rows, "f32", A100, Protocol.EAGER)[0]) > floor


def test_a_partial_wave_costs_a_whole_one() -> None:
    kind = MatmulF32()
    full, over = (complete(kind, columns(m=m, n=128, k=4096)) for m in (128 * 80, 128 * 81))
    ratio = kind.compute_s(over, V100)[0] / kind.compute_s(full, V100)[0]
    assert ratio > 1.05


def test_before_volta_tiles_read_stored_rows_again() -> None:
    kind = MatmulF32()
    shape = {"m": 2048.0, "n": 4096.0, "k": 4096.0}

    def traffic_s(target: str, stored: float, **other: float) -> float:
        extents = {**shape, **other, "transposed": stored}
        rows = complete(kind, {name: np.array([value]) for name, value in extents.items()})
        return float(kind.traffic_s(rows, Sheet(load_machine(target)))[0])

    assert traffic_s("p4", 1.0) > 3 * traffic_s("p4", 0.0)
    assert traffic_s("v100-pcie-32gb", 1.0) == traffic_s("v100-pcie-32gb", 0.0)
    small = {"n": 64.0, "k": 256.0}
    assert traffic_s("p4", 1.0, **small) == traffic_s("p4", 0.0, **small), "L2 holds the weight"
    one_row = {"m": 16.0}
    assert traffic_s("p4", 1.0, **one_row) < 2 * traffic_s("p4", 0.0, **one_row), "read once"


def test_batched_and_single_products_have_bands_of_their_own() -> None:
    kind, sheet = MatmulF32(), Sheet(load_machine("t4"))
    rows = complete(
        kind, {n: np.array([64.0, 64.0]) for n in "mnk"} | {"batch": np.array([1, 8.0])}
    )
    eager = kind.category(rows, "f32", sheet, Protocol.EAGER)
    assert [kind.categories[i] for i in eager] == ["single", "batched"]
    library = kind.category(rows, "f32", sheet, Protocol.KERNELS)
    assert [kind.categories[i] for i in library] == ["back to back"] * 2


def test_minimal_filtering_lowers_the_floor_of_stride_one_alone() -> None:
    three = {"kernel_h": 3.0, "kernel_w": 3.0, "stride_h": 1.0, "stride_w": 1.0}
    three |= {"dilation_h": 1.0, "dilation_w": 1.0}
    assert gain(columns(**three))[0] == pytest.approx(4.0)
    assert gain(columns(**{**three, "stride_h": 2.0, "stride_w": 2.0}))[0] == 1.0
    assert gain(columns(**{**three, "kernel_h": 1.0, "kernel_w": 1.0}))[0] == 1.0
    assert gain(columns(**{**three, "dilation_h": 2.0, "dilation_w": 2.0}))[0] == 1.0


def test_a_grouped_convolution_multiplies_less() -> None:
    kind = Convolution()
    shape = {
        "batch": 1.0,
        "in_channels": 64.0,
        "out_channels": 64.0,
        "in_h": 56.0,
        "in_w": 56.0,
        "out_h": 56.0,
        "out_w": 56.0,
        "kernel_h": 3.0,
        "kernel_w": 3.0,
    }
    macs = [
        float(kind.amounts(complete(kind, columns(**shape, groups=g)), "f32").mac[0])
        for g in (1.0, 64.0)
    ]
    assert macs[0] == 64 * 64 * 9 * 56 * 56
    assert macs[1] == macs[0] / 64


@pytest.mark.parametrize("kind", [Elementwise(), Softmax(), Normalization(), MatmulF32()])
def test_no_scale_is_below_its_floor(
    kind: Elementwise | Softmax | Normalization | MatmulF32,
) -> None:
    sizes = {
        "elements": 1e8,
        "read_bytes": 4e8,
        "write_bytes": 4e8,
        "rows": 1e5,
        "cols": 1e3,
        "m": 5e3,
        "n": 5e3,
        "k": 5e3,
    }
    rows = complete(kind, columns(**{n: sizes[n] for n in kind.parameters}))
    for name in ("p4", "t4", "mi100", "h100", "l4", "titan-xp", "rtx2080ti", "mi250"):
        sheet = Sheet(load_machine(name))
        floor = kind.floor_s(rows, "f32", sheet)
        scale = kind.scale_s(rows, "f32", sheet, Protocol.EAGER)
        assert (floor <= scale).all(), name
        found = kind.features(rows, "f32", sheet)
        assert all(np.isfinite(v).all() for v in found.values()), name


def test_what_was_learned_of_a_launch_says_nothing_of_the_kernel() -> None:
    eager, graph = np.array([28e-6, 5e-3]), np.array([3e-6, 5e-3])
    found = transferred(eager, np.log(np.array([1.5, 1.5])), graph)
    assert found[0] == pytest.approx(3e-6, rel=0.05)
    assert found[1] == pytest.approx(7.5e-3)


def test_neusights_rows_become_classes(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    names = (
        "batch",
        "m",
        "n",
        "k",
        "rows",
        "cols",
        "in_channels",
        "out_channels",
        "kernel_size",
        "in_hw",
        "stride",
        "padding",
    )
    given = {
        "linear": {"batch": 1, "m": 64, "n": 128, "k": 256},
        "bmm": {"batch": 8, "m": 64, "n": 128, "k": 256},
        "softmax": {"rows": 100, "cols": 10},
        "ln": {"rows": 100, "cols": 10},
        "conv": {
            "batch": 2,
            "in_channels": 3,
            "out_channels": 8,
            "kernel_size": 3,
            "in_hw": 10,
            "stride": 1,
            "padding": 1,
        },
        **{name: {"rows": 100, "cols": 10} for name in POINTWISE},
    }
    frame = pd.DataFrame(
        [
            {
                "op": op,
                "device": "Tesla T4",
                "split": "test",
                "latency_us": 30.0,
                "kernel_name": "volta_sgemm_128x64_nn",
                **extents,
            }
            for op, extents in given.items()
        ]
    ).reindex(columns=["op", "device", "split", "latency_us", "kernel_name", *names])
    frame[list(names)] = frame[list(names)].astype("Int32")
    frame.to_parquet(tmp_path / "neusight_ops.parquet")
    blocks = list(NeuSightTable().rows(tmp_path))
    assert {b.class_name for b in blocks} == {
        "matmul_f32",
        "softmax",
        "normalization",
        "convolution",
        "elementwise",
    }
    assert all(b.target == "t4" and b.protocol is Protocol.EAGER for b in blocks)
    products = {"transposed" in b.columns: b for b in blocks if b.class_name == "matmul_f32"}
    assert products[False].columns[OTHER_LAYOUT].tolist() == [0.0]
    assert products[True].columns[OTHER_LAYOUT].tolist() == [1.0], "linear layers are read as tn"
    assert products[True].columns["transposed"].tolist() == [0.0], "as its kernel read it"
    experiment = experiments()["matmul_f32"]
    assert isinstance(experiment, OperatorExperiment)
    taught = experiment.taught(list(products.values()))
    assert ["transposed" in b.columns for b in taught] == [False]
    (conv,) = (b for b in blocks if b.class_name == "convolution")
    assert conv.columns["out_h"][0] == 10


@pytest.mark.parametrize(
    ("kernel", "found"),
    [
        ("maxwell_sgemm_32x128_tn", "tn"),
        ("sgemm_128x128x8_NT_vec", "nt"),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3", "tn"),
        ("Cijk_Ailk_Bljk_SB_MT64x64x32_MI32x32x2x1_SE_1LDSB0", "nn"),
        ("void gemv2T_kernel_val<int, int, float>", ""),
    ],
)
def test_libraries_name_the_layout_of_operands(kernel: str, found: str) -> None:
    assert layout(kernel) == found


def test_blocks_of_softmax_are_those_of_pytorch() -> None:
    cols = [768, 1280, 2048, 2560, 4096, 16384]
    threads = Softmax().threads({"cols": np.array(cols, float)})
    assert threads.tolist()[1:] == [256, 256, 512, 512, 512]


def test_deepbenchs_convolutions_keep_their_strides(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    line = {
        "device": "TitanXp",
        "precision": "Float",
        "op": "conv",
        "forward_latency_us": 100.0,
        "batch": 8,
        "in_channels": 3,
        "out_channels": 64,
        "in_h": 224,
        "in_w": 224,
        "filter_h": 7,
        "filter_w": 7,
        "pad_h": 3,
        "pad_w": 3,
        "stride_h": 2,
        "stride_w": 2,
    }
    lines = [line, line | {"device": "MI25"}, line | {"op": "rnn"}, line | {"precision": "odd"}]
    pd.DataFrame(lines).to_parquet(tmp_path / "deepbench_ops.parquet")
    (block,) = DeepBenchTable().rows(tmp_path)
    assert (block.target, block.dtype, block.protocol) == ("titan-xp", "f32", Protocol.KERNELS)
    assert block.columns["out_h"][0] == 112
    kind = Convolution()
    macs = kind.amounts(complete(kind, block.columns), "f32").mac[0]
    assert macs == 8 * 64 * 112 * 112 * 3 * 49
