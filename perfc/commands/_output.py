"""Where a command writes, and in which format: one rule for all commands.

The suffix of the file says the format where ``--output-format`` does not. A suffix of no format
that the command writes, or of another than the one asked for, is an error before anything runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import click
from click.core import ParameterSource

from perfc.formats import fitting, misnamed
from perfc.whole_file import write_output

if TYPE_CHECKING:
    import os

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=Callable[..., object])


class OutputFile(click.Path):
    """A file that is written in one of some formats.

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
        """The path, where its suffix is of one of the formats."""
        path = cast("Path", super().convert(value, param, ctx))
        if not fitting(path, self.forms):
            self.fail(misnamed(path, self.forms), param, ctx)
        return path


def output_format(asked: str | None, output: Path | None, forms: Sequence[str]) -> str:
    """The format asked for, else the one of the file's name, else the first.

    Raises:
        UsageError: the name is of none of them, or of another than the one asked for.
    """
    possible = forms if output is None else fitting(output, forms)
    if output is not None and (not possible or asked not in (None, *possible)):
        wanted = () if asked is None else (asked,)
        raise click.UsageError(f"--output: {misnamed(output, forms, *wanted)}")
    return asked or possible[0]


def output_option(
    *forms: str, words: str = "Output file (default: standard output)."
) -> Callable[[C], C]:
    """Add ``-o`` to a command that writes one format, or chooses among ``forms`` by itself."""
    return click.option("-o", "--output", type=OutputFile(*forms), help=words)


def format_options(
    *forms: str, also: Sequence[str] = (), words: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Add ``--output-format`` and ``-o``; the function gets ``form``, one of both lists.

    Args:
        forms: what ``--output-format`` offers, the default first.
        also: further formats that only a file's name asks for.
        words: said of the formats in the help.
    """
    every = (*forms, *also)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            asked, output = kwargs["form"], kwargs["output"]
            kwargs["form"] = output_format(
                cast("str | None", asked), cast("Path | None", output), every
            )
            return function(*args, **kwargs)

        usual = f"Output format (default: from the output file's extension, else {forms[0]})."
        asking = click.option(
            "--output-format", "form", type=click.Choice(forms), help=f"{usual} {words}".strip()
        )
        return asking(output_option(*every)(wrapped))

    return decorate


def emit(text: str, output: Path | None, *, has_commands: bool = False) -> None:
    """Write ``text`` to a file in one step, or to standard output in the characters it has.

    Names in it cannot speak to a terminal or to a pipeline, see ``perfc.plain_text``.
    """
    from perfc.plain_text import discard_output, shielded

    text = shielded(text, has_commands=has_commands)
    if output is not None:
        write_output(output, text)
        return
    from perfc.report.text import encodable

    try:
        sys.stdout.write(encodable(text, sys.stdout.encoding or "utf-8"))
    except BrokenPipeError:
        # the reader has seen enough; what the command found still decides its exit code
        discard_output()


def written_by(ctx: click.Context) -> str:
    """The sentence of a page that says which command wrote it, and when.

    Folders of this machine stand as ``DIR``.
    """
    import shlex
    from datetime import date

    words = [ctx.command_path]
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            words += _spelled(parameter, ctx.params[name])
    line = " ".join([words[0], *map(shlex.quote, words[1:])])
    return f"`{line}` wrote this page on {date.today()}."


def _spelled(parameter: click.Parameter, value: object) -> list[str]:
    """A parameter as it is typed."""
    many = parameter.multiple or parameter.nargs == -1
    values = list(cast("Sequence[object]", value)) if many else [value]
    is_folder = isinstance(parameter.type, click.Path) and not parameter.type.file_okay
    shown = [_portable(v, is_folder=is_folder) if isinstance(v, Path) else str(v) for v in values]
    if isinstance(parameter, click.Argument):
        return shown
    option = min(parameter.opts, key=len) if "-o" in parameter.opts else parameter.opts[0]
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return [option]
    return [word for v in shown for word in (option, v)]


def _portable(path: Path, *, is_folder: bool) -> str:
    """A path as others may read it: nothing outside of the folder worked in."""
    if is_folder:
        return "DIR"
    return path.name if path.is_absolute() or ".." in path.parts else path.as_posix()


def deliver(content: str, output: Path | None) -> None:
    """Write a page, which says itself that it is UTF-8."""
    if output is not None:
        write_output(output, content)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(content.encode())
