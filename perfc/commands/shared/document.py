"""Write results of commands, other than the report of one analysis, in the requested format."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from perfc.common.plain_text import say

from .output import deliver, emit
from .report import Color, color, is_colorful, width_of

if TYPE_CHECKING:
    from perfc.view.report.formats.document import Document
    from perfc.view.result import Result

T = TypeVar("T")


def present(
    result: Result,
    form: str,
    output: Path | None,
    *limits: Any,
    accents: Mapping[str, str] | None = None,
) -> None:
    """Write a result in a format; text on a terminal has color.

    Args:
        result: the result.
        form: name of the format.
        output: file; None for standard output.
        limits: limits of the rows of its document.
        accents: styles of matches of regular expressions on a terminal.
    """
    if form == "text" and output is None and is_colorful():
        show_document(result.document(*limits), form, output, accents)
        return
    from perfc.view.result import content

    whole = content(result, form, width_of(output), *limits)
    if isinstance(whole, str):
        emit(whole, output)
    else:
        deliver(whole, output)
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
    if output is None and is_colorful():
        is_forced = color() is Color.ALWAYS
        terminal.write(document, sys.stdout, width_of(), accents, is_forced=is_forced)
    else:
        emit(text.render(document, width_of(output)), output)
