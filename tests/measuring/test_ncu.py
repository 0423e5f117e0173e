"""Counters become seconds, flop and bytes by the thesis's equations; every bad file says why.

The fixtures are synthetic, in the formats of ncu 2022 to 2025, with numbers to reckon in the head.
"""

from __future__ import annotations

import csv
import io
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc import cli
from perfc.errors import ParseError
from perfc.machine import Unit, load_machine
from perfc.measuring.ncu import table
from perfc.measuring.ncu.command import command_line
from perfc.measuring.ncu.metrics import collected, instruction
from perfc.measuring.ncu.output import shown
from perfc.measuring.ncu.report import MessageSeverity, NcuReport, NvtxPhase, load, phase_of
from perfc.measuring.ncu.table import range_name
from perfc.measuring.ncu.units import NumberFormat, convention_of, factor, number
from perfc.view.chart.roofs import RoofLevel
from perfc.view.result import written as formatted

FIXTURES = Path(__file__).parents[1] / "fixtures" / "ncu"
V100 = FIXTURES / "v100-details-2022.csv"
A100 = FIXTURES / "a100-raw-nvtx-2024.csv"
H100 = FIXTURES / "h100-raw-locale-2023.csv"
SECTIONS = FIXTURES / "sections-2025.csv"
HEADER = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"'
)


def row(metric: str, unit: str, value: str, *, kernel: str = "k", cc: str = "8.0") -> str:
    quoted = kernel.replace('"', '""')
    return (
        f'"0","1","p","h","{quoted}","1","7","b","g","0","{cc}","s","{metric}","{unit}","{value}"'
    )


def written(path: Path, *rows: str) -> Path:
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path


def said(report: NcuReport) -> str:
    return "\n".join(f"{d.severity.value}: {d.text}" for d in report.diagnostics)


def test_the_default_page_gives_the_thesis_numbers_by_hand() -> None:
    report = load(V100)
    sgemm, hgemm = report.kernels
    assert report.arch == "sm_70"
    assert (sgemm.launches, hgemm.launches) == (2, 1)
    # 3.3: 1,530,000 cycles / 1.53 GHz = 1 ms, twice
    assert sgemm.time_s == pytest.approx(2e-3)
    # 3.4: 1e6 + 2 * 5e9 + 2e6, twice
    assert sgemm.flop == {(Unit.VECTOR, "f32"): pytest.approx(2 * 10_003_000_000)}
    assert sgemm.nbytes == {RoofLevel.L1: 800e6, RoofLevel.L2: 400e6, RoofLevel.DEVICE: 200e6}
    assert sgemm.mark.intensity(RoofLevel.DEVICE) == pytest.approx(100.03)
    # 3.6: 50e6 instructions * 512
    assert hgemm.flop[Unit.MATRIX, "f16"] == 25_600_000_000
    assert hgemm.nbytes[RoofLevel.L1] == 1.6e9
    assert hgemm.mark.flop_per_s == pytest.approx((25.6e9 + 2e6) / 0.5e-3)


def test_shares_are_of_the_measured_ceilings() -> None:
    result = shown(load(V100), load_machine("v100-16gb"))
    sgemm, hgemm = result.standings
    assert sgemm.units[0].share == pytest.approx(10.003e12 / 15.5e12)
    assert sgemm.levels[RoofLevel.DEVICE].share == pytest.approx(100e9 / 818.5e9)
    named = {c.name: c for c in hgemm.units}
    assert named["f16 matrix"].share == pytest.approx(51.2e12 / 101.2e12)
    assert hgemm.nearest is named["f16 matrix"]
    assert not result.has_errors


def test_the_raw_page_splits_a_training_step() -> None:
    report = load(A100)
    by_phase = {k.phase: k for k in report.kernels}
    assert set(by_phase) == {NvtxPhase.FORWARD, NvtxPhase.BACKWARD, NvtxPhase.OPTIMIZER}
    forward = by_phase[NvtxPhase.FORWARD]
    assert forward.launches == 2
    assert forward.flop == {(Unit.MATRIX, "tf32"): 40e9, (Unit.VECTOR, "f32"): 4e6}
    # read and write added up, where their sum was not collected
    assert forward.nbytes[RoofLevel.DEVICE] == 200e6
    assert by_phase[NvtxPhase.OPTIMIZER].flop_total == 3e6 + 2 * 9e6 + 5e6
    assert by_phase[NvtxPhase.OPTIMIZER].kernel.startswith(
        "void tensorflow::functor::ApplyAdamKernel"
    )
    assert "2 processes added up (100 python3.9, 200 python3.9); --process keeps one" in said(
        report
    )


