"""Probes say what is right and what is measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfc.errors import TargetError
from perfc.kernels.backends.backend import Device, MeasurementError
from perfc.kernels.backends.opening import open_backend
from perfc.kernels.probe import PROBES, Probe, Rank, Scope, cases, rank
from perfc.kernels.reference import cycle

VERIFIED = [p for p in PROBES.values() if p.inputs is not None and p.expected is not None]
DEVICE = Device(
    kind="cpu",
    name="a processor",
    vendor="nobody",
    arch="x86-64",
    cores=4,
    memory_bytes=16 << 30,
    free_bytes=12 << 30,
    most_bytes=4 << 30,
    caches={"l1": 128 << 10, "l2": 2 << 20, "l3": 16 << 20},
)


@pytest.mark.parametrize("probe", VERIFIED, ids=lambda p: p.id)
def test_the_right_answer_is_accepted_and_a_slightly_wrong_one_is_not(probe: Probe) -> None:
    assert probe.inputs is not None
    assert probe.expected is not None
    expected = probe.expected(probe.inputs(1))
    right = np.asarray(expected.values)
    assert expected.accepts(right)
    assert not expected.accepts(right[..., :-1])
    wrong = right.copy()
    wrong.flat[wrong.size // 2] += 1
    assert not expected.accepts(wrong)
    assert not expected.accepts(np.full(right.shape, np.nan))


@pytest.mark.parametrize("probe", VERIFIED, ids=lambda p: p.id)
def test_operands_follow_from_the_seed(probe: Probe) -> None:
    assert probe.inputs is not None
    first, again, other = probe.inputs(5), probe.inputs(5), probe.inputs(6)
    assert all(np.array_equal(first[k], again[k]) for k in first)
    assert any(not np.array_equal(first[k], other[k]) for k in first)


def test_a_cycle_visits_every_slot() -> None:
    following = cycle(257, 3).tolist()
    at, seen = 0, set()
    for _ in range(257):
        seen.add(at)
        at = following[at]
    assert at == 0
    assert len(seen) == 257


def test_sweeps_go_from_below_the_first_cache_to_most_of_what_is_allowed() -> None:
    sizes = PROBES["stream.read"].sizes(DEVICE, False)
    assert sizes[0] <= 128 << 10 >> 1
    assert sizes[-1] == pytest.approx(4 << 30, rel=0.01)
    assert all(s % (3 * 512 * DEVICE.cores) == 0 for s in sizes)
    assert len([s for s in sizes if s <= 128 << 10]) >= 3
    assert len([s for s in sizes if s > 2 * 16 << 20]) >= 3


def test_a_quick_plan_is_shorter() -> None:
    assert len(cases(DEVICE, True)) < len(cases(DEVICE, False))


@pytest.mark.parametrize("quick", [False, True])
def test_what_a_file_needs_most_comes_first(quick: bool) -> None:
    plan = cases(DEVICE, quick)
    assert (plan[0].probe, plan[0].scope) == ("stream.read", Scope.ALL)
    ranks = [rank(c) for c in plan]
    assert ranks == sorted(ranks)
    assert set(ranks) == set(Rank)


def test_a_quick_sweep_goes_from_the_largest_and_from_coarse_to_fine() -> None:
    sizes = [c.size for c in cases(DEVICE, True) if rank(c) is Rank.LEVELS]
    assert sorted(sizes) == list(PROBES["stream.read"].sizes(DEVICE, True))
    assert sizes[0] == max(sizes)
    # cut short after a fifth, it still reaches from memory to the first cache
    assert min(sizes[: len(sizes) // 5]) <= 256 << 10
    full = [c.size for c in cases(DEVICE, False) if rank(c) is Rank.LEVELS]
    assert full == sorted(full)


def test_a_quick_sweep_beside_a_large_cache_holds_twice_its_bytes() -> None:
    caches = {**DEVICE.caches, "l3": 300 << 20}
    device = replace(DEVICE, caches=caches)
    assert max(PROBES["stream.read"].sizes(device, True)) <= 600 << 20
    assert max(PROBES["stream.read"].sizes(device, True)) > 590 << 20


@pytest.mark.parametrize(
    ("probe", "most"), [("stream.read", 160), ("stream.triad", 160), ("chase", 128)]
)
def test_a_quick_sweep_is_small_beside_a_common_cache(probe: str, most: int) -> None:
    device = replace(DEVICE, caches={**DEVICE.caches, "l3": 32 << 20})
    assert (most - 1) << 20 < max(PROBES[probe].sizes(device, True)) <= most << 20


def test_a_quick_chase_reaches_memory() -> None:
    sizes = PROBES["chase"].sizes(DEVICE, True)
    assert max(sizes) == 8 * (16 << 20)
    assert min(sizes) <= 32 << 10


def test_one_core_gets_sizes_of_its_own_share() -> None:
    plan = cases(DEVICE, False)
    one = [c.size for c in plan if c.probe == "stream.read" and c.scope is Scope.ONE]
    assert min(one) <= 16 << 10
    alone = cases(replace(DEVICE, cores=1), False)
    assert not [c for c in alone if c.probe == "stream.read" and c.scope is Scope.ONE]


def test_every_case_has_a_name_of_its_own() -> None:
    plan = cases(DEVICE, False)
    assert len({str(c) for c in plan}) == len(plan)


@pytest.mark.parametrize("name", ["gpu", "cpu:1", "cuda:x", "cuda:99999", ""])
def test_unknown_devices_are_refused(name: str) -> None:
    with pytest.raises(TargetError, match=rf"^no device '{name}' \(cpu, cuda:0 or fake\)$"):
        open_backend(name)


def test_errors_of_measurements_are_one_line() -> None:
    assert "\n" not in str(MeasurementError("x", hint="y", where="z"))
