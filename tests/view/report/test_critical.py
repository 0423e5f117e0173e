"""Which kernels carry the time, why each takes it, and what a run's time goes to: by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import perfc
from perfc.analyzers.estimate.estimate import Estimate, Predictor, RunEstimate
from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.runs.prediction import PredictionTable
from perfc.ir.symbolic.dim import Dim
from perfc.ir.tensors.types import DType
from perfc.passes.roofline.ceilings import Ceiling, KernelBound
from perfc.view.report.amounts import ratio, title
from perfc.view.report.formats.document import Amount, Note
from perfc.view.report.memory_sections.remedies import Remedy
from perfc.view.report.sections import kernels
from perfc.view.report.sections.bottlenecks import ChangedRun, scaled, words
from perfc.view.report.sections.confidence import NOUNS, of_kernel
from perfc.view.report.sections.critical import CARRIED, MOST, Critical, collect, reason, section
from perfc.view.report.sections.kernels import CeilingTime, KernelRow, groups, runner_up, title_of
from perfc.view.report.sections.limits import FIXED, HOST, held_by, limits
from perfc.view.report.units import Unit

A100 = "NVIDIA A100 SXM4 80 GB"
GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture(scope="module")
def report() -> perfc.Report:
    path = GOLDEN / "estimates" / "windows.onnxtxt"
    return perfc.analyze(path, "a100", dims={"batch": 4})


@pytest.fixture(scope="module")
def plain(report: perfc.Report) -> KernelRow:
    """A kernel without a prediction, of which everything is known."""
    row = kernels.collect(report)[0]
    return replace(row, predicted=None, launches=1.0, launch_gap_s=0.0)


def count(value: Dim, unit: Unit = Unit.FLOP, *, is_bound: bool = False) -> Amount:
    return Amount(value, unit, value, is_bound)


def rows_of(plain: KernelRow, *shares: float) -> list[KernelRow]:
    """Kernels that differ in all, with shares of a run of one second."""
    return [
        replace(plain, index=i, alike=i, roofline_share=part, roofline_time_s=part)
        for i, part in enumerate(shares)
    ]


def test_the_fewest_kernels_that_carry_the_time_are_told_in_order(plain: KernelRow) -> None:
    found = collect(rows_of(plain, 0.1, 0.25, 0.05, 0.3, 0.25), 1e-6)
    assert [s.kernels for s in found.steps] == [(1,), (3,), (4,)]
    assert found.share == pytest.approx(0.8)
    # of two that take as long the first comes first, and the sequence is then long enough
    exact = collect(rows_of(plain, 0.2, CARRIED, 0.2), 1e-6)
    assert [s.kernels for s in exact.steps] == [(1,)]
    assert exact.steps[0].share == exact.share == CARRIED
    assert exact.steps[0].time_s == CARRIED


def test_no_more_kinds_are_told_than_fit(plain: KernelRow) -> None:
    found = collect(rows_of(plain, *([0.04] * 25)), 1e-6)
    assert [s.kernels[0] for s in found.steps] == list(range(MOST))
    assert found.share == pytest.approx(MOST * 0.04)


def test_what_takes_no_time_is_not_told(plain: KernelRow) -> None:
    found = collect(rows_of(plain, 0.0, 0.0), 1e-6)
    assert found == Critical((), 0.0)
    assert section(found, []).parts == (Note("no kernel takes time"),)
    assert (section(found, []).name, section(found, []).title) == (
        "critical",
        "critical kernels",
    )


def test_equal_kernels_are_one_step(plain: KernelRow) -> None:
    rows = [replace(r, alike=0) for r in rows_of(plain, 0.25, 0.25, 0.25, 0.25)]
    found = collect(rows, 1e-6)
    (step,) = found.steps
    assert step.kernels == (0, 1, 2, 3)
    assert (step.time_s, step.share) == (1.0, 1.0)
    shown = section(found, rows)
    assert shown.title == "critical kernels: 4 kernels, 100 % of the time"
    (part,) = shown.parts
    assert part.rows[0][:4] == (0, 4, 1.0, 1.0)  # type: ignore[union-attr]
    assert [c.name for c in part.columns] == [  # type: ignore[union-attr]
        "index",
        "count",
        "time_s",
        "share",
        "kernel",
        "reason",
    ]


def times(**sustained_s: float) -> dict[str, CeilingTime]:
    return {name: CeilingTime(time_s / 2, time_s) for name, time_s in sustained_s.items()}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"bound": "launch", "sustained_s": 4e-6, "launches": 2.0},
            "launch takes longer than the kernel: 5 µs for 2.00 µs of work",
        ),
        (
            {"bound": "launch", "sustained_s": 4e-6, "launches": 0.0},
            "launch takes longer than the kernel: 5 µs for 0 s of work",
        ),
        (
            {"bound": "waves", "ceilings": times(waves=4e-6, matrix=3e-6)},
            "25.0 % of tile slots empty in partial waves",
        ),
        ({"bound": "matrix", "mac": count(3000, Unit.MAC)}, "3.00 kmac f16 on matrix units"),
        ({"bound": "device", "device_bytes": 2048.0}, "2.00 KiB via device memory"),
        (
            {"bound": "l2", "read_bytes": count(1024), "write_bytes": count(512)},
            "1.50 KiB via L2 cache",
        ),
        (
            {"bound": "l1", "read_bytes": count(1024), "write_bytes": count(0)},
            "1.00 KiB via L1 cache",
        ),
        ({"bound": "special"}, "exp, log, sqrt or division"),
        ({"bound": "vector", "flop": count(7000)}, "7.00 kflop on vector units"),
        (
            {"bound": "special", "next_bound": "device", "margin": 1.25},
            "exp, log, sqrt or division, 1.2 × as long as device memory",
        ),
        (
            {"bound": "special", "launch_gap_s": 2e-6},
            "exp, log, sqrt or division; its launch adds 2.00 µs",
        ),
        (
            {"bound": "launch", "sustained_s": 4e-6, "launch_gap_s": 2e-6},
            "launch takes longer than the kernel: 5 µs for 4.00 µs of work",
        ),
        (
            {"bound": "special", "flop": count(7, is_bound=True)},
            "exp, log, sqrt or division; lower bound, part of its cost is unknown",
        ),
        (
            {"bound": "launch", "sustained_s": 4e-6, "flop": count(7, is_bound=True)},
            "launch takes longer than the known part of the kernel: 5 µs for 4.00 µs of work",
        ),
    ],
)
def test_a_reason_says_what_binds_and_by_how_much(
    plain: KernelRow, changes: dict[str, Any], said: str
) -> None:
    bare: dict[str, Any] = {
        "next_bound": "",
        "margin": None,
        "dtype": "f16",
        "ceilings": {},
        "sustained_s": 1e-6,
        "flop": count(1),
        "read_bytes": count(1, Unit.BYTE),
        "write_bytes": count(1, Unit.BYTE),
    }
    row = replace(plain, **{**bare, **changes})
    assert reason(row, 5e-6).replace("5.00 µs for", "5 µs for") == said


def test_groups_of_kernels_are_ordered_by_their_time(plain: KernelRow) -> None:
    rows = rows_of(plain, 0.2, 0.5, 0.2, 0.1)
    rows[3] = replace(rows[3], alike=0)
    ordered = groups(rows)
    assert [[r.index for r in g.rows] for g in ordered] == [[1], [0, 3], [2]]
    assert (ordered[1].predicted_s, ordered[1].predicted_share) == (0.4, 0.4)


def test_launches_stand_behind_a_kernels_title(plain: KernelRow) -> None:
    known = {"flop": count(1), "read_bytes": count(1), "write_bytes": count(1), "title": "Conv"}
    assert title_of(replace(plain, **known, launches=1.0)) == "Conv"
    assert title_of(replace(plain, **known, launches=2.5)) == "Conv x2.5"
    known |= {"flop": count(1, is_bound=True)}
    assert title_of(replace(plain, **known, launches=1.0)) == "≥ Conv"


def test_rows_of_all_kernels_and_of_the_longest_say_how_much_they_carry(plain: KernelRow) -> None:
    rows = rows_of(plain, 0.5, 0.3, 0.2)
    assert kernels.section(rows, None).title == "kernels: all 3, in execution order"
    assert kernels.section(rows, 2).title == "kernels: 2 of 3, 80.0 % of the time (--top all)"
    assert kernels.section(rows, 3).title == "kernels: 3 of 3, 100 % of the time"
    assert kernels.section([], 3).parts == (Note("no kernel is launched"),)
    open_row = replace(rows[0], flop=count(1, is_bound=True))
    assert len(kernels.section(rows, None).parts) == 1
    (_, note) = kernels.section([open_row, *rows[1:]], None).parts
    assert isinstance(note, Note)
    assert note.is_warning


def bound(gap_s: float = 0.0, launches: float = 1.0, **sustained_s: float) -> KernelBound:
    found = {Ceiling[name.upper()]: time_s for name, time_s in sustained_s.items()}
    nothing = cast(Any, None)
    return KernelBound(nothing, nothing, launches, {}, found, gap_s, 0.0, DType.F16)


def test_the_next_ceiling_is_another_unit() -> None:
    assert runner_up(bound(matrix=4.0, device=2.0, l2=1.0)) == ("device", 2.0)
    assert runner_up(bound(waves=4.0, matrix=3.0, device=2.0)) == ("device", 2.0)
    assert runner_up(bound(matrix=4.0, waves=3.0, l2=1.0)) == ("l2", 4.0)
    assert runner_up(bound(device=4.0, waves=3.0, matrix=1.0)) == ("waves", pytest.approx(4 / 3))
    assert runner_up(bound(device=4.0, l2=0.0)) == ("", None)
    assert runner_up(bound(6.0, device=2.0)) == ("device", 3.0)


def test_waves_hold_a_kernel_up_where_most_of_its_time_is_idle() -> None:
    full, half, empty = (
        bound(waves=waves_s, matrix=4.0, device=3.0) for waves_s in (4.4, 8.0, 10.0)
    )
    assert [k.binding for k in (full, half, empty)] == [Ceiling.MATRIX] * 2 + [Ceiling.WAVES]
    assert [k.idle_share for k in (half, empty)] == [0.5, 0.6]
    assert bound(waves=3.0, matrix=2.0, device=4.0).idle_share == 0.0
    assert {k.unit for k in (full, half, empty)} == {Ceiling.MATRIX}
    shares = limits(cast(Any, SimpleNamespace(kernels=[half, empty])), None)
    # 4 s of 8 s and of 10 s are spent on products
    assert [(x.key, x.share) for x in shares] == [
        ("waves", pytest.approx(10 / 18)),
        ("matrix", pytest.approx(8 / 18)),
    ]


def test_a_kernel_is_held_by_its_launch_where_that_is_more_than_half() -> None:
    kernel = bound(device=1.0, l2=3.0)
    assert kernel.busiest is Ceiling.L2
    assert bound().busiest is Ceiling.LAUNCH
    assert held_by(kernel, 10.0, 5.0) is Ceiling.L2
    assert held_by(kernel, 10.0, 5.1) is Ceiling.LAUNCH


def test_limits_add_up_to_the_whole_run() -> None:
    busy = [bound(device=3.0), bound(device=1.0), bound(matrix=2.0), bound()]
    table = SimpleNamespace(
        kernels=[SimpleNamespace(device_s=t, gap_s=w) for t, w in ((3, 1), (1, 1), (2, 0), (0, 1))],
        wait_s=0.75,
        total=SimpleNamespace(fixed_s=0.25),
    )
    found = limits(cast(Any, SimpleNamespace(kernels=busy)), cast(Any, table))
    assert [(x.key, x.share) for x in found] == [
        ("device", 0.4),
        ("launch", pytest.approx(0.3)),
        ("matrix", 0.2),
        (HOST, 0.075),
        (FIXED, 0.025),
    ]
    assert found[0].title == title("device")
    assert math.isclose(sum(x.share for x in found), 1.0)
    alone = limits(cast(Any, SimpleNamespace(kernels=busy[:1])), None)
    assert [(x.key, x.share) for x in alone] == [("device", 1.0)]


def test_nothing_of_nothing_is_nothing() -> None:
    assert (ratio(0.0, 0.0), ratio(1.0, 0.0), ratio(1.0, 4.0)) == (0.0, 0.0, 0.25)
    assert title("no ceiling") == "no ceiling"


def repeated(count: int, launches: float = 1.0, **sustained_s: float) -> Any:
    kernel = bound(launches=launches, **sustained_s)
    return SimpleNamespace(
        indices=range(count), count=count, kernel=kernel, predicted=None, time_s=7.0
    )


def test_a_run_with_a_ceiling_lifted_takes_what_is_left_of_each_kernel() -> None:
    kernels = [repeated(2, matrix=4.0, waves=5.0, device=3.0), repeated(1, device=1.0)]
    run = ChangedRun(kernels, 2.0, None, 12.0)
    assert run.retimed(scaled(Ceiling.L1, 0.0)) == 2 * 5.0 + 2.0
    assert run.retimed(scaled(Ceiling.WAVES, 0.0)) == 2 * 4.0 + 2.0
    assert run.retimed(scaled(Ceiling.MATRIX, 0.0)) == 2 * 3.0 + 2.0
    assert run.retimed(scaled(Ceiling.MATRIX, 0.7)) == 2 * 3.5 + 2.0
    assert run.retimed(scaled(Ceiling.LAUNCH, 0.0)) == 2 * 5.0 + 1.0
    assert run.retimed(scaled(Ceiling.DEVICE, 0.0)) == 2 * 5.0 + 2.0


def test_a_predicted_kernel_keeps_its_gap_and_never_waits_twice() -> None:
    def run_of(time_s: float, gap_s: float, **sustained_s: float) -> ChangedRun:
        time = Interval.exactly(time_s)
        kernels = (Estimate(0.0, time, Predictor.LEARNED, "x", gap_s=gap_s),)
        table = PredictionTable(kernels, RunEstimate(0.0, time), launched=kernels)
        return ChangedRun([repeated(1, **sustained_s)], 3.0, table, 10.0)

    run = run_of(10.0, 2.0, device=4.0)
    assert run.retimed(scaled(Ceiling.L1, 0.0)) == 8.0
    assert run.retimed(scaled(Ceiling.DEVICE, 0.5)) == 4.0
    assert run.retimed(scaled(Ceiling.DEVICE, 0.0)) == 3.0
    assert run_of(1.0, 0.5, device=4.0).retimed(scaled(Ceiling.DEVICE, 0.0)) == 1.0
    assert run_of(10.0, 2.0).retimed(scaled(Ceiling.L1, 0.0)) == 8.0


def test_a_change_is_said_with_what_it_saves() -> None:
    fields: dict[str, Any] = {"name": "graph", "option": "--launch graph", "basis": "analysed"}
    fields["items"] = 1
    times_s = {"time_s": 2e-3, "saving_s": 1e-3}
    one = cast(Remedy, SimpleNamespace(**fields, **times_s))
    assert words(one, 4e-3) == "graph (--launch graph): 2.00 ms, -25.0 %"
    fields |= {"option": "", "items": 8}
    more = cast(Remedy, SimpleNamespace(**fields, **times_s))
    assert words(more, 4e-3) == "graph (analysed): 2.00 ms, -25.0 % per item, 8 × the items"


@pytest.mark.parametrize("is_own", [True, False])
def test_why_a_kernel_is_not_known_better_names_it_and_the_machine(
    report: perfc.Report, is_own: bool
) -> None:
    from perfc.analyzers.estimate.estimate import Predictor

    estimate = SimpleNamespace(class_name="pool", predictor=Predictor.ROOFLINE, is_own=is_own)
    said = of_kernel(report, 0, cast(Any, estimate))
    assert said == f"no predictor covers {NOUNS['pool']}s on {A100}: roofline only"
