"""Escape text for terminals and CI logs.

Names come from untrusted files. Characters that move a cursor, set a clipboard, change the writing
direction, begin a line or form commands of a CI runner must not be printed.
"""

from __future__ import annotations

import os
import re

_ODD = re.compile(r"[^ -~\n]")
"""Characters that a terminal may interpret as a command or not display."""
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
"""Beginning of a line that GitHub's runner interprets as a command (``::error``)."""
_BRACKETED = re.compile(r"#(?=#\w*\[)")
"""Older commands of the GitHub, Azure and TeamCity runners, anywhere in a line."""


def discard_output() -> None:
    """Redirect standard output to the null device after its reader closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def printable(text: str) -> str:
    """Escape non-printing characters, including line breaks, in a name or line."""
    # most texts: the loop over characters is slower
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def shielded(text: str, *, has_commands: bool = False) -> str:
    """Escape the output of a command in any format except HTML and SVG.

    JSON and the text IR escape such characters themselves and pass unchanged.

    Args:
        text: whole lines.
        has_commands: True if the lines are commands for a CI runner.
    """
    # printable letters of other scripts stay
    text = _ODD.sub(lambda m: printable(m[0]), text)
    if not has_commands:
        text = _COMMAND.sub(r"\1: ", text)
    # the escape of ``#`` in JSON: values of documents stay what they are
    return _BRACKETED.sub(r"\\u0023", text)


def say(line: str, *, is_error: bool = False) -> None:
    """Print one line to standard output, or to standard error, where a failed write is ignored."""
    import click

    try:
        click.echo(shielded(printable(line)), err=is_error)
    except OSError:
        # nobody reads the message, and the exit status still shows the error
        if not is_error:
            raise
