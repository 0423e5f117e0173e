"""A ceiling is the median of its rounds, and says how far they spread."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from perfc.kernels.backends.fake import Fake
from perfc.kernels.ceilings import MeasuredCeiling, SweepLevel, ceilings, levels
from perfc.kernels.probe import PROBES, Case, Scope
from perfc.kernels.session import Sample
from perfc.kernels.timing import Series
from perfc.machine import Spread


def ceiling(*rounds: float, **options: object) -> MeasuredCeiling:
    return MeasuredCeiling("memory.l2.x", rounds, max(rounds), 9, 1.0, **options)  # type: ignore[arg-type]


def test_a_ceiling_is_the_median_and_settled_where_the_best_round_is_close() -> None:
    assert ceiling(100.0, 97.0, 40.0).value == 97.0
    assert ceiling(100.0, 97.0, 40.0).is_settled(6)
    assert not ceiling(100.0, 80.0, 79.0).is_settled(6)
    assert not ceiling(100.0).is_settled(6)
    times = ceiling(1e-6, 9e-6, 1.01e-6, less_is_better=True)
    assert times.is_settled(6)
    assert times.spread == Spread(3, 1e-6, 9e-6)


def test_a_ceiling_is_uncertain_where_it_was_not_reached_twice() -> None:
    assert not ceiling(100.0, 92.0).is_uncertain
    assert ceiling(100.0, 60.0, 61.0).is_uncertain
    assert ceiling(100.0).is_uncertain
    assert ceiling(100.0, 100.0, others=0.5).is_uncertain


def test_memory_that_others_may_use_has_more_rounds() -> None:
    assert ceiling(80.0, 79.0).is_settled(3)
    assert not ceiling(80.0, 79.0, is_shared=True).is_settled(3)
    assert ceiling(80.0, 79.0, 81.0, is_shared=True).is_settled(3)
    shared = ceiling(80.0, 45.0, 46.0, 81.0, 44.0, 47.0, is_shared=True)
    assert not shared.is_settled(3)
    assert shared.value == 46.5


def test_bounds_leave_room_for_what_disturbed_the_measurement() -> None:
    assert ceiling(100.0, 100.0).headroom == 1.0
    assert ceiling(150.0, 100.0, 80.0).headroom == pytest.approx(1.5)
    assert ceiling(100.0, 100.0, others=0.75).headroom == pytest.approx(4.0)
    assert ceiling(100.0, others=1.0).headroom == pytest.approx(10.0)


def sample(probe: str, size: int, index: int, rate: float, others: float = 0.0) -> Sample:
    """A stream or a product of that rate, beside others where they are named."""
    case = Case(probe, size, Scope.ALL)
    count = float(size**3 if probe.startswith("matrix") else size)
    seconds = count * PROBES[probe].work / rate
    return Sample(case, index, count, Series(1, (seconds,) * 3), {"others": others})


def keyed(*samples: Sample) -> dict[tuple[Case, int], Sample]:
    return {(s.case, s.round): s for s in samples}


def test_large_products_beside_others_give_way_to_those_that_fit_between() -> None:
    slow = [sample("matrix.f32", 2048, i, 4e10, others=0.7) for i in range(2)]
    small = [sample("matrix.f32", n, i, 4e8 * n, 0.7) for n in (256, 512) for i in range(2)]
    (found,) = ceilings(keyed(*slow, *small), Fake().device)
    assert (found.value, found.note, found.others) == (pytest.approx(2.048e11), "n = 512", 0.0)
    (disturbed,) = ceilings(keyed(*slow), Fake().device)
    assert disturbed.spread.rounds == 0
    assert disturbed.others == 0.7


def test_sizes_that_others_disturbed_show_no_level_of_memory() -> None:
    device = replace(Fake().device, kind="cpu", caches={"l1": 1 << 16, "l3": 32 << 20})
    sizes = [1 << k for k in range(13, 33)]

    def read(size: int) -> Sample:
        rate = 4e11 if size <= 1 << 16 else 2e11 if size <= 1 << 25 else 6e10
        disturbed = size > 1 << 28
        return sample("stream.read", size, 0, 1e10 if disturbed else rate, 0.7 * disturbed)

    found = levels(keyed(*map(read, sizes)), device)
    assert [level.name for level in found] == ["l1", "l2", "device"]
    assert found[1].capacity == pytest.approx(1 << 25, rel=0.5)


def test_without_a_step_the_stated_caches_are_the_levels() -> None:
    flat = keyed(*(sample("stream.read", 1 << k, 0, 1e11) for k in range(13, 25)))
    caches = {"l1": 1 << 16, "l2": 1 << 21, "l3": 32 << 20}
    device = replace(Fake().device, kind="cpu", caches=caches)
    assert levels(flat, device) == (
        SweepLevel("l1", 1 << 16, False),
        SweepLevel("l2_private", 1 << 21, False),
        SweepLevel("l2", 32 << 20, False),
        SweepLevel("device", math.inf, False),
    )
    # nothing shows where a cache ends: all that was measured may lie in it
    unknown = levels(flat, replace(device, caches={}))
    assert unknown == (SweepLevel("l2", 1 << 24, False), SweepLevel("device", math.inf, False))


def test_caches_that_the_system_reports_are_the_levels_where_the_sweep_is_unclear() -> None:
    caches = {"l1": 1 << 16, "l2": 1 << 21, "l3": 32 << 20}
    device = replace(Fake().device, kind="cpu", caches=caches)

    def read(size: int) -> Sample:
        # nothing shows where the second level ends; the third is shared with another machine
        rate = 4e11 if size <= 1 << 16 else 2e11 if size <= 20 << 20 else 4e10
        return sample("stream.read", size, 0, rate)

    found = levels(keyed(*(read(1 << k) for k in range(13, 29))), device)
    assert [(level.name, level.is_seen) for level in found] == [
        ("l1", True),
        ("l2_private", False),
        ("l2", True),
        ("device", False),
    ]
    assert found[1].capacity == 1 << 21
    assert 16 << 20 <= found[2].capacity < 32 << 20


def test_work_goes_to_threads_that_sleep_where_those_that_spin_are_preempted() -> None:
    def launches(spin_s: float, wake_s: float) -> dict[str, MeasuredCeiling]:
        times = {"launch.eager": spin_s, "launch.wake": wake_s}
        made = (sample(p, 0, i, t) for p, t in times.items() for i in range(2))
        timed = [replace(s, count=1.0, series=Series(1, (times[s.case.probe],) * 3)) for s in made]
        return {c.key: c for c in ceilings(keyed(*timed), replace(Fake().device, kind="cpu"))}

    key = "device.launch_overhead_s"
    assert launches(8e-8, 3e-7)[key].note == "threads that spin"
    preempted = launches(7e-4, 8e-6)
    assert (preempted[key].value, preempted[key].note) == (8e-6, "threads that sleep")
    assert preempted["device.launch_wake_s"].value == 8e-6
    assert not preempted[key].is_settled(3)