def test_one_process_can_be_kept() -> None:
    report = load(A100, process="100")
    assert sum(k.launches for k in report.kernels) == 3
    assert "processes" not in said(report)
    with pytest.raises(ParseError, match=r"no kernel of process 7 \(processes: 100, 200\)"):
        load(A100, process="7")


def test_a_german_report_reads_like_any_other() -> None:
    report = load(H100)
    gemm = next(k for k in report.kernels if "gemm" in k.kernel)
    assert gemm.time_s == pytest.approx(10e-6)
    assert gemm.flop == {(Unit.VECTOR, "f32"): 4e6}
    assert gemm.nbytes[RoofLevel.L1] == pytest.approx(100.25e6)


def test_what_is_missing_is_named_and_makes_a_bound() -> None:
    report = load(H100)
    gemm = next(k for k in report.kernels if "gemm" in k.kernel)
    assert gemm.is_bound
    text = said(report)
    assert "tensor not computed in 1 of 2 launches: sm__ops_path_tensor_src_*.sum missing" in text
    assert (
        "FP16 not computed: sm__sass_thread_inst_executed_op_{hadd,hfma,hmul}_pred_on.sum" in text
    )
    assert "1 kernel names are cut short" in text


def test_a_page_of_sections_gives_a_time_and_says_what_it_lacks() -> None:
    report = load(SECTIONS)
    (copy,) = report.kernels
    assert copy.time_s == pytest.approx(400e-6)
    assert copy.nbytes == {}
    assert shown(report, None).to_dict()["kernels"][0]["flop_per_s"] is None
    assert "device bytes not computed: dram__bytes.sum missing" in said(report)


def test_roofline_sections_give_operations_a_cycle(tmp_path: Path) -> None:
    scalar = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"
    path = written(
        tmp_path / "r.csv",
        row("gpu__time_duration.sum", "us", "100"),
        row("smsp__cycles_elapsed.avg.per_second", "cycle/nsecond", "1.5"),
        row(scalar.format("fadd"), "inst/cycle", "10"),
        row(scalar.format("fmul"), "inst/cycle", "20"),
        row("derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2", "", "600"),
        row("sm__ops_path_tensor_src_fp16_dst_fp32.sum.per_cycle_elapsed", "", "1000"),
    )
    (kernel,) = load(path).kernels
    # 100 us * 1.5 GHz = 150,000 cycles
    assert kernel.flop[Unit.VECTOR, "f32"] == pytest.approx(150_000 * (10 + 20 + 600))
    assert kernel.flop[Unit.MATRIX, "f16"] == pytest.approx(150_000 * 1000)


def test_operations_split_by_sparsity_or_result_are_counted_once(tmp_path: Path) -> None:
    base = "sm__ops_path_tensor_src_"
    path = written(
        tmp_path / "r.csv",
        row("gpu__time_duration.sum", "nsecond", "1000"),
        row(f"{base}fp16.sum", "", "300"),
        row(f"{base}fp16_dst_fp16.sum", "", "100"),
        row(f"{base}fp16_dst_fp32.sum", "", "200"),
        row(f"{base}fp16_dst_fp16_sparsity_off.sum", "", "100"),
        row(f"{base}fp16_dst_fp32_sparsity_off.sum", "", "200"),
        row("sm__inst_executed_pipe_tensor.sum", "inst", "99"),
    )
    assert load(path).kernels[0].flop == {(Unit.MATRIX, "f16"): 300}


@pytest.mark.parametrize(
    ("arch", "kernel", "flop", "dtype", "is_certain"),
    [
        ("sm_70", "anything", 512, "f16", True),
        ("sm_75", "turing_fp16_s1688gemm", 2048, "f16", True),
        ("sm_80", "ampere_fp16_s16816gemm_fp16_128x128", 4096, "f16", True),
        ("sm_80", "cutlass_80_tensorop_s1688gemm_128x256", 2048, "tf32", True),
        ("sm_80", "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32", 2048, "tf32", True),
        ("sm_80", "flash_fwd_kernel", 4096, "f16", False),
    ],
)
def test_an_instruction_does_what_its_architecture_does(
    arch: str, kernel: str, flop: int, dtype: str, is_certain: bool
) -> None:
    result, certain = instruction(arch, "tensor", kernel)
    assert result is not None
    assert (result.flop, result.dtype, certain) == (flop, dtype, is_certain)
    assert result.source


def test_warp_group_products_do_not_tell_their_operations() -> None:
    assert instruction("sm_90", "gmma", "k") == (None, True)
    assert instruction("sm_100", "tensor", "k") == (None, True)


