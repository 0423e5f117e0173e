"""The interval of a sum of kernels."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc.analyzers.intervals.summing import CORRELATION, ErrorSide, half_width

widths = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=20)
names = st.sampled_from([*CORRELATION, "pooling"])


def test_launches_of_one_kernel_share_its_error() -> None:
    side = ErrorSide("matmul_f32", True, 2.0)
    assert half_width({side: 24.0}) == pytest.approx(48.0)


def test_classes_are_wrong_apart() -> None:
    assert half_width(
        {ErrorSide("a", True, 3.0): 1, ErrorSide("b", True, 4.0): 1}
    ) == pytest.approx(5.0)


def test_a_machine_nobody_measured_is_one_error() -> None:
    far = {ErrorSide("matmul_f32", False, w): 1.0 for w in (1.0, 2.0, 3.0)}
    near = {ErrorSide("matmul_f32", True, w): 1.0 for w in (1.0, 2.0, 3.0)}
    assert half_width(far) == 6.0
    assert half_width(near) < 6.0


def test_nothing_is_certain() -> None:
    assert half_width({}) == 0.0


@given(widths, names)
def test_between_errors_that_cancel_and_one_error(found: list[float], name: str) -> None:
    sides = {ErrorSide(name, True, w): 1.0 for w in set(found)}
    least = math.hypot(*set(found))
    most = math.fsum(set(found))
    assert least * (1 - 1e-9) <= half_width(sides) <= most * (1 + 1e-9)
