"""Text that neither a terminal nor the log of a pipeline takes for anything but text.

Names come from files nobody vouches for. What moves a cursor, sets a clipboard, turns the direction
of writing, begins a line or speaks to the runner of a pipeline must not leave a command.
"""

from __future__ import annotations

import os
import re

_ODD = re.compile(r"[^ -~\n]")
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
"""GitHub's runner takes a line of any program for a command where this begins it."""
_BRACKETED = re.compile(r"#(?=#\w*\[)")
"""Older commands of GitHub's, Azure's and TeamCity's runners, anywhere in a line."""


def discard_output() -> None:
    """Send standard output to the null device: its reader has seen enough, which is no failure."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def printable(text: str) -> str:
    """A name, or a line, without characters that do not print; line breaks are such."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def shielded(text: str, *, has_commands: bool = False) -> str:
    """All that a command writes, of any format but HTML and SVG.

    JSON and the text IR have escapes for what is odd, so that they come out as they went in.

    Args:
        text: whole lines.
        has_commands: whether they are for the runner of a pipeline.
    """
    text = _ODD.sub(lambda m: printable(m[0]), text)
    if not has_commands:
        text = _COMMAND.sub(r"\1: ", text)
    return _BRACKETED.sub(r"\\u0023", text)


def say(line: str, *, is_error: bool = False) -> None:
    """One line on standard output, or on standard error; a closed one is ignored there."""
    import click

    try:
        click.echo(shielded(printable(line)), err=is_error)
    except OSError:
        if not is_error:
            raise
