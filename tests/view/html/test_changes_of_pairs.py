"""A pair of kernels on a page of two reports: what became of its time."""

from __future__ import annotations

import pytest

from perfc.review.page.comparison import Pair


@pytest.mark.parametrize(
    ("old_s", "new_s", "delta_s"),
    [
        (1e-3, 1e-3 * (1 + 1e-13), 0.0),
        (1e-3 * (1 + 1e-13), 1e-3, 0.0),
        (0.0, 0.0, 0.0),
        (1e-3, 1e-3 * (1 + 1e-11), 1e-14),
        (2.0, 3.0, 1.0),
        (3.0, 2.0, -1.0),
        (0.0, 1e-9, 1e-9),
    ],
)
def test_what_rounding_makes_is_no_change(old_s: float, new_s: float, delta_s: float) -> None:
    assert Pair((1,), (1,), old_s, new_s, False).delta_s == pytest.approx(
        delta_s, rel=1e-3, abs=1e-30
    )
