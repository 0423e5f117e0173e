"""Small arithmetic of measurements: robust fits, numbers of a dataset, what a prediction lacks."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from perfc.measure.align import common
from perfc.measure.compare import Measurement
from perfc.measure.dataset import cell
from perfc.measure.nnls import robust


@pytest.mark.parametrize("far", [30.0, 1000.0])
def test_a_robust_fit_is_hubers(far: float) -> None:
    """Residuals beyond 1.5 deviations pull as hard as those at them (Huber 1964)."""
    b = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, far])
    (x,) = robust([[1.0]] * 10, b.tolist(), [1.0] * 10, [math.inf])
    error = b - x
    # the median of errors is 0.6745 deviations
    bound = 1.5 * float(np.median(np.abs(error))) / 0.6745
    assert abs(float(np.clip(error, -bound, bound).sum())) < 0.05
    assert 5 < x < 7


def test_weights_count_rows() -> None:
    (x,) = robust([[1.0]] * 3, [1.0, 1.0, 4.0], [1.0, 1.0, 1e-9], [math.inf])
    assert x == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"), (-2.0, "-2"), (1e15, "1e+15"), (1e15 - 1, "999999999999999"),
        (0.12345, "0.1235"), (7, 7), (True, True), (None, None), ("plain", "plain"),
        ("=1+1", "'=1+1"),
    ],
)  # fmt: skip
def test_cells_have_as_many_digits_as_a_clock(value: object, text: object) -> None:
    assert cell(value) == text


def test_what_the_prediction_lacks_is_signed() -> None:
    one = cast(Any, SimpleNamespace(total_s=5e-3, prediction_s=3e-3))
    residual = cast(property, Measurement.residual_s).fget
    assert residual is not None
    assert residual(one) == pytest.approx(2e-3)


@pytest.mark.parametrize(
    ("old", "new", "matched"),
    [
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "xaxbx", [(0, 1), (1, 3)]),
        ("abcd", "bd", [(1, 0), (3, 1)]),
        ("ab", "ba", [(1, 0)]),
        ("", "abc", []),
        ("aaa", "a", [(0, 0)]),
    ],
)
def test_the_longest_common_sequence_is_paired(
    old: str, new: str, matched: list[tuple[int, int]]
) -> None:
    assert common(list(old), list(new)) == matched
