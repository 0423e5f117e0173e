"""Notebook output: the lines of a terminal with their colors, as HTML without script."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from perfc.common.plain_text import printable

from .screen_tables import Line
from .text import Style

STYLE = Path(__file__).with_suffix(".css")


def render(lines: Iterable[Line]) -> str:
    """Return lines as self-contained HTML; names from files are escaped."""
    style = STYLE.read_text(encoding="utf-8")
    body = "\n".join("".join(span(s.text, s.style) for s in line).rstrip() for line in lines)
    return f'<div class="perfc"><style>{style}</style><pre>{body}</pre></div>'


def span(text: str, style: Style) -> str:
    """Return text in the color of its style."""
    text = escape(printable(text))
    return text if style is Style.PLAIN else f'<b class="{style.value}">{text}</b>'