def test_an_assumed_shape_is_said(tmp_path: Path) -> None:
    path = written(
        tmp_path / "r.csv",
        row("gpu__time_duration.sum", "usecond", "10"),
        row("sm__inst_executed_pipe_tensor.sum", "inst", "1,000"),
    )
    report = load(path)
    assert report.kernels[0].flop == {(Unit.MATRIX, "f16"): 4096e3}
    assert "taken for HMMA.16816, 4096 operations each" in said(report)


def test_without_a_capability_tensor_work_is_unknown_and_not_zero(tmp_path: Path) -> None:
    rows = [
        row("gpu__time_duration.sum", "usecond", "10", cc=""),
        row("sm__inst_executed_pipe_tensor.sum", "inst", "1,000", cc=""),
    ]
    path = written(tmp_path / "r.csv", *rows)
    assert load(path).kernels[0].is_bound
    assert "tensor operations need --arch" in said(load(path))
    assert load(path, arch="sm_70").kernels[0].flop == {(Unit.MATRIX, "f16"): 512e3}


def test_a_kernel_above_the_roof_is_an_error(tmp_path: Path) -> None:
    path = written(
        tmp_path / "r.csv",
        row("gpu__time_duration.sum", "usecond", "1"),
        row("dram__bytes.sum", "Mbyte", "10"),
    )
    result = shown(load(path), load_machine("a100-40gb"))
    assert result.has_errors
    assert any("above the roof: k has 10.0 TB/s at device" in d.text for d in result.diagnostics)
    args = ["trace", str(path), "-t", "a100-40gb"]
    assert cli.run(args) == 1


def test_another_chip_than_the_target_is_said() -> None:
    result = shown(load(V100), load_machine("a100-40gb"))
    told = [d.text for d in result.diagnostics if d.severity is MessageSeverity.WARNING]
    assert any("is of sm_70, the target a100-sxm4-40gb of sm_80" in t for t in told)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("byte", 1.0),
        ("Kbyte", 1e3),
        ("Mbyte", 1e6),
        ("Gbyte", 1e9),
        ("MB", 1e6),
        ("KiB", 1024.0),
        ("nsecond", 1e-9),
        ("usecond", 1e-6),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("Ghz", 1e9),
        ("hz", 1.0),
        ("cycle/nsecond", 1e9),
        ("cycle/usecond", 1e6),
        ("Gbyte/second", 1e9),
        ("byte/nsecond", 1e9),
        ("inst", 1.0),
        ("Kinst", 1e3),
        ("%", 0.01),
        ("", 1.0),
        ("furlong", None),
    ],
)
def test_a_unit_has_one_meaning(unit: str, expected: float | None) -> None:
    assert factor(unit) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,234,567.89", 1234567.89), ("1,234", 1234.0), ("5.5e+09", 5.5e9), ("12 345.5", 12345.5)],
)
def test_a_pointed_number_reads(text: str, value: float) -> None:
    assert number(text, NumberFormat.POINT) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "n/a", "nan", "inf", "N/A", "abc"])
def test_what_is_no_number_is_missing(text: str) -> None:
    assert number(text, NumberFormat.POINT) is None


@given(st.floats(0, 1e15), st.sampled_from(NumberFormat))
def test_a_grouped_number_survives_its_convention(value: float, convention: NumberFormat) -> None:
    text = f"{value:,.2f}"
    if convention is NumberFormat.COMMA:
        text = text.translate(str.maketrans(",.", ".,"))
    assert convention_of([text]) is convention
    assert number(text, convention) == pytest.approx(float(f"{value:.2f}"))


def test_contradicting_conventions_are_an_error(tmp_path: Path) -> None:
    path = written(
        tmp_path / "r.csv",
        row("gpu__time_duration.sum", "us", "1.234,5"),
        row("dram__bytes.sum", "byte", "1,234.5"),
    )
    with pytest.raises(ParseError, match="decimal comma and others a decimal point"):
        load(path)


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("forward", NvtxPhase.FORWARD),
        ("Model.fwd", NvtxPhase.FORWARD),
        ("autograd::engine::evaluate_function: ConvolutionBackward0", NvtxPhase.BACKWARD),
        ("Optimizer.step#Adam.step", NvtxPhase.OPTIMIZER),
        ("apply_gradients", NvtxPhase.OPTIMIZER),
        ("upgrade", NvtxPhase.OTHER),
        ("data loading", NvtxPhase.OTHER),
    ],
)
def test_a_range_tells_its_phase(name: str, phase: NvtxPhase) -> None:
    assert phase_of(["step", name]) is phase


