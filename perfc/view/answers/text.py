"""Text of a fixed width; terminals add color."""

from __future__ import annotations

from perfc.view.report.formats import text
from perfc.view.result import Result


def render(result: Result, width: int, *limits: object) -> str:
    """Return the document as text."""
    return text.render(result.document(*limits), width)
