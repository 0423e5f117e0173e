"""Energy: numbers of a board with round figures, computed by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from perfc import testing
from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.runs import energy
from perfc.analyzers.runs.energy import Energy, PowerModel, energy_of, idling, matrix_key, summed
from perfc.ir.tensors.types import DType

MODEL = PowerModel(
    base=0.5,
    idle=0.2,
    rates={"matrix16": 1.0, "matrix8": 3.0, "device": 2.0, "l2": 4.0, "special": 10.0},
    low_ratio=0.8,
    high_ratio=1.25,
    short_low_ratio=0.5,
    short_high_ratio=2.0,
)
US = 1e-6
CAP = "tdp_w 100 sheet"


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "power_model", lambda: MODEL)


def test_energy_is_power_of_what_is_busy_and_of_waiting_each_times_its_time(
    tmp_path: Path,
) -> None:
    """100 µs of work that keeps four units busy, then 20 µs of waiting.

    2e9 flop at 100 Tflop/s are 20 µs, 30 MB 30 µs of memory and 7.5 µs of L2, 1e6 exponentials
    1 µs: 0.2 · 1 + 0.3 · 2 + 0.075 · 4 + 0.01 · 10 = 1.2 in the exponent.
    """
    machine = testing.machine(tmp_path, CAP, "idle_power_w 30 sheet")
    kernel = testing.kernel({"mac": 1e9, "sfu": 1e6, "read_bytes": 20e6, "write_bytes": 10e6})
    found = energy_of(kernel, Interval(60 * US, 120 * US, 480 * US), 20 * US, Sheet(machine))
    assert found is not None
    busy_j = 100 * US * 100 * (1 - 0.5 * math.exp(-1.2))
    energy_j = busy_j + 20 * US * 30
    assert found.energy_j == pytest.approx(energy_j)
    assert found.power_w == pytest.approx(energy_j / (120 * US))
    # half the time and half the power: √2 octaves below; four times and twice: √5 above
    assert found.low_j == pytest.approx(energy_j / 2 ** math.sqrt(2))
    assert found.high_j == pytest.approx(energy_j * 2 ** math.sqrt(5))
    assert 0 < found.low_j < found.energy_j < found.high_j
    assert (found.low_ratio, found.high_ratio) == (0.5, 2.0)


def test_units_are_busy_for_all_launches_and_never_more_than_all_the_time(tmp_path: Path) -> None:
    """Four launches of 30 µs of memory fill 120 of 200 µs; eight would fill more than all."""
    machine = testing.machine(tmp_path, CAP)
    for launches, share in ((4, 0.6), (8, 1.0)):
        kernel = testing.kernel({"read_bytes": 30e6}, launches=launches)
        found = energy_of(kernel, Interval.exactly(200 * US), 0.0, Sheet(machine))
        assert found is not None
        l2 = min(7.5 * launches / 200, 1)
        assert found.power_w == pytest.approx(100 * (1 - 0.5 * math.exp(-2 * share - 4 * l2)))


@pytest.mark.parametrize(("dtype", "exponent"), [(DType.F16, 0.2 * 1.0), (DType.I8, 0.05 * 3.0)])
def test_the_matrix_unit_is_that_of_the_element_type(
    tmp_path: Path, dtype: DType, exponent: float
) -> None:
    """2e9 operations in 100 µs: 20 µs at 100 Tflop/s of f16, 5 µs at 400 of i8."""
    found = energy_of(
        testing.kernel({"mac": 1e9}, dtype),
        Interval.exactly(100 * US),
        0.0,
        Sheet(testing.machine(tmp_path, CAP)),
    )
    assert found is not None
    assert found.power_w == pytest.approx(100 * (1 - 0.5 * math.exp(-exponent)))


def test_matrix_units_by_bits() -> None:
    names = {
        "matrix4": ("f4e2m1", "i4", "u4"),
        "matrix8": ("f8e4m3", "f8e5m2", "i8", "u8"),
        "matrix16": ("f16", "bf16", "tf32", "f32", "i32"),
    }
    for key, dtypes in names.items():
        assert {matrix_key(d) for d in dtypes} == {key}


@pytest.mark.parametrize(
    ("time_s", "launches", "ratios"),
    [
        (200e-6, 1, (0.8, 1.25)),
        (199e-6, 1, (0.5, 2)),
        (399e-6, 2, (0.5, 2)),
        (400e-6, 2, (0.8, 1.25)),
    ],
)
def test_launches_shorter_than_those_fitted_have_wider_intervals(
    tmp_path: Path, time_s: float, launches: float, ratios: tuple[float, float]
) -> None:
    kernel = testing.kernel({"read_bytes": 1e6}, launches=launches)
    found = energy_of(kernel, Interval.exactly(time_s), 0.0, Sheet(testing.machine(tmp_path, CAP)))
    assert found is not None
    assert (found.low_ratio, found.high_ratio) == ratios
    assert found.low_j == pytest.approx(found.energy_j * ratios[0])
    assert found.high_j == pytest.approx(found.energy_j * ratios[1])


def test_waiting_alone_takes_idle_power(tmp_path: Path) -> None:
    stated, share = (
        testing.machine(tmp_path, CAP, "idle_power_w 30 sheet"),
        testing.machine(tmp_path, CAP),
    )
    for machine, idle_w in ((stated, 30.0), (share, 0.2 * 100)):
        found = idling(50 * US, machine)
        assert found is not None
        assert found.energy_j == pytest.approx(50 * US * idle_w)
        assert found.power_w == pytest.approx(idle_w)
        assert (found.low_j, found.high_j) == pytest.approx(
            (found.energy_j / 2, found.energy_j * 2)
        )
        only = energy_of(
            testing.kernel({"read_bytes": 1e6}), Interval.exactly(50 * US), 50 * US, Sheet(machine)
        )
        assert only is not None
        assert only.energy_j == pytest.approx(50 * US * idle_w)


def test_energy_is_unknown_without_a_power_and_without_a_time(tmp_path: Path) -> None:
    kernel, time = testing.kernel({"read_bytes": 1e6}), Interval.exactly(50 * US)
    nobody, processor = testing.machine(tmp_path), testing.machine(tmp_path, CAP, kind="cpu")
    for machine in (nobody, processor):
        assert energy_of(kernel, time, 0.0, Sheet(machine)) is None
        assert idling(50 * US, machine) is None
    assert (
        energy_of(kernel, Interval.exactly(0.0), 0.0, Sheet(testing.machine(tmp_path, CAP))) is None
    )


def test_a_run_sums_energies_and_takes_the_interval_of_its_time(tmp_path: Path) -> None:
    """1 J that may be half or twice as much and 3 J that may be 0.8 or 1.25 times as much."""
    parts = (Energy(1.0, 0.0, 9.0, 50.0, 0.5, 2.0), Energy(3.0, 0.0, 9.0, 50.0, 0.8, 1.25))
    found = summed(parts, Interval(0.02, 0.04, 0.04))
    assert found is not None
    assert found.energy_j == 4.0
    assert found.power_w == pytest.approx(100.0)
    assert found.low_ratio == pytest.approx((1 * 0.5 + 3 * 0.8) / 4)
    assert found.high_ratio == pytest.approx((1 * 2.0 + 3 * 1.25) / 4)
    low = math.exp(math.hypot(math.log(0.5), math.log(0.725)))
    assert found.low_j == pytest.approx(4.0 / low)
    assert found.high_j == pytest.approx(4.0 * 1.4375)


def test_a_run_of_which_one_part_is_unknown_has_no_energy() -> None:
    known = Energy(1.0, 0.5, 2.0, 50.0, 0.5, 2.0)
    nothing = Energy(0.0, 0.0, 0.0, 0.0, 0.5, 2.0)
    time = Interval.exactly(1.0)
    assert summed([known, None], time) is None
    assert summed([], time) is None
    assert summed([nothing], time) is None
    assert summed([known], Interval.exactly(0.0)) is None
    assert summed([known], time) is not None


def test_an_end_at_no_time_at_all_is_no_error(tmp_path: Path) -> None:
    found = energy_of(
        testing.kernel({"read_bytes": 1e6}),
        Interval(0.0, 50 * US, 50 * US),
        0.0,
        Sheet(testing.machine(tmp_path, CAP)),
    )
    assert found is not None
    assert 0 < found.low_j < 1e-8 * found.energy_j