def test_the_innermost_telling_range_counts() -> None:
    assert phase_of(["forward", "backward", "conv1"]) is NvtxPhase.BACKWARD


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<default domain>:forward:none:none:none:none:none:none", "forward"),
        ("<default domain>:a::b:none:none:none:none:none:none", "a::b"),
        ("3:<default domain>:step:none:none:none:none:none:none", "step"),
        ("none", ""),
    ],
)
def test_a_range_has_its_name(text: str, name: str) -> None:
    assert range_name(text) == name


def test_csv_output_holds_plain_numbers() -> None:
    rows = list(
        csv.DictReader(io.StringIO(formatted(shown(load(V100), load_machine("v100-16gb")), "csv")))
    )
    assert float(rows[0]["f32_flop"]) == 2 * 10_003_000_000
    assert float(rows[0]["device_share"]) == pytest.approx(100e9 / 818.5e9)
    assert rows[0]["matrix_flop"] == ""


def test_the_command_line_collects_every_counter_of_the_equations() -> None:
    words = shlex.split(command_line(["train.py", "--lr", "1e-3"], "sm_80"))
    assert words[-3:] == ["train.py", "--lr", "1e-3"]
    assert words[-4] == "python"
    asked = words[words.index("--metrics") + 1].split(",")
    assert asked == list(collected("sm_80"))
    assert "sm__ops_path_tensor_src_tf32_dst_fp32.sum" in asked
    assert not any("ops_path" in name for name in collected("sm_70"))
    assert not any("tensor" in name for name in collected("sm_60"))
    assert "--profile-from-start" in shlex.split(command_line(["a.py"], "sm_80", marked=True))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"a,b\n1,2\n", "no table of ncu's"),
        (b"==ERROR== ERR_NVGPUCTRPERM - no permission\n", "needs administrator rights"),
        (HEADER.encode(), "a header but no kernel beneath it"),
        (b"NVR\0\1\2", "ncu --import .* --csv --page raw --print-units base > report.csv"),
        (HEADER.encode() + b"\n" + b'"' + b"x" * (2 << 20), "a line has more than 1 MiB"),
        (
            "\n".join([HEADER, row("dram__bytes.sum", "byte", "1")]).encode(),
            "no launch has a time",
        ),
    ],
)
def test_a_bad_file_says_why_in_one_line(content: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    path.write_bytes(content)
    with pytest.raises(ParseError, match=expected) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_hostile_sizes_end_in_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row("gpu__time_duration.sum", "us", "1").replace('"0"', f'"{i}"', 1) for i in range(30)]
    path = written(tmp_path / "r.csv", *rows)
    monkeypatch.setattr(table, "MAX_LAUNCHES", 10)
    with pytest.raises(ParseError, match="more than 10 kernel launches"):
        load(path)
    monkeypatch.setattr(table, "MAX_BYTES", 10)
    with pytest.raises(ParseError, match="more than the 0 MiB that are read"):
        load(path)


@given(st.binary(max_size=400))
def test_no_bytes_after_a_header_end_in_a_traceback(tail: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "r.csv"
        path.write_bytes(HEADER.encode() + b"\n" + tail)
        with pytest.raises(ParseError):
            load(path)


def test_utf16_of_a_windows_shell_reads(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(V100.read_text(encoding="utf-8").encode("utf-16"))
    assert load(path).kernels == load(V100).kernels


def test_an_unknown_unit_is_left_out_and_said(tmp_path: Path) -> None:
    path = written(
        tmp_path / "r.csv",
        row("gpu__time_duration.sum", "us", "1"),
        row("dram__bytes.sum", "furlong", "1"),
    )
    report = load(path)
    assert RoofLevel.DEVICE not in report.kernels[0].nbytes
    assert "dram__bytes.sum left out: nobody knows the unit 'furlong'" in said(report)


def test_the_command_reads_and_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["trace", str(A100), "-t", "a100-40gb"]) == 0
    out = capsys.readouterr().out
    assert "4 launches of 3 kernels, 880 µs, sm_80" in out
    assert "optimizer" in out
    for more, words in ((["--by", "module"], "of one trace"), (["--batch", "4"], "need --model")):
        assert cli.run(["trace", str(A100), *more]) == 2
        assert words in capsys.readouterr().err
    assert cli.run(["trace", "--command", "train.py", "--arch", "sm_75"]) == 0
    assert "ncu --csv --page raw" in capsys.readouterr().out
    assert cli.run(["trace"]) == 2
    assert "Missing argument" in capsys.readouterr().err
    assert cli.run(["trace", "--command", "--arch", "ampere", "x.py"]) == 2
    assert "'ampere' is no architecture" in capsys.readouterr().err
