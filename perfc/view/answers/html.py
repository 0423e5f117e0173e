"""Self-contained HTML, with charts if the result has them."""

from __future__ import annotations

from pkgutil import resolve_name

from perfc.view.result import Result


def render(result: Result, width: int, *limits: object) -> bytes:
    """Return the page of the result."""
    if page := result.laid_out().page:
        text: str = resolve_name(page)(result)
        return text.encode()
    from perfc.view.html.document_page import document_page

    return document_page(result.document(*limits)).encode()
