"""The text of a document with colour, through rich; loaded only when a person is looking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from perfc.plain_text import shielded

from .document import Document
from .text import Style, lines

COLOURS = {
    Style.PLAIN: "",
    Style.TITLE: "bold",
    Style.HEADING: "bold cyan",
    Style.FAINT: "dim",
    Style.WARNING: "yellow",
    Style.BAR: "green",
    Style.NUMBER: "bold",
}


def write(
    document: Document,
    stream: TextIO,
    width: int | None = None,
    accents: Mapping[str, str] | None = None,
) -> None:
    """Print to a terminal; ``NO_COLOR`` and dumb terminals get plain text.

    Args:
        document: what is shown.
        stream: the terminal.
        width: in columns; that of the terminal by default.
        accents: styles by regular expressions of what is to be seen first.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, width=width, highlight=False, soft_wrap=True)
    for line in lines(document, console.width):
        text = Text()
        for span in line:
            text.append(shielded(span.text), COLOURS[span.style])
        text.rstrip()
        for pattern, style in (accents or {}).items():
            text.highlight_regex(pattern, style)
        console.print(text, no_wrap=True, crop=False)
