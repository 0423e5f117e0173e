"""Levels of memory are found where the bandwidth falls."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc.kernels.steps import falling, plateaus

KIB, MIB = 1 << 10, 1 << 20
SIZES = [round(16 * KIB * 2 ** (i / 2)) for i in range(32)]
LEVELS = ((96 * KIB, 1.0e12), (2 * MIB, 4e11), (32 * MIB, 2.2e11), (math.inf, 6e10))


def curve(seed: int, noise: float = 0.02, slope: float = 0.7) -> list[float]:
    """Bandwidth with a soft edge at each capacity."""
    rng = np.random.default_rng(seed)
    rates = []
    for size in SIZES:
        left, time = 1.0, 0.0
        for capacity, rate in LEVELS:
            hits = 1.0 if size <= capacity else max(0.0, 1 - (size / capacity - 1) / slope)
            time += left * hits / rate
            left *= 1 - hits
        rates.append(1 / time * math.exp(-abs(rng.normal(0, noise))))
    return rates


@pytest.mark.parametrize("seed", range(12))
def test_four_levels_are_found_where_they_are(seed: int) -> None:
    found = plateaus(SIZES, curve(seed))
    assert len(found) == 4
    for level, (capacity, rate) in zip(found, LEVELS, strict=True):
        assert level.rate == pytest.approx(rate, rel=0.05)
        if math.isfinite(capacity):
            assert capacity / 1.5 <= level.capacity <= capacity * 2
    assert found[-1].capacity == math.inf


def test_one_level_stays_one() -> None:
    rates = [5e10 * (1 + 0.02 * math.sin(i)) for i in range(len(SIZES))]
    assert len(plateaus(SIZES, rates)) == 1


def test_a_slow_start_is_no_level() -> None:
    rates = [2e11 * min(1, 0.5 + i / 6) for i in range(12)] + [4e10] * 12
    assert len(plateaus(SIZES[:24], rates)) == 2


def test_one_odd_point_is_no_level() -> None:
    rates = curve(1)
    rates[-1] *= 0.6
    rates[12] *= 0.5
    assert len(plateaus(SIZES, rates)) == 4


def test_too_few_points_show_nothing() -> None:
    assert plateaus(SIZES[:5], [1e9] * 5) == ()


def test_no_more_levels_than_asked_for() -> None:
    assert len(plateaus(SIZES, curve(3), most=2)) == 2


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30))
def test_falling_never_grows_and_keeps_the_mean(values: list[float]) -> None:
    found = falling(values)
    assert all(a >= b - 1e-9 for a, b in pairwise(found))
    assert sum(found) == pytest.approx(sum(values), abs=1e-9)
