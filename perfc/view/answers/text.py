"""Text of a fixed width; terminals add color."""

from __future__ import annotations

from collections.abc import Callable

from perfc.view.report.formats import text
from perfc.view.report.formats.document import Document
from perfc.view.result import Result


def render(result: Result, document: Callable[[], Document], width: int) -> str:
    """Return the document as text."""
    return text.render(document(), width)
