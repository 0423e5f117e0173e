"""Counters of one launch in all the ways in which ncu spells them, with numbers by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from perfc.machine import Unit
from perfc.measuring.ncu.derive import (
    TENSOR,
    bytes_at,
    counted_operations,
    derive,
    executed,
    is_wanted,
    scalar,
    seconds,
)
from perfc.measuring.ncu.metrics import collected, generation, has_tensor_pipe, tensor_counters
from perfc.measuring.ncu.report import (
    KernelCounters,
    NcuReport,
    NvtxPhase,
    is_cut,
    load,
    phase_of,
)
from perfc.measuring.ncu.standing import problems, standing
from perfc.measuring.ncu.table import MAX_COLUMNS, NcuLaunch
from perfc.view.chart.roofs import RoofLevel
from tests.measuring.test_ncu import HEADER, row, written

F32 = "{}__sass_thread_inst_executed_op_f{}_pred_on.sum"
DERIVED = "derived__smsp__sass_thread_inst_executed_op_{}_pred_on_x{}"
SCALARS = {F32.format("sm", op): 0.0 for op in ("add", "fma", "mul")}


@pytest.mark.parametrize(
    ("metrics", "time_s"),
    [
        ({"sm__cycles_elapsed.avg": 10.0, "sm__cycles_elapsed.avg.per_second": 5.0}, 2.0),
        ({"smsp__cycles_elapsed.avg": 9.0, "smsp__cycles_elapsed.avg.per_second": 3.0}, 3.0),
        ({"Elapsed Cycles": 8.0, "SM Frequency": 2.0}, 4.0),
        ({"Elapsed Cycles": 8.0, "SM Frequency": 0.0, "Duration": 7.0}, 7.0),
        ({"sm__cycles_elapsed.avg": 8.0, "SM Frequency": 2.0}, None),
        ({"gpu__time_duration.avg": 6.0, "gpu__time_duration.sum": 5.0}, 5.0),
        ({}, None),
    ],
)
def test_seconds_are_cycles_over_their_own_rate_else_the_duration(
    metrics: dict[str, float], time_s: float | None
) -> None:
    assert seconds(metrics) == time_s


@pytest.mark.parametrize(
    ("metrics", "cycles", "count"),
    [
        ({F32.format("sm", "fma"): 5.0, F32.format("smsp", "fma"): 6.0}, None, 5.0),
        ({F32.format("smsp", "fma"): 6.0}, None, 6.0),
        ({F32.format("sm", "fma") + ".per_cycle_elapsed": 3.0}, 100.0, 300.0),
        ({F32.format("sm", "fma") + ".per_cycle_elapsed": 3.0}, None, None),
        ({DERIVED.format("ffma", 2): 3.0}, 100.0, 150.0),
        ({DERIVED.format("ffma", 4): 3.0}, 100.0, 75.0),
        ({DERIVED.format("ffma", 4): 3.0}, None, None),
        ({DERIVED.format("ffma", 3): 3.0}, 100.0, None),
        ({}, 100.0, None),
    ],
)
def test_a_count_is_read_from_whichever_counter_holds_it(
    metrics: dict[str, float], cycles: float | None, count: float | None
) -> None:
    assert executed(metrics, "ffma", cycles) == count


def test_an_addition_counts_one_and_a_multiply_add_two() -> None:
    names = [F32.format("sm", op) for op in ("add", "fma", "mul")]
    assert scalar(dict(zip(names, (1.0, 10.0, 100.0), strict=True)), "f32", None) == 121.0
    missing = scalar({names[0]: 1.0}, "f32", None)
    assert missing == ("sm__sass_thread_inst_executed_op_{ffma,fmul}_pred_on.sum",)
    missing = scalar({names[0]: 1.0, names[1]: 1.0}, "f32", None)
    assert missing == ("sm__sass_thread_inst_executed_op_fmul_pred_on.sum",)


@pytest.mark.parametrize(
    ("metrics", "level", "nbytes"),
    [
        ({"dram__bytes.sum": 7.0, "dram__bytes_read.sum": 1.0}, RoofLevel.DEVICE, 7.0),
        ({"dram__bytes_read.sum": 1.0, "dram__bytes_write.sum": 2.0}, RoofLevel.DEVICE, 3.0),
        ({"dram__bytes_read.sum": 1.0}, RoofLevel.DEVICE, None),
        ({"lts__t_sectors.sum": 3.0}, RoofLevel.L2, 96.0),
        ({"l1tex__t_sectors.sum": 5.0, "l1tex__t_bytes.sum": 1.0}, RoofLevel.L1, 1.0),
        ({"lts__t_sectors.sum": 3.0}, RoofLevel.L1, None),
    ],
)
def test_bytes_of_a_level_are_counted_or_summed_from_parts(
    metrics: dict[str, float], level: RoofLevel, nbytes: float | None
) -> None:
    assert bytes_at(metrics, level) == nbytes


PATH = "sm__ops_path_tensor_src_{}.sum"


@pytest.mark.parametrize(
    ("metrics", "cycles", "operations"),
    [
        ({PATH.format("fp16"): 5.0, PATH.format("bf16"): 2.0}, None, {"f16": 5.0, "bf16": 2.0}),
        ({PATH.format("fp16_dst_fp16"): 5.0, PATH.format("fp16_dst_fp32"): 2.0}, None, {"f16": 7}),
        ({PATH.format("fp16_dst_fp16"): 5.0, PATH.format("fp16"): 6.0}, None, {"f16": 6.0}),
        ({PATH.format("fp8"): 5.0, PATH.format("fp6"): 6.0}, None, {"f8e4m3": 11.0}),
        ({PATH.format("fp16") + ".per_cycle_elapsed": 5.0}, 10.0, {"f16": 50.0}),
        ({PATH.format("fp16") + ".per_cycle_elapsed": 5.0}, None, {}),
        ({PATH.format("fp99"): 5.0, "dram__bytes.sum": 1.0}, None, {}),
    ],
)
def test_operations_of_the_tensor_pipe_are_counted_once_by_type(
    metrics: dict[str, float], cycles: float | None, operations: dict[str, float]
) -> None:
    assert counted_operations(metrics, cycles) == operations


def test_a_launch_without_counters_lacks_all_of_them() -> None:
    result = derive(NcuLaunch("k"), "sm_80")
    assert (result.time_s, result.flop, result.nbytes) == (None, {}, {})
    assert set(result.missing) == {
        "time",
        "FP32",
        "FP16",
        "FP64",
        TENSOR,
        "L1 bytes",
        "L2 bytes",
        "device bytes",
    }
    assert result.missing["time"] == ("sm__cycles_elapsed.avg", "sm__cycles_elapsed.avg.per_second")
    assert result.missing["device bytes"] == ("dram__bytes.sum",)
    assert result.missing[TENSOR] == ("sm__inst_executed_pipe_tensor.sum",)
    assert result.is_bound


def test_a_missing_double_precision_makes_no_bound() -> None:
    half = {name.replace("op_f", "op_h"): 1.0 for name in SCALARS}
    result = derive(NcuLaunch("k", metrics={**SCALARS, **half}), "sm_61")
    assert set(result.missing) == {"time", "FP64", "L1 bytes", "L2 bytes", "device bytes"}
    assert result.flop == {(Unit.VECTOR, "f32"): 0.0, (Unit.VECTOR, "f16"): 4.0}
    assert not result.is_bound


def test_cycles_follow_from_a_duration_and_a_rate() -> None:
    metrics = {
        "gpu__time_duration.sum": 2.0,
        "sm__cycles_elapsed.avg.per_second": 50.0,
        **{name + ".per_cycle_elapsed": 1.0 for name in SCALARS},
    }
    result = derive(NcuLaunch("k", metrics=metrics), "sm_61")
    assert (result.time_s, result.flop[Unit.VECTOR, "f32"]) == (2.0, 400.0)


@pytest.mark.parametrize(
    ("metrics", "arch", "kernel", "flop", "is_missing", "is_assumed"),
    [
        ({"": 3.0}, "sm_70", "k", {"f16": 3 * 512}, False, False),
        ({"_op_hmma": 3.0}, "sm_75", "k", {"f16": 3 * 2048}, False, False),
        ({"_op_hmma": 3.0, "_op_imma": 1.0}, "sm_75", "k", {"f16": 6144, "i8": 2048}, False, False),
        ({"_op_hmma": 3.0, "": 9.0}, "sm_75", "k", {"f16": 3 * 2048}, False, False),
        ({"_op_hmma": 3.0}, "sm_80", "ampere_s16816gemm", {"f16": 3 * 4096}, False, False),
        ({"_op_hmma": 3.0}, "sm_80", "k_tf32f32", {"tf32": 3 * 2048}, False, False),
        ({"_op_hmma": 3.0}, "sm_80", "k", {"f16": 3 * 4096}, False, True),
        ({"_op_imma": 3.0}, "sm_80", "k", {"i8": 3 * 8192}, False, True),
        ({"_op_dmma": 3.0}, "sm_80", "k", {"f64": 3 * 512}, False, False),
        ({"_op_gmma": 3.0}, "sm_90", "k", {}, True, False),
        ({"_op_gmma": 0.0}, "sm_90", "k", {}, False, False),
        ({"": 3.0}, "sm_90", "k", {}, True, False),
        ({}, "sm_70", "k", {}, True, False),
        ({}, "sm_61", "k", {}, False, False),
        ({}, "", "k", {}, True, False),
    ],
)
def test_instructions_of_the_tensor_pipe_are_what_the_architecture_does(
    metrics: dict[str, float],
    arch: str,
    kernel: str,
    flop: dict[str, float],
    is_missing: bool,
    is_assumed: bool,
) -> None:
    named = {f"sm__inst_executed_pipe_tensor{k}.sum": v for k, v in metrics.items()}
    result = derive(NcuLaunch(kernel, metrics=named), arch)
    assert result.flop == {(Unit.MATRIX, dtype): count for dtype, count in flop.items()}
    assert (TENSOR in result.missing) is is_missing
    assert bool(result.assumed) is is_assumed


def test_only_counters_of_the_equations_are_kept() -> None:
    assert all(map(is_wanted, collected("sm_80")))
    assert is_wanted(DERIVED.format("ffma", 2))
    assert is_wanted("device__attribute_display_name")
    assert not is_wanted("sm__warps_active.avg")


def test_architectures_have_the_counters_that_their_chips_have() -> None:
    assert [generation(a) for a in ("sm_80", "sm_120", "")] == [80, 120, 0]
    assert not has_tensor_pipe("sm_69")
    assert all(map(has_tensor_pipe, ("sm_70", "")))
    assert tensor_counters("sm_61") == []
    assert len(tensor_counters("sm_79")) == 1
    for arch, has_it in (("", True), ("sm_80", False), ("sm_90", True)):
        assert (PATH.format("fp16") in tensor_counters(arch)) is has_it, arch
    for arch in ("sm_80", "sm_90", "sm_100"):
        assert PATH.format("fp64") in tensor_counters(arch), arch
    for arch in ("sm_86", "sm_87", "sm_89", "sm_120", "sm_121"):
        assert PATH.format("fp64") not in tensor_counters(arch), arch
        assert len(tensor_counters(arch)) == 6


@pytest.mark.parametrize(
    ("name", "is_short"),
    [
        ("gemm(int)", False),
        ("gemm(int", True),
        ("a<b<c>", True),
        ("a<b>", False),
        ("gemm...", True),
        ("gemm…", True),
        ("operator<<(x)", False),
        ("a->b(x)", False),
        ("a>b", False),
    ],
)
def test_names_that_are_cut_are_known(name: str, is_short: bool) -> None:
    assert is_cut(name) is is_short


def test_the_phase_of_no_range_is_none() -> None:
    assert phase_of(()) is NvtxPhase.OTHER
    assert phase_of(("step", "x")) is NvtxPhase.OTHER
    assert phase_of(("forward", "optimizer.step", "x")) is NvtxPhase.OPTIMIZER


def test_launches_of_a_kernel_are_added_up_and_incomplete_levels_left_out(tmp_path: Path) -> None:
    def launch(number: int, *metrics: tuple[str, str, str]) -> list[str]:
        return [row(*m).replace('"0"', f'"{number}"', 1) for m in metrics]

    duration = ("gpu__time_duration.sum", "ns", "1000")
    path = written(
        tmp_path / "a.csv",
        *launch(0, duration, ("dram__bytes.sum", "byte", "10"), ("lts__t_bytes.sum", "byte", "7")),
        *launch(1, duration, ("dram__bytes.sum", "byte", "30")),
        *launch(2, ("gpu__time_duration.sum", "ns", "0"), ("dram__bytes.sum", "byte", "90")),
    )
    report = load(path)
    (kernel,) = report.kernels
    assert (kernel.launches, report.arch) == (2, "sm_80")
    assert kernel.time_s == pytest.approx(2e-6)
    assert kernel.nbytes == {RoofLevel.DEVICE: 40.0}
    assert kernel.main == (Unit.VECTOR, "f32")
    assert kernel.is_bound
    said = [d.text for d in report.diagnostics]
    assert "L2 bytes not computed in 2 of 3 launches: lts__t_bytes.sum missing" in said
    assert "L1 bytes not computed: l1tex__t_bytes.sum missing" in said
    assert standing(kernel, None).nearest is None
    assert problems(report, [standing(kernel, None)], None) == report.diagnostics


def test_a_table_has_at_most_so_many_columns(tmp_path: Path) -> None:
    names = ['"ID"', '"Kernel Name"', *(f'"a__{i}"' for i in range(MAX_COLUMNS - 2))]
    path = tmp_path / "wide.csv"
    path.write_text(f"{','.join(names)}\n", encoding="utf-8")
    with pytest.raises(Exception, match="a header but no kernel beneath it"):
        load(path)
    path.write_text(f"{','.join([*names, 'b'])}\n", encoding="utf-8")
    with pytest.raises(Exception, match=f"{MAX_COLUMNS + 1} columns are more than {MAX_COLUMNS}"):
        load(path)


def test_lines_that_are_no_rows_are_counted(tmp_path: Path) -> None:
    good = row("gpu__time_duration.sum", "ns", "1000")
    shorter, longer = good.rpartition(",")[0], f'{good},"more"'
    path = written(tmp_path / "a.csv", good, shorter, f"{longer},x", "==PROF== done", longer)
    texts = [d.text for d in load(path).diagnostics]
    assert "2 lines are no rows of the table and were left out" in texts
    assert HEADER.count(",") == good.count('","')


def test_four_processes_are_named_and_more_are_hinted_at(tmp_path: Path) -> None:
    def report(count: int) -> str:
        rows = [
            row("gpu__time_duration.sum", "ns", "5").replace('"0","1","p"', f'"{i}","{i}","p{i}"')
            for i in range(count)
        ]
        return " ".join(d.text for d in load(written(tmp_path / "a.csv", *rows)).diagnostics)

    assert "processes added up" not in report(1)
    assert "4 processes added up (0 p0, 1 p1, 2 p2, 3 p3); --process keeps one" in report(4)
    assert "5 processes added up (0 p0, 1 p1, 2 p2, 3 p3 …); --process keeps one" in report(5)


def test_a_process_without_a_name_is_one(tmp_path: Path) -> None:
    duration = row("gpu__time_duration.sum", "ns", "5")
    nameless = duration.replace('"0","1","p"', '"0","7",""')
    stated = duration.replace('"0","1","p"', '"1","8","q"')
    report = load(written(tmp_path / "a.csv", nameless, stated))
    assert report.processes == (("7", ""), ("8", "q"))
    assert load(written(tmp_path / "a.csv", duration.replace('"1","p"', '"",""'))).processes == ()


def of_h200(name: str, folder: Path) -> NcuReport:
    packed = Path(__file__).parents[2] / f"datasets/h200/{name}.csv.gz"
    path = folder / "ncu.csv"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return load(path)


def test_operations_of_tensor_instructions_without_a_counter_are_missing(tmp_path: Path) -> None:
    """A real report of an H200: f16 attention has 393,216 tensor instructions and no counter."""
    kernels = {k.kernel[:20]: k for k in of_h200("operators-counters", tmp_path).kernels}
    assert kernels["cudnn_generated_fort"].is_bound
    product = kernels["nvjet_sm90_tst_256x1"]
    assert not product.is_bound
    assert product.flop[Unit.MATRIX, "bf16"] == 2 * 4096**3


def test_operators_of_a_real_report_have_the_operations_counted_by_hand(tmp_path: Path) -> None:
    """Products of 4096 rows and columns, layer norm, softmax, GELU and addition of as many."""
    report = of_h200("operators-counters-2", tmp_path)
    assert (len(report.kernels), sum(k.launches for k in report.kernels)) == (13, 14)

    def one(name: str) -> KernelCounters:
        (found,) = (k for k in report.kernels if name in k.kernel)
        return found

    flop = 2 * 4096**3
    assert one("nvjet_sm90_tst").flop[Unit.MATRIX, "bf16"] == flop
    assert one("tf32f32_f32").flop[Unit.MATRIX, "tf32"] == flop
    assert one("f32f32_f32f32").flop[Unit.VECTOR, "f32"] == pytest.approx(flop, rel=3e-4)
    # a multiply-add in f32, and two conversions
    addition = one("CUDAFunctor_add")
    assert (addition.flop[Unit.VECTOR, "f32"], addition.is_bound) == (2 * 4096**2, False)
    assert addition.nbytes[RoofLevel.L1] == 3 * 2 * 4096**2
    # without Hopper's counter of f16
    assert one("nvjet_sm90_hsh").is_bound
