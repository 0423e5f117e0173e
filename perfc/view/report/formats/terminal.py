"""Colored terminal output through rich, loaded only for terminals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TextIO

from perfc.common.plain_text import shielded

from .document import Document
from .text import Style, StyledText, lines

if TYPE_CHECKING:
    from rich.console import Console

COLORS = {
    Style.PLAIN: "",
    Style.TITLE: "bold",
    Style.HEADING: "bold cyan",
    Style.FAINT: "dim",
    Style.WARNING: "yellow",
    Style.BAR: "green",
    Style.NUMBER: "bold",
    Style.GOOD: "green",
    Style.FAIR: "yellow",
    Style.POOR: "bold red",
    # as on the page and in charts: blue for computation, green for memory
    Style.COMPUTE: "bright_blue",
    Style.TRAFFIC: "green",
    Style.WAITING: "yellow",
}

NO_ACCENTS: Mapping[str, str] = {}


def write(
    document: Document,
    stream: TextIO,
    width: int | None = None,
    accents: Mapping[str, str] | None = None,
    *,
    is_forced: bool = False,
) -> None:
    """Print a document to a terminal; dumb terminals get plain text.

    Args:
        document: document to print.
        stream: output stream.
        width: width in columns; that of the terminal by default.
        accents: styles by regular expressions of text to highlight.
        is_forced: use color even if the stream is no terminal.
    """
    console = console_of(stream, width, is_forced=is_forced)
    show(lines(document, console.width), console, accents or {})


def console_of(stream: TextIO, width: int | None, *, is_forced: bool = False) -> Console:
    """Return a rich console that wraps no lines.

    Args:
        stream: output stream.
        width: width in columns; detected by rich if None.
        is_forced: use color even if the stream is no terminal.
    """
    from rich.console import Console

    return Console(
        file=stream,
        width=width,
        highlight=False,
        soft_wrap=True,
        force_terminal=True if is_forced else None,
        color_system="standard" if is_forced else "auto",
        no_color=False if is_forced else None,  # else the variable NO_COLOR decides
    )


def show(
    shown: Iterable[tuple[StyledText, ...]],
    console: Console,
    accents: Mapping[str, str] = NO_ACCENTS,
) -> None:
    """Print lines with their colors, and highlight matches of ``accents``."""
    from rich.text import Text

    for line in shown:
        text = Text()
        for span in line:
            text.append(shielded(span.text), COLORS[span.style])
        text.rstrip()
        for pattern, style in accents.items():
            text.highlight_regex(pattern, style)
        console.print(text, no_wrap=True, crop=False)
