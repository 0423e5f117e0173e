"""Options and output of the report, separate from the command.

`show` writes the views of an analysis; the functions that begin with ``parse`` read options of it.
"""

from __future__ import annotations

import os
import shutil
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.errors import ParseError
from perfc.view.presentation import WIDTH

from .output import emit

if TYPE_CHECKING:
    from perfc.view.report import Format, Views

PIPED_WIDTH = WIDTH
"""Characters in a line of text in a pipe, unless COLUMNS is set."""


def width_of(output: Path | None = None) -> int:
    """Return the columns of the terminal; for a file as many as for a pipe."""
    # the fallback is a pair; only its number of columns is used
    return PIPED_WIDTH if output else shutil.get_terminal_size((PIPED_WIDTH, 40)).columns


def parse_values(bindings: tuple[str, ...]) -> dict[str, object]:
    """Parse ``name=1,2,3`` as a list, ``name=5`` as a number, ``name=[[1],[2]]`` as nested lists.

    Raises:
        ParseError: not ``NAME=NUMBERS``.
    """
    import json

    values: dict[str, object] = {}
    for binding in bindings:
        name, equals, text = binding.partition("=")
        body = text.strip().rstrip(",")
        # a comma at the end makes a list of one number
        is_list = "," in text and not body.startswith("[")
        try:
            value = json.loads(f"[{body}]" if is_list else body)
        except (ValueError, RecursionError):
            value = None
        if not equals or not name.strip() or not isinstance(value, int | float | list):
            hint = "as in shape=1,3,224,224 or scale=0.5 or grid=[[1,2],[3,4]]"
            raise ParseError(f"{binding!r} is not NAME=NUMBERS", where="--value", hint=hint)
        values[name.strip()] = value
    return values


class Unset(Enum):
    """Marker for an option that is not given."""

    TOP = "top"


UNSET = Unset.TOP
"""Value of ``--top`` if it is not given; None stands for all kernels."""


def parse_top(text: str) -> int | None:
    """Parse a number of kernels; None for ``all``.

    Raises:
        ParseError: neither a number nor ``all``.
    """
    if text == "all":
        return None
    # nine digits are more kernels than any model has
    if not text.isdecimal() or len(text) > 9:
        raise ParseError(f"{text!r} is neither a number nor 'all'", where="--top")
    return int(text)


def parse_views(texts: tuple[str, ...], *, full: bool, everything: bool) -> tuple[str, ...]:
    """Parse the names of views; empty for the summary.

    Raises:
        ParseError: an unknown view.
    """
    from perfc.view.report import DEFAULT, NAMES

    if everything:
        return NAMES
    names = [n.strip() for text in texts for n in text.split(",") if n.strip()]
    for name in names:
        if name not in NAMES:
            hint = f"there are {', '.join(NAMES)}"
            raise ParseError(f"no view {name!r}", where="--view", hint=hint)
    return tuple(names) or (DEFAULT if full else ())


class Color(Enum):
    """Modes of ``--color``."""

    AUTO = "auto"
    """Color if standard output is a terminal, unless ``NO_COLOR`` is set."""
    ALWAYS = "always"
    NEVER = "never"


COLOR = "perfc.color"
"""Key of click's context with the value of ``--color``."""


def _keep_color(context: click.Context, _option: click.Parameter, value: str) -> None:
    """Store the mode in the context, so that no function has to pass it on."""
    context.meta[COLOR] = Color(value)


color_option = click.option(
    "--color",
    type=click.Choice([c.value for c in Color]),
    default=Color.AUTO.value,
    show_default=True,
    expose_value=False,
    callback=_keep_color,
    help="Colored text; auto means in a terminal unless NO_COLOR is set.",
)


def show(
    views: Views,
    form: Format,
    shown: tuple[str, ...],
    top: int | Unset | None,
    output: Path | None,
) -> None:
    """Write the report of one model to ``output`` or to standard output.

    Args:
        views: views of the report.
        form: output format.
        shown: names of views; without any, text is the summary and other formats use their default.
        top: number of kinds of kernels; None for all, ``UNSET`` for the default of the screen or
            view.
        output: output file; None for standard output.
    """
    from perfc.view.report import DEFAULT, TOP, document, written
    from perfc.view.report.formats import screen
    from perfc.view.report.formats.text import lines

    # text without named views is the summary on one screen
    is_screen = form.value == "text" and not shown
    width = width_of(output)
    # the screen has kinds of kernels only if they are wanted, the view of kernels always
    kinds = 0 if isinstance(top, Unset) else top
    rows = TOP if isinstance(top, Unset) else top
    if output is None and form.value == "text" and is_colorful():
        from perfc.view.report.formats import terminal

        console = terminal.console_of(sys.stdout, width, is_forced=color() is Color.ALWAYS)
        document_lines = lines(document(views, shown, rows), width)
        terminal.show(screen.lines(views, width, kinds) if is_screen else document_lines, console)
        return
    if is_screen:
        emit(screen.render(views, width, kinds), output)
        return
    emit(written(views, form, shown or DEFAULT, rows, width), output)


def color() -> Color:
    """Return the value of ``--color``, or auto if the command has none."""
    context = click.get_current_context(silent=True)
    mode = context.meta.get(COLOR, Color.AUTO) if context is not None else Color.AUTO
    assert isinstance(mode, Color)
    return mode


def is_colorful() -> bool:
    """Return True if standard output is colored."""
    if color() is not Color.AUTO:
        return color() is Color.ALWAYS
    # conventions of terminals: any value of NO_COLOR turns colors off
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain
