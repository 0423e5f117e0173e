"""A document of tables as one page, without charts."""

from __future__ import annotations

from perfc.report.document import Document

from .blocks import section_block
from .page import chart_page

SCRIPTS = ("format", "theme", "ready")


def document_page(document: Document) -> str:
    """The document as HTML without any reference to the outside."""
    sections = [section_block(s) for s in document.sections]
    return chart_page(document.title, [], sections, {"reports": []}, SCRIPTS)
