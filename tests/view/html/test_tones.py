"""How the first lines of a page of two reports say what became more or less."""

from __future__ import annotations

import pytest

from perfc.review.diff.views import TotalRow
from perfc.review.page.headline import change, sides, tone
from perfc.view.report.formats.text import Style


def row(
    old: float | None, new: float | None, low: float | None = None, high: float | None = None
) -> TotalRow:
    delta = None if old is None or new is None else new - old
    relative = None if delta is None or not old else delta / old
    return TotalRow("time", "s", old, new, delta, relative, "predicted", False, low, high)


@pytest.mark.parametrize(
    ("found", "style"),
    [
        (row(2.0, 1.0), Style.GOOD),
        (row(1.0, 2.0), Style.POOR),
        (row(1.0, 1.0), Style.PLAIN),
        (row(None, 1.0), Style.PLAIN),
        # zero lies within the interval: nobody can be sure
        (row(2.0, 1.0, -2.0, 0.5), Style.PLAIN),
        (row(1.0, 2.0, -0.5, 2.0), Style.PLAIN),
        (row(2.0, 1.0, -2.0, -0.5), Style.GOOD),
        (row(1.0, 2.0, 0.5, 2.0), Style.POOR),
        (row(2.0, 1.0, -2.0, 0.0), Style.GOOD),
        (row(1.0, 2.0, 0.0, 2.0), Style.POOR),
        (row(2.0, 1.0, -2.0, None), Style.GOOD),
        (row(1.0, 2.0, None, 2.0), Style.POOR),
    ],
)
def test_less_is_good_more_is_poor_and_doubt_is_plain(found: TotalRow, style: Style) -> None:
    assert tone(found) is style


def test_a_change_has_its_interval_and_both_sides() -> None:
    found = change(row(2.0, 1.0, -1.5, -0.5))
    assert "90 % interval" in found.words
    assert "50" in found.words
    assert "nine in ten" not in change(row(2.0, 1.0)).words
    assert sides(row(2.0, 2.0)).count("→") == 0, "one value that stays is said once"
    assert sides(row(2.0, 1.0)).count("→") == 1
    assert sides(row(None, 1.0)).startswith("—")
