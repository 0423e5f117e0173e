"""Words of the summary: two amounts together, and whether a model fits its device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from perfc.ir.symbolic.dim import symbol
from perfc.view.report.amounts import Amount, Unit, ratio
from perfc.view.report.sections.summary import fits, total

N = symbol("N")


def nbytes(value: float | None, formula: Any = None, *, bound: bool = False) -> Amount:
    return Amount(value, Unit.BYTE, formula, bound)


def test_two_amounts_are_added_with_their_formulas() -> None:
    both = total(nbytes(6.0, 2 * N), nbytes(3.0, N, bound=True))
    assert (both.value, both.formula, both.is_bound) == (9.0, 3 * N, True)
    assert total(nbytes(None), nbytes(3.0)).value == 3.0
    assert total(nbytes(3.0), nbytes(None)).value == 3.0
    assert total(nbytes(3.0, N), nbytes(3.0)).formula is None
    assert ratio(1.0, 4.0) == 0.25
    assert ratio(0.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("weights", "peak", "capacity", "words"),
    [
        (1024.0, 1024.0, None, "2.00 KiB with weights"),
        (None, 1024.0, None, "1.00 KiB with weights"),
        (1024.0, None, None, "1.00 KiB with weights"),
        (1024.0, 1024.0, 8192.0, "2.00 KiB with weights, 25.0 % of 8.00 KiB"),
        (4096.0, 4096.0, 8192.0, "8.00 KiB with weights, 100 % of 8.00 KiB"),
        (4096.0, 4097.0, 8192.0, "more than the 8.00 KiB available"),
    ],
)
def test_what_is_needed_is_told_beside_the_device(
    weights: float | None, peak: float | None, capacity: float | None, words: str
) -> None:
    view: Any = SimpleNamespace(
        weight_bytes=nbytes(weights),
        peak_activation_bytes=nbytes(peak),
        device_capacity_bytes=capacity,
    )
    assert fits(view).endswith(words)
