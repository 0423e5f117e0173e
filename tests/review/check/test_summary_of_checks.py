"""The last line of a check, which says how it went."""

from __future__ import annotations

from typing import Any

import pytest

from perfc.review.check.views import CheckViews, ResultRow, summary

FIGURE: Any = object()
Given = tuple[str, str, bool | None]
"""Standing, outcome, and whether it was analysed now; ``None`` for what has no figures."""


def views(results: tuple[Given, ...], errors: int = 0, *notes: str) -> CheckViews:
    rows = [
        ResultRow(
            f"{i}.onnx",
            "l4",
            standing,
            outcome,
            bool(now),
            () if now is None else (FIGURE,),
            (),
            (),
        )
        for i, (standing, outcome, now) in enumerate(results)
    ]
    said = tuple(f"error {i}" for i in range(errors))
    return CheckViews("pass", True, "", tuple(rows), said, notes)


SAME, NEW = ("same", "pass", False), ("new", "pass", True)
OVER, WARNED = ("changed", "fail", True), ("changed", "warn", False)
REMOVED, SKIPPED = ("removed", "pass", None), ("skipped", "pass", None)


@pytest.mark.parametrize(
    ("results", "errors", "line", "is_bad"),
    [
        ((), 1, "1 error", True),
        ((SAME,), 0, "all budgets met: 1 same; 0 analyzed, 1 from the cache", False),
        (
            (NEW, SAME, NEW),
            0,
            "all budgets met: 1 same, 2 new; 2 analyzed, 1 from the cache",
            False,
        ),
        (
            (SKIPPED, REMOVED, NEW, OVER, SAME),
            0,
            "1 model over budget: 1 same, 1 changed, 1 new, 1 removed, 1 skipped; "
            "2 analyzed, 1 from the cache",
            True,
        ),
        (
            (WARNED, SAME, WARNED),
            0,
            "all budgets met, 2 models with warnings: 1 same, 2 changed; "
            "0 analyzed, 3 from the cache",
            False,
        ),
        (
            (OVER, WARNED, OVER),
            2,
            "2 errors, 2 models over budget: 3 changed; 2 analyzed, 1 from the cache",
            True,
        ),
        ((REMOVED,), 0, "all budgets met: 1 removed; 0 analyzed, 0 from the cache", False),
    ],
)
def test_one_line_says_how_it_went(
    results: tuple[Given, ...], errors: int, line: str, is_bad: bool
) -> None:
    (said,) = summary(views(results, errors))
    assert (said.text, said.is_warning) == (line, is_bad)


def test_notes_follow() -> None:
    first, *others = summary(views((SAME,), 0, "one", "two"))
    assert first.text.startswith("all budgets met")
    assert [(n.text, n.is_warning) for n in others] == [("one", False), ("two", False)]
