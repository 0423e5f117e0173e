"""Spreadsheet of the rows, in SI units, and of the notes."""

from __future__ import annotations

import io

from perfc.common.extras import required
from perfc.view.report.formats import comma
from perfc.view.result import Result


def render(result: Result, width: int, *limits: object) -> bytes:
    """Return the rows under the names of their fields.

    Raises:
        MissingExtraError: openpyxl is not installed.
    """
    header, rows = result.laid_out().records(result)
    book = required("openpyxl", "a spreadsheet needs openpyxl", "xlsx").Workbook(write_only=True)
    for name, lines in {"rows": (header, *rows), "notes": [[n] for n in result.notes]}.items():
        if lines:
            sheet = book.create_sheet(name)
            sheet.freeze_panes = "A2" if lines[0] is header else None
            for line in lines:
                sheet.append([v if isinstance(v, bool) else comma.plain(v) for v in line])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()
