"""Self-contained HTML, with charts if the result has them."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name

from perfc.view.report.formats.document import Document
from perfc.view.result import Result


def render(result: Result, document: Callable[[], Document], width: int) -> str:
    """Return the page of the result."""
    if page := result.laid_out().page:
        text: str = resolve_name(page)(result)
        return text
    from perfc.view.html.document_page import document_page

    return document_page(document())
