"""Write results of commands, other than the report of one analysis, in the requested format.

`show_view` is for results with JSON and CSV, `show_result` for those without CSV.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from perfc.common.plain_text import say

from .output import deliver, emit
from .report import Colour, colour, is_colourful, width_of

if TYPE_CHECKING:
    from perfc.view.report.formats.document import Document
    from perfc.view.result import Result

T = TypeVar("T")


def present(result: Result, form: str, output: Path | None) -> None:
    """Write a result in a format; text on a terminal has color."""
    if form == "text" and output is None and is_colourful():
        show_document(result.document(), form, output)
        return
    from perfc.view.result import PAGE, written

    content = written(result, form, width_of(output))
    (deliver if form == PAGE else emit)(content, output)
    for note in result.notes if form == "csv" else ():
        say(f"note: {note}", is_error=True)


def show_document(
    document: Document, form: str, output: Path | None, accents: Mapping[str, str] | None = None
) -> None:
    """Write a document as ``text``, ``markdown`` or ``html``, with color on terminals.

    ``accents`` maps regular expressions to the styles that highlight their matches.
    """
    if form == "html":
        from perfc.view.html.document_page import document_page

        deliver(document_page(document), output)
        return
    if form == "markdown":
        from perfc.view.report.formats import markdown

        emit(markdown.render(document), output)
        return
    from perfc.view.report.formats import terminal, text

    # a terminal says which colors it has; a pipe has none, so that ``always`` forces them
    if output is None and is_colourful():
        is_forced = colour() is Colour.ALWAYS
        terminal.write(document, sys.stdout, width_of(), accents, is_forced=is_forced)
    else:
        emit(text.render(document, width_of(output)), output)


def show_result(
    schema: str, view: object, document: Document, form: str, output: Path | None
) -> None:
    """Write a view as ``json``, or its document as ``html``, ``text`` or ``markdown``."""
    if form == "json":
        from perfc.view.report.formats.json_form import document_text

        emit(document_text(schema, view), output)
    else:
        show_document(document, form, output)


def show_view(
    form: str,
    output: Path | None,
    view: T,
    to_json: Callable[[T], str],
    to_csv: Callable[[T], str],
    document: Callable[..., Document],
    *limits: int | None,
    notes: Sequence[str] = (),
) -> None:
    """Write a result as ``json``, ``csv``, ``text`` or ``markdown``; only this form is computed.

    Args:
        form: name of the form.
        output: file; None for standard output.
        view: the result.
        to_json: returns the result as JSON.
        to_csv: returns the result as CSV.
        document: returns the result as a document.
        limits: maximum rows of the document; nothing for a command without ``--top``.
        notes: notes of the document; CSV has no place for them, so that they then go to standard
            error.
    """
    match form:
        case "json":
            emit(to_json(view), output)
        case "csv":
            emit(to_csv(view), output)
            for note in notes:
                say(f"note: {note}", is_error=True)
        case _:
            show_document(document(view, *limits), form, output)
