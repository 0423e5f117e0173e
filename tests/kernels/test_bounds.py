"""Bounds of a processor are above what it does."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from perfc.kernels.backends.backend import Device
from perfc.kernels.bounds import (
    UNKNOWN_CLOCK_HZ,
    cpu_numbers,
    device_numbers,
    doubts,
    flop_per_clock,
    lanes,
)
from perfc.kernels.ceilings import MeasuredCeiling, SweepLevel

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
    features=frozenset({"avx2", "fma"}),
)
LEVELS = (
    SweepLevel("l1", 120e3),
    SweepLevel("l2_private", 1.9e6),
    SweepLevel("l2", 20e6),
    SweepLevel("device", math.inf),
)


def ceiling(key: str, value: float) -> MeasuredCeiling:
    return MeasuredCeiling(key, (value, value), value * 1.02, 30, value / 100)


def found(*pairs: tuple[str, float]) -> dict[str, MeasuredCeiling]:
    return {key: ceiling(key, value) for key, value in pairs}


MEASURED = found(
    ("device.clock_sustained_hz", 4e9),
    ("compute.vector.f32.sustained_flop_per_s", 5e11),
    ("compute.matrix.f32.sustained_flop_per_s", 4e11),
    ("memory.l1.sustained_bandwidth_bytes_per_s", 1e12),
    ("memory.device.sustained_bandwidth_bytes_per_s", 4e10),
)


@pytest.mark.parametrize(
    ("key", "least"),
    [
        ("compute.matrix.f32.sustained_flop_per_s", 2e11),  # half of f64's
        ("compute.matrix.f32.one_core_flop_per_s", 4e9),  # half of a scalar multiply-add a clock
        ("compute.matrix.f64.sustained_flop_per_s", 1e11),  # half of one core's
        ("compute.vector.f64.sustained_flop_per_s", 1.6e10),  # the scalar one of four cores
        ("compute.matrix.f16.sustained_flop_per_s", 0.0),  # may be emulated
        ("compute.matrix.f32.sustained_small_flop_per_s", 0.0),
    ],
)
def test_a_rate_far_below_what_it_exceeds_is_in_doubt(key: str, least: float) -> None:
    others = found(
        ("device.clock_sustained_hz", 4e9),
        ("compute.matrix.f64.sustained_flop_per_s", 4e11),
        ("compute.matrix.f64.one_core_flop_per_s", 2e11),
    )
    if "f32.one_core" in key:
        del others["compute.matrix.f64.one_core_flop_per_s"]
    is_doubted = doubts(DEVICE, others.values())
    assert not is_doubted(key, least * 1.01 or 1e9)
    assert is_doubted(key, least * 0.99 or 1e9) == (least > 0)


def numbers(
    device: Device = DEVICE, measured: dict[str, MeasuredCeiling] = MEASURED
) -> dict[str, float]:
    return {n.key: n.value for n in cpu_numbers(device, measured, LEVELS)}


def test_every_peak_is_above_the_best_sample() -> None:
    made = numbers()
    for key, measured in MEASURED.items():
        table, _, name = key.rpartition(".")
        name = name.removeprefix("sustained_")
        peak = made.get(f"{table}.peak_{name}") or made.get(f"{table}.{name}")
        if peak is not None:
            assert peak > measured.extreme
    assert made["device.clock_max_hz"] > 4.08e9


def test_products_have_the_bound_of_the_unit_they_run_on() -> None:
    made = numbers()
    for name in ("peak_flop_per_s", "flop_per_clock_per_sm"):
        assert made[f"compute.matrix.f32.{name}"] == made[f"compute.vector.f32.{name}"]


def test_a_cache_behind_the_first_is_never_bound_tighter_than_the_first() -> None:
    made = numbers()
    inner = made["memory.l1.bytes_per_clock_per_sm"]
    assert made["memory.l2.bytes_per_clock_per_sm"] >= inner
    assert made["memory.l2_private.bytes_per_clock_per_sm"] >= inner


def test_capacities_are_the_larger_of_what_is_stated_and_seen() -> None:
    made = numbers()
    assert made["memory.l1.capacity_bytes"] == 128 << 10
    assert made["memory.l2_private.capacity_bytes"] == 2 << 20
    assert made["memory.l2.capacity_bytes"] >= 20e6
    assert made["memory.l2.capacity_bytes"] % 4096 == 0


@pytest.mark.parametrize(
    ("features", "arch", "width"),
    [({"sse2"}, "x86-64", 4), ({"avx2"}, "x86-64", 8), ({"avx512f"}, "x86-64", 16)],
)
def test_lanes_follow_the_instruction_set(features: set[str], arch: str, width: int) -> None:
    device = replace(DEVICE, features=frozenset(features), arch=arch)
    assert lanes(device) == width
    assert flop_per_clock(device, "f32", matrix=False) == 2 * 2 * width
    assert flop_per_clock(device, "f64", matrix=False) == 2 * width
    assert flop_per_clock(device, "i8", matrix=False) == 4 * 2 * 2 * width


def test_tile_instructions_raise_the_bound_of_products_alone() -> None:
    device = replace(DEVICE, features=frozenset({"avx512f", "amx_int8", "amx_bf16"}))
    assert flop_per_clock(device, "i8", matrix=True) == 2048
    assert flop_per_clock(device, "bf16", matrix=True) == 1024
    assert flop_per_clock(device, "f32", matrix=True) == 64
    made = numbers(device)
    assert made["compute.matrix.i8.flop_per_clock_per_sm"] == 2048
    assert made["compute.vector.i8.flop_per_clock_per_sm"] == 256


def test_without_a_clock_the_bound_is_above_every_processor() -> None:
    assert numbers(measured={})["device.clock_max_hz"] == UNKNOWN_CLOCK_HZ
    stated = replace(DEVICE, clock_max_hz=5e9)
    assert numbers(stated)["device.clock_max_hz"] == 5e9
    slow = replace(DEVICE, clock_max_hz=3e9)
    assert numbers(slow)["device.clock_max_hz"] > 4e9


def test_an_unknown_accelerator_gets_its_best_samples_with_headroom() -> None:
    device = replace(DEVICE, kind="cuda", clock_max_hz=1.5e9, caches={"l2": 16 << 20})
    made = {n.key: n.value for n in device_numbers(device, MEASURED, LEVELS)}
    assert made["compute.matrix.f32.peak_flop_per_s"] > 4.1e11
    assert made["memory.device.bandwidth_bytes_per_s"] > 4.1e10
    assert made["memory.l2.capacity_bytes"] >= 20e6
