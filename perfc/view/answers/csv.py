"""CSV of the rows, in SI units."""

from __future__ import annotations

from collections.abc import Callable

from perfc.view.report.formats import comma
from perfc.view.report.formats.document import Document
from perfc.view.result import Result


def render(result: Result, document: Callable[[], Document], width: int) -> str:
    """Return the rows under the names of their fields."""
    return comma.records(*result.laid_out().records(result))
