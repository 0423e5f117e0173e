"""HTML page of a document without charts."""

from __future__ import annotations

from perfc.view.report.formats.document import Document

from .page import chart_page

SCRIPTS = ("format", "theme", "ready")


def document_page(document: Document) -> str:
    """Return the document as self-contained HTML."""
    # scripts of all pages read the list of reports, which is empty without charts
    return chart_page(document, [], {"reports": []}, SCRIPTS)
