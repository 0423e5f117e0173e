"""JSON with the schema of the result."""

from __future__ import annotations

from perfc.view.report.formats.json_form import document_text
from perfc.view.result import Result


def render(result: Result, width: int, *limits: object) -> str:
    """Return all fields as JSON."""
    layout = result.laid_out()
    data = layout.fields.data(result)
    return document_text(layout.schema, data, sort_keys=layout.is_sorted)
