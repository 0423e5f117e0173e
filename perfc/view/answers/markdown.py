"""Markdown."""

from __future__ import annotations

from perfc.view.report.formats import markdown
from perfc.view.result import Result


def render(result: Result, width: int, *limits: object) -> str:
    """Return the document as Markdown."""
    return markdown.render(result.document(*limits))
