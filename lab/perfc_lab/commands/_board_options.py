"""Options of commands that train many networks and write a page of results.

Commands of `perfc data`, `perfc train` and `perfc eval` share them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from perfc.common.plain_text import say

C = TypeVar("C", bound=Callable[..., Any])
tables_option = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    required=True,
    help="Folder of measured tables, written by `perfc data fetch`.",
)
graphs_option = click.option(
    "--graphs",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    required=True,
    help="Folder of data sets, written by `perfc data build`.",
)


def complain(line: str) -> None:
    """Print a line to standard error."""
    say(line, is_error=True)


def folder_option(default: str | None, described: str) -> Callable[[C], C]:
    """Return the option of the folder that results are written to."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path, file_okay=False),
        default=default,
        show_default=True,
        help=described,
    )


def board_options(folder: str, processes: int) -> Callable[[C], C]:
    """Add the options: seeds, parallel trainings, folders of the page and the results.

    Args:
        folder: default folder of the page.
        processes: default number of parallel trainings.
    """
    options = (
        click.option(
            "--seed",
            "seeds",
            multiple=True,
            type=int,
            help="Random seed; repeatable (default: three seeds).",
        ),
        click.option(
            "--processes",
            type=click.IntRange(1, 256),
            default=processes,
            show_default=True,
            help="Parallel trainings, one core each.",
        ),
        click.option(
            "--page-only", is_flag=True, help="Train nothing; write the page from existing results."
        ),
        folder_option(folder, "Folder of the page and its charts."),
        click.option(
            "--results",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder for results (default: `results` next to the page).",
        ),
    )

    def add(function: C) -> C:
        # click lists the option that decorates last first
        for option in reversed(options):
            function = option(function)
        return function

    return add


def written_by(ctx: click.Context) -> str:
    """Return the sentence that says which command wrote a page, and when.

    Local folders are printed as ``DIR``.
    """
    import shlex
    from datetime import date

    words = [ctx.command_path]
    # options that were typed, in the order of their declaration
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            words += _spelled(parameter, ctx.params[name])
    line = " ".join([words[0], *map(shlex.quote, words[1:])])
    return f"`{line}` wrote this page on {date.today()}."


def _spelled(parameter: click.Parameter, value: object) -> list[str]:
    """Return the words of a parameter on the command line."""
    values = value if isinstance(value, tuple) else (value,)
    is_folder = isinstance(parameter.type, click.Path) and not parameter.type.file_okay
    shown = [_portable(v, is_folder=is_folder) if isinstance(v, Path) else str(v) for v in values]
    if isinstance(parameter, click.Argument):
        return shown
    # long names, but for -o
    option = min(parameter.opts, key=len) if "-o" in parameter.opts else parameter.opts[0]
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return [option]
    return [word for v in shown for word in (option, v)]


def _portable(path: Path, *, is_folder: bool) -> str:
    """Return a path without folders outside of the working directory."""
    if is_folder:
        return "DIR"
    return path.name if path.is_absolute() or ".." in path.parts else path.as_posix()
