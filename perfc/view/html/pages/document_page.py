"""HTML page of a document without charts."""

from __future__ import annotations

from perfc.view.report.formats.document import Document

from ..blocks import section_block
from ..page import chart_page

SCRIPTS = ("format", "theme", "ready")


def document_page(document: Document) -> str:
    """Return the document as self-contained HTML."""
    sections = [section_block(s) for s in document.sections]
    return chart_page(document.title, [], sections, {"reports": []}, SCRIPTS)
