from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc.view.report.units import Unit, change_text, quantity, scale_of, share

PREFIX = {"p": 1e-12, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9}
PREFIX |= {"T": 1e12, "P": 1e15, "E": 1e18}


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.00131, Unit.SECOND, "1.31 ms"),
        (0.0009999, Unit.SECOND, "1.00 ms"),
        (5e-6, Unit.SECOND, "5.00 µs"),
        (93.0, Unit.SECOND, "93 s"),
        (0, Unit.SECOND, "0 s"),
        (65.6e9, Unit.FLOP, "65.6 Gflop"),
        (312e12, Unit.FLOP_PER_S, "312 Tflop/s"),
        (999_999, Unit.MAC, "1.00 Mmac"),
        (128, Unit.FLOP, "128 flop"),
        (1023, Unit.BYTE, "1023 B"),
        (1024, Unit.BYTE, "1.00 KiB"),
        (97.5 * 2**20, Unit.BYTE, "97.5 MiB"),
        (2.04e12, Unit.BYTE_PER_S, "2.04 TB/s"),
        (25_557_032, Unit.COUNT, "25.6 M"),
        (56, Unit.COUNT, "56"),
        (0.1234, Unit.SHARE, "12.3 %"),
        (None, Unit.SECOND, "—"),
        (math.inf, Unit.RATIO, "—"),
        (3853.2, Unit.RATIO, ">100×"),
        (100.0, Unit.RATIO, "100×"),
        (2.4e-13, Unit.SECOND, "<1 ns"),
        (-2.4e-13, Unit.SECOND, "<1 ns"),
        (1e-9, Unit.SECOND, "1.00 ns"),
    ],
)
def test_quantity_has_three_digits_and_its_unit(value: float | None, unit: Unit, text: str) -> None:
    assert quantity(value, unit) == text


def test_a_change_of_more_than_a_hundred_times_is_a_limit() -> None:
    assert list(map(change_text, (0.5, 0.9999, 1.0, 100, 101))) == [
        "-50.0 %",
        "+0.0 %",
        "+0.0 %",
        "+9900.0 %",
        ">100 ×",
    ]


@given(st.floats(1e-12, 1e20))
def test_written_flop_is_within_half_a_percent_of_the_number(value: float) -> None:
    found = re.fullmatch(r"([0-9.]+) (\D?)flop", quantity(value, Unit.FLOP))
    if value >= 1:
        assert found
        assert float(found[1]) * PREFIX[found[2]] == pytest.approx(value, rel=0.0051)


@given(st.floats(1e-15, 1.0, exclude_max=True))
def test_share_is_never_rounded_to_nothing_nor_to_everything(value: float) -> None:
    text = share(value)
    assert not text.startswith("0.0 ")
    assert text != "0 %"
    assert not text.startswith("100")


@given(st.floats(1e-15, 1e3), st.floats(1e-6, 1e3))
def test_column_never_shows_zero_for_a_number_that_is_not(small: float, large: float) -> None:
    scale = scale_of([small, large], Unit.SECOND)
    assert float(scale.format(small).strip("<")) > 0


def test_column_brings_its_largest_number_to_at_most_five_digits() -> None:
    for value in (1e-5, 3e-4, 0.00999, 0.0101, 9.9, 99.0):
        scale = scale_of([value], Unit.SECOND)
        assert len(scale.format(value).partition(".")[0]) <= 5, value
