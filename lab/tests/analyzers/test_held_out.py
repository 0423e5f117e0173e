"""Rows of tables, and how they are held out: what is read, and which part a row belongs to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from perfc.analyzers.features.classes.attention import AttentionKernel
from perfc.analyzers.features.networks import Operation
from perfc.analyzers.features.rows import DataError, Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.analyzers.steps.setting import Precision, RunMode, Setting, precision_of
from perfc.machine import load_machine
from perfc_lab.data.rows import Rows
from perfc_lab.datasets import datasets
from perfc_lab.datasets.spaces import help_nas
from perfc_lab.splitting import at_several_batches
from perfc_lab.tables import sources
from perfc_lab.tables.aic_attention import kernel_of
from perfc_lab.training.experiments import neusight_runs, operators, slices
from perfc_lab.training.export import cut, every, layer_units, parsed
from perfc_lab.training.graphs.statistics import statistics

from .graph_rows import measurements
from .test_folds import kernel_block

# Tables


def test_collectives_name_library_operation_and_bytes(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "system": ["h100_sxm", "h100_sxm", "gb200", "l40s"],
            "library": ["nccl", "vllm", "trtllm", "vllm"],
            "kernel_source": ["NCCL", "NCCL", "TRTLLM", "vLLM_custom_eager"],
            "dtype": ["half", "half", "int8", "bfloat16"],
            "op": ["all_reduce", "alltoall", "all_gather", "reduce_scatter"],
            "num_gpus": [8, 4, 2, 2],
            "message_elements": [1000, 500, 64, 10],
            "latency_us": [12.0, 9.0, 5.0, 30.0],
        }
    )
    frame.to_parquet(tmp_path / "aic_comm.parquet")
    found = {}
    for block in sources()["aic_comm"].rows(tmp_path):
        for i in range(len(block)):
            key = block.target, block.framework, block.dtype, block.protocol
            column = {n: float(c[i]) for n, c in block.columns.items()}
            found[(*key, Operation(int(column["operation"])))] = (
                column["ranks"],
                column["nbytes"],
                block.time_s[i] * 1e6,
            )
    graph, eager = Protocol.GRAPH, Protocol.EAGER
    assert found == {
        ("h100-sxm5-80gb", "nccl", "f16", graph, Operation.ALL_REDUCE): (8, 2000, 12),
        # what a framework measured of NCCL is NCCL's
        ("h100-sxm5-80gb", "nccl", "f16", graph, Operation.ALL_TO_ALL): (4, 1000, 9),
        ("gb200", "trtllm", "i8", graph, Operation.ALL_GATHER): (2, 64, 5),
        ("l40s", "vllm", "bf16", eager, Operation.REDUCE_SCATTER): (2, 20, pytest.approx(30)),
    }


@pytest.mark.parametrize(
    ("name", "target", "expected"),
    [
        ("flash_attention", "a100", AttentionKernel.FLASH_2),
        ("flash_attention", "h100", AttentionKernel.FLASH_3),
        ("flash_attention", "b200", AttentionKernel.FLASH_4),
        ("flash_attention", "arc-pro-b60", AttentionKernel.ONE_API),
        ("flash_attention", "rtx4090", AttentionKernel.FLASH_2),
        ("vllm_flash_attn_fa2", "h100", AttentionKernel.FLASH_2),
        ("triton", "a100", AttentionKernel.TRITON),
        ("something", "a100", AttentionKernel.UNKNOWN),
    ],
)
def test_plain_flash_attention_is_that_of_the_machine(
    name: str, target: str, expected: AttentionKernel
) -> None:
    assert kernel_of(name, Sheet(load_machine(target))) is expected


def test_latencies_of_search_spaces_are_those_of_graphics_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(help_nas, "MOST_ARCHITECTURES", 2)
    help_nas.architectures.cache_clear()
    cell = "|{}~0|+|none~0|none~1|+|none~0|none~1|none~2|"
    arches = [cell.format(op) for op in ("nor_conv_3x3", "skip_connect", "avg_pool_3x3")]
    pd.DataFrame(
        {
            "space": ["nasbench201"] * 3 + ["fbnet"],
            "arch_index": [0, 1, 2, 0],
            "arch": [*arches, "0,1"],
        }
    ).to_parquet(tmp_path / "help_nas_archs.parquet")
    pd.DataFrame(
        {
            "space": "nasbench201",
            "batch": 32,
            "arch_index": [0, 1, 2, 0, 1],
            "device": ["titanx", "titanx", "titanx", "pixel2", "1080ti"],
            "latency_ms": [4.0, 5.0, 6.0, 7.0, 0.0],
            "source": ["rows"] * 5,
        }
    ).to_parquet(tmp_path / "help_nas_latency.parquet")
    chosen = help_nas.architectures(tmp_path, "nasbench201")
    assert len(chosen) == 2
    dataset = next(d for d in datasets().values() if getattr(d, "space", "") == "nasbench201")
    rows = dataset.rows(tmp_path)
    assert {(r.target, r.batch) for r in rows} == {("titan-x-pascal", 32)}
    assert {int(r.graph.rpartition("-")[2]): r.time_s for r in rows} == pytest.approx(
        {i: (4 + i) / 1e3 for i in chosen}
    )
    made = dataset.encode(rows[0].graph, [help_nas.SETTING], tmp_path)
    assert made is not None
    assert made.ops.ops.count("conv") > 3
    left = ({0, 1, 2} - set(chosen)).pop()
    assert dataset.encode(f"x-{left}", [help_nas.SETTING], tmp_path) is None
    with pytest.raises(DataError, match="no architectures of ofa"):
        help_nas.architectures(tmp_path, "ofa")
    help_nas.architectures.cache_clear()


def test_a_data_set_says_how_many_of_what_it_holds() -> None:
    """24 networks on three machines at two batches."""
    data = measurements()
    lines = [" ".join(line.split()) for line in statistics(data)]
    assert lines[0] == "nb201, digest digest"
    assert lines[1] == "144 rows, 24 graphs, 24 architectures, 1 families"
    assert lines[2:5] == [f"48 rows {t}, eager" for t in ("gtx1080ti", "rtx2080ti", "titan-xp")]
    times = sorted(r.time_s for r in data.rows)
    middle = (times[71] + times[72]) / 2
    assert lines[5] == f"144 rows time_s: {times[0]:.4g} … {middle:.4g} … {times[-1]:.4g}"
    counts = sorted(len(g.ops) for g in data.graphs.values())
    assert lines[6].startswith(f"operators of a graph: {counts[0]} … ")
    assert lines[6].endswith(f" … {counts[-1]}")
    assert len([line for line in lines if "columns, digest" in line]) == 5


# Rows of runs


def run_row(batch: int = 1, target: str = "t4", graph: str = "g", **more: float) -> GraphRow:
    return GraphRow(graph, graph, Setting(), target, batch, 1.0, **more)


def test_rows_are_those_of_which_a_quantity_was_measured() -> None:
    rows = (
        run_row(energy_j=2.0),
        run_row(energy_j=0.0),
        run_row(),
        run_row(energy_j=float("inf")),
    )
    data = Measurements("d", {}, rows)
    assert data.measured(Quantity.ENERGY).rows == rows[:1]
    assert data.values(Quantity.ENERGY)[0] == 2
    assert len(data.measured(Quantity.TIME)) == 4
    assert len(data.measured(Quantity.MEMORY)) == len(data.measured(Quantity.POWER)) == 0
    assert run_row(memory_bytes=3.0).value(Quantity.MEMORY) == 3
    assert run_row(power_w=4.0).value(Quantity.POWER) == 4


def test_several_batches_are_those_of_one_graph_on_one_machine() -> None:
    assert not at_several_batches([])
    assert not at_several_batches([run_row(1), run_row(1)])
    assert at_several_batches([run_row(1), run_row(2)])
    assert not at_several_batches([run_row(1), run_row(2, target="p4"), run_row(3, graph="h")])


def test_a_way_of_running_has_a_mode_a_table_of_fusion_and_a_name() -> None:
    modes = {
        RunMode.EAGER: Setting(),
        RunMode.CHANNELS_LAST: Setting(channels_last=True),
        RunMode.COMPILED: Setting(compiled=True, channels_last=True),
        RunMode.TRAINING: Setting(training=True, compiled=True),
    }
    assert {mode: s.mode for mode, s in modes.items()} == {mode: mode for mode in RunMode}
    assert Setting(compiled=True).runtime == "inductor"
    assert Setting(version=(2, 0)).runtime == "eager"
    assert Setting(version=(1, 13)).runtime == "eager-unfused"
    assert Setting(version=(2, 4)).framework == "torch 2.4"
    assert [p.bits for p in Precision] == [16, 16, 16, 16, 32, 32]
    assert [p.dtype for p in Precision] == ["f16", "bf16", "bf16", "f16", "f32", "tf32"]
    named = {
        "amp_fp16": "amp f16",
        "AMP": "amp f16",
        "amp-bfloat16": "amp bf16",
        "half": "f16",
        "float32": "f32",
        "tf32": "tf32",
    }
    assert {name: precision_of(name, "here").value for name in named} == named


def test_slices_of_attention_and_collectives_are_what_they_are_called() -> None:
    both = kernel_block("t4", causal=[1, 0], cache_bits=[8, 16])
    masks = {part.name: part.which for part in operators.PREFILL.shapes}
    assert masks["prompts"](both).tolist() == [True, False]
    assert masks["encoders"](both).tolist() == [False, True]
    assert operators.DECODE.shapes[1].which(both).tolist() == [True, False]
    assert masks["prompts, fp8"](both).tolist() == [False, False]
    narrow = Rows("attention_prefill", "t4", "f8e4m3", Protocol.GRAPH, "", both.columns, np.ones(2))
    assert masks["prompts, fp8"](narrow).tolist() == [True, False]
    assert masks["prompts"](kernel_block("t4", m=[1, 2])).tolist() == [True, True]
    eager = Rows("collective", "t4", "f16", Protocol.EAGER, "", both.columns, np.ones(2))
    assert slices.REPLAYED(both).tolist() == [True, True]
    assert slices.REPLAYED(eager).tolist() == [False, False]


def test_slices_of_products_are_by_type_protocol_and_maker() -> None:
    def said(target: str, dtype: str, how: Protocol) -> list[str]:
        rows = Rows("matmul", target, dtype, how, "", {"m": np.ones(2)}, np.ones(2))
        return [part.name for part in operators.MATMUL.machines[1:4] if part.which(rows).all()]

    assert said("a100-sxm4-80gb", "bf16", Protocol.GRAPH) == ["bf16, NVIDIA", "all, NVIDIA"]
    assert said("arc-pro-b60", "bf16", Protocol.GRAPH) == ["all, Intel"]
    assert said("a100-sxm4-80gb", "i8", Protocol.GRAPH) == ["all, NVIDIA"]
    assert said("a100-sxm4-80gb", "bf16", Protocol.KERNELS) == []
    assert said("arc-pro-b60", "f16", Protocol.KERNELS) == ["all, Intel"]


def test_exported_models_are_kept_where_caches_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert neusight_runs.cache() == tmp_path / "cache" / "perfc" / "neusight"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert neusight_runs.cache() == tmp_path / ".cache" / "perfc" / "neusight"


class Said:
    """A label of a second, of which a correlation says how wide the interval is."""

    def __init__(self, least: float) -> None:
        self.least = least

    def is_held(self, products: float) -> bool:
        return products >= self.least


def test_the_correlation_of_products_is_the_least_that_holds_nine_in_ten() -> None:
    few = [Said(0.0)] * 9
    assert neusight_runs.correlation(cast("Any", [*few, Said(0.9)])) == 0
    assert neusight_runs.correlation(cast("Any", [*few, Said(0.25), Said(0.5)])) == 0.25
    assert neusight_runs.correlation(cast("Any", [Said(2.0)])) == 1


def test_figures_of_runs_are_by_mode_and_machine() -> None:
    """Errors of 10 and 50 %, the second outside and above its floor."""
    lines = [(1.0, 1.1, 0.9, 1.2, 0.5), (2.0, 1.0, 0.5, 1.5, 2.5)]
    found = neusight_runs.figure("inf", "", lines)
    assert (found.slice, found.rows, found.goal, found.anchor) == (
        "inference",
        2,
        0.09,
        "NeuSight 10.1 %",
    )
    assert (found.mape, found.median) == pytest.approx((0.3, 0.3))
    assert (found.coverage, found.floor_holds) == (0.5, 0.5)
    assert found.width == pytest.approx((1.2 / 0.9 + 3) / 2)
    own = neusight_runs.figure("train", "t4", lines)
    assert (own.slice, own.goal, own.anchor) == (
        "training, forward and backward, t4",
        None,
        "",
    )
    assert neusight_runs.figure("", "", lines).goal is None


# Configurations of transformers


def test_a_configuration_is_cut_to_so_many_layers_of_each_kind() -> None:
    plain = json.dumps({"num_hidden_layers": 24, "hidden_size": 8, "torch_dtype": "float16"})
    assert layer_units(plain) == 24
    assert parsed(plain) == {"num_hidden_layers": 24, "hidden_size": 8}
    assert cut(parsed(plain), 2) == {"num_hidden_layers": 2, "hidden_size": 8}
    sparse = {
        "num_layers": 12,
        "num_decoder_layers": 12,
        "num_sparse_encoder_layers": 6,
        "num_sparse_decoder_layers": 6,
    }
    assert every(sparse) == 2
    assert layer_units(json.dumps(sparse)) == 6
    assert cut(sparse, 2) == {
        "num_layers": 4,
        "num_decoder_layers": 4,
        "num_sparse_encoder_layers": 2,
        "num_sparse_decoder_layers": 2,
    }
    for text in ("{}", '{"n_layer": 0}', '{"n_layer": "many"}'):
        with pytest.raises(DataError, match="without a number of layers"):
            layer_units(text)
