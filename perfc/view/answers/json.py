"""JSON with the schema of the result."""

from __future__ import annotations

from perfc.view.report.formats.json_form import document_text
from perfc.view.result import Result


def render(result: Result, width: int) -> str:
    """Return all fields as JSON."""
    layout = result.laid_out()
    return document_text(layout.schema, layout.fields.data(result))
