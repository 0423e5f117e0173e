"""Output file and format: one rule for all commands.

The suffix of the file selects the format unless ``--output-format`` does. A suffix of an unknown
format, or of a format other than the requested one, is an error before anything runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

import click

from perfc.common.formats import fitting, misnamed
from perfc.common.whole_file import write_output

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=Callable[..., object])


class OutputFile(click.Path):
    """Output file with a suffix of one of the formats.

    Args:
        forms: keys of ``SUFFIXES``, the default first.
    """

    def __init__(self, *forms: str) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.forms = forms

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """Return the path if its suffix is of one of the formats."""
        path = cast("Path", super().convert(value, param, ctx))
        if not fitting(path, self.forms):
            self.fail(misnamed(path, self.forms), param, ctx)
        return path


def output_format(requested: str | None, output: Path | None, forms: Sequence[str]) -> str:
    """Return the requested format, else the format of the file's suffix, else the first.

    Raises:
        UsageError: the suffix is of none of them, or contradicts the requested format.
    """
    possible = forms if output is None else fitting(output, forms)
    if output is not None and (not possible or requested not in (None, *possible)):
        wanted = () if requested is None else (requested,)
        raise click.UsageError(f"--output: {misnamed(output, forms, *wanted)}")
    return requested or possible[0]


def only(ctx: click.Context, param: click.Parameter, value: Sequence[Path]) -> Path | None:
    """Return the one output file, None if there is none.

    Raises:
        BadParameter: there are several.
    """
    if len(value) > 1:
        raise click.BadParameter("one file per run: run again for another")
    return value[0] if value else None


def output_option(
    *forms: str, words: str = "Output file (default: standard output)."
) -> Callable[[C], C]:
    """Add ``-o`` to a command that writes one format or selects among ``forms`` itself."""
    file_type = OutputFile(*forms)
    return click.option("-o", "--output", type=file_type, multiple=True, callback=only, help=words)


def format_options(
    *forms: str, also: Sequence[str] = (), words: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Add ``--output-format`` and ``-o``; the function receives the format as ``form``.

    Args:
        forms: choices of ``--output-format``, the default first.
        also: further formats that only a file suffix selects.
        words: further help on the formats.
    """
    all_forms = (*forms, *also)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            requested, output = kwargs["form"], kwargs["output"]
            kwargs["form"] = output_format(
                cast("str | None", requested), cast("Path | None", output), all_forms
            )
            return function(*args, **kwargs)

        usual = f"Output format (default: from the output file's extension, else {forms[0]})."
        asking = click.option(
            "--output-format", "form", type=click.Choice(forms), help=f"{usual} {words}".strip()
        )
        return asking(output_option(*all_forms)(wrapped))

    return decorate


def result_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add the options of `format_options` to a command whose answer is a `Result`."""
    from perfc.view.answers import RESULTS

    return format_options(*RESULTS)(function)


def emit(text: str, output: Path | None, *, has_commands: bool = False) -> None:
    """Write ``text`` atomically to a file, or to standard output in its encoding.

    Control characters and CI commands in names are escaped, see ``perfc.common.plain_text``.
    """
    from perfc.common.plain_text import discard_output, shielded

    # models come from anywhere, and their names must not command a terminal or a CI system
    text = shielded(text, has_commands=has_commands)
    if output is not None:
        write_output(output, text)
        return
    from perfc.view.report.formats.text import encodable

    try:
        sys.stdout.write(encodable(text, sys.stdout.encoding or "utf-8"))
    except BrokenPipeError:
        # the reader closed the pipe; the exit code still reports the findings
        discard_output()


def deliver(content: str | bytes, output: Path | None) -> None:
    """Write an HTML page, which declares UTF-8 itself, or another file as it is."""
    if output is not None:
        write_output(output, content)
        return
    sys.stdout.flush()  # text written so far comes before the bytes
    sys.stdout.buffer.write(content if isinstance(content, bytes) else content.encode())
