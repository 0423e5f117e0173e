"""CSV of the rows, in SI units."""

from __future__ import annotations

from perfc.view.report.formats import comma
from perfc.view.result import Result


def render(result: Result, width: int, *limits: object) -> str:
    """Return the rows under the names of their fields."""
    return comma.records(*result.laid_out().records(result))
