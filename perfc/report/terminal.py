"""The text of a document with colour, through rich; loaded only when a person is looking."""

from __future__ import annotations

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


def write(document: Document, stream: TextIO, width: int | None = None) -> None:
    """Print to a terminal; ``NO_COLOR`` and dumb terminals get plain text."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, width=width, highlight=False, soft_wrap=True)
    for line in lines(document, console.width):
        text = Text()
        for span in line:
            text.append(shielded(span.text), COLOURS[span.style])
        text.rstrip()
        console.print(text, no_wrap=True, crop=False)
