"""The whole specification of a drawn chart, as a golden file: places, colors, scales and texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.ir.syntax.parse import parse
from perfc.machine import Unit, load_machine
from perfc.view.chart import Mark, RoofLevel, TimeBasis, chart, roofs_of
from perfc.view.chart.chart import rounded
from perfc.view.chart.marks import marks_of
from perfc.view.chart.spec import spec
from tests.golden_estimates import differences
from tests.golden_leaves import lines_of

GOLDEN = Path(__file__).with_name("whole_spec.leaves.txt")
MODULE = """perfir 1
module @m
graph @main(%x: f32[4, 64]) {
  %w = weight {bytes=16384} : f32[64, 64]
  %a = matmul(%x, %w) : ?
  %b = concat(%a, %x) {axis=0} : ?
  %c = relu(%b) : ?
  %d = concat(%c, %c) {axis=1} : ?
  return %d
}
"""


def test_a_chart_of_four_kernels_is_the_golden_one(pytestconfig: pytest.Config) -> None:
    marks = [
        Mark(
            "gemm",
            TimeBasis.MEASURED,
            2e9,
            1e-3,
            {RoofLevel.L1: 4e8, RoofLevel.L2: 1e8, RoofLevel.DEVICE: 2e7},
            Unit.MATRIX,
            "f16",
            bound="compute",
            nodes=("a", "b"),
            count=3,
            phase="forward",
        ),
        Mark("slow", TimeBasis.MEASURED, 1e6, 1e-3, {RoofLevel.DEVICE: 1e7}, Unit.VECTOR, "f32"),
        Mark(
            "tiny",
            TimeBasis.MEASURED,
            1e5,
            1e-6,
            {RoofLevel.L2: 4e4, RoofLevel.DEVICE: 1e4},
            Unit.VECTOR,
            "f32",
            phase="backward",
        ),
        Mark(
            "above",
            TimeBasis.MEASURED,
            1e9,
            1e-6,
            {RoofLevel.DEVICE: 1e6},
            Unit.VECTOR,
            "f32",
            is_bound=True,
        ),
    ]
    drawn = chart("a chart", roofs_of(load_machine("a100-40gb")), marks)
    actual = "".join(f"{line}\n" for line in lines_of("", spec(drawn)))
    if pytestconfig.getoption("--update-goldens"):
        GOLDEN.write_text(actual, encoding="utf-8")
    found = differences(GOLDEN.read_text(encoding="utf-8"), actual)
    assert not found, f"--update-goldens writes it: {found[:10]}"


def test_kernels_that_only_move_bytes_are_counted_and_have_no_place() -> None:
    import perfc

    report = perfc.analyze(parse(MODULE).module, "a100", runtime="eager")
    found = marks_of(report.roofline)
    moving = [k for k in report.roofline.kernels if not k.counts.flop]
    assert found.moving == len(moving) == 2
    assert sum(m.count for m in found.marks) == len(report.roofline.kernels) - 2
    assert found.used == {(m.unit, m.dtype) for m in found.marks}
    times = [m.time_s * m.count for m in found.marks]
    assert times == sorted(times, reverse=True)


def test_a_long_name_loses_its_middle_and_no_sign_steers_a_drawing() -> None:
    name = "a" * 60 + "\x1b" + "b" * 60
    mark = Mark(name, TimeBasis.MEASURED, 2e9, 1e-3, {RoofLevel.DEVICE: 2e7}, Unit.MATRIX, "f16")
    drawn = str(spec(chart("a\x00chart", roofs_of(load_machine("a100-40gb")), [mark])))
    assert f"{'a' * 45}…{'b' * 44}" in drawn
    assert "1.00 ms measured" in drawn
    assert "\x1b" not in drawn
    assert "\x00" not in drawn


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [
        (3.0, 2.0, 5.0),
        (0.02, 0.02, 0.02),
        (700.0, 500.0, 1000.0),
        (9.999999999999999e-31, 5e-31, 1e-30),
    ],
)
def test_limits_are_round_numbers(value: float, down: float, up: float) -> None:
    assert rounded(value, up=False) == pytest.approx(down, abs=0)
    assert rounded(value, up=True) == pytest.approx(up, abs=0)
