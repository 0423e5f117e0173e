"""Options and output of the report, apart from the command that parses them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.errors import ParseError

from ._output import emit

if TYPE_CHECKING:
    from perfc.report import Format, Views

PIPED_WIDTH = 120
"""Columns of text that no terminal shows, unless COLUMNS says otherwise."""


def parse_values(bindings: tuple[str, ...]) -> dict[str, object]:
    """``name=1,2,3`` as a list, ``name=5`` as a number, ``name=[[1,2],[3,4]]`` as nested lists.

    Raises:
        ParseError: not ``NAME=NUMBERS``.
    """
    import json

    found: dict[str, object] = {}
    for binding in bindings:
        name, equals, text = binding.partition("=")
        body = text.strip().rstrip(",")
        is_list = "," in text and not body.startswith("[")
        try:
            value = json.loads(f"[{body}]" if is_list else body)
        except (ValueError, RecursionError):
            value = None
        if not equals or not name.strip() or not isinstance(value, int | float | list):
            hint = "as in shape=1,3,224,224 or scale=0.5 or grid=[[1,2],[3,4]]"
            raise ParseError(f"{binding!r} is not NAME=NUMBERS", where="--value", hint=hint)
        found[name.strip()] = value
    return found


def parse_top(text: str) -> int | None:
    """A number of kernels; None for ``all``.

    Raises:
        ParseError: neither.
    """
    if text == "all":
        return None
    if not text.isdecimal() or len(text) > 9:
        raise ParseError(f"{text!r} is neither a number nor 'all'", where="--top")
    return int(text)


def parse_views(texts: tuple[str, ...], *, everything: bool) -> tuple[str, ...]:
    """Names of views, the default ones where nothing is asked for.

    Raises:
        ParseError: no such view.
    """
    from perfc.report import DEFAULT, NAMES

    if everything:
        return NAMES
    asked = [n.strip() for text in texts for n in text.split(",") if n.strip()]
    for name in asked:
        if name not in NAMES:
            hint = f"there are {', '.join(NAMES)}"
            raise ParseError(f"no view {name!r}", where="--view", hint=hint)
    return tuple(asked) or DEFAULT


def show(
    views: Views, form: Format, shown: tuple[str, ...], top: int | None, output: Path | None
) -> None:
    """Write the report to ``output``, or to standard output as it can show it."""
    from perfc.report import document, written

    width = shutil.get_terminal_size((PIPED_WIDTH, 40)).columns
    if output is None and form.value == "text" and is_colourful():
        from perfc.report import terminal

        terminal.write(document(views, shown, top), sys.stdout, width)
        return
    emit(written(views, form, shown, top, width if output is None else PIPED_WIDTH), output)


def is_colourful() -> bool:
    """Whether standard output is a terminal whose user has nothing against colour."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain
