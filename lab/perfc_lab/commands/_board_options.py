"""Options of commands that train many networks and write a page of results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

C = TypeVar("C", bound=Callable[..., Any])


def board_options(folder: str, processes: int, content: str) -> Callable[[C], C]:
    """Add the options: seeds, parallel trainings, folders of the page and the results.

    Args:
        folder: default folder of the page.
        processes: default number of parallel trainings.
        content: name of what is written to the folder, for help.
    """
    options = (
        click.option(
            "--seed", "seeds", multiple=True, type=int,
            help="Random seed; repeatable (default: three seeds).",
        ),
        click.option(
            "--processes", type=click.IntRange(1, 256), default=processes, show_default=True,
            help="Parallel trainings, one core each.",
        ),
        click.option(
            "--page-only", is_flag=True, help="Train nothing; write the page from existing results."
        ),
        click.option(
            "-o", "--output", type=click.Path(path_type=Path, file_okay=False),
            default=Path(folder), show_default=True, help=f"Folder of {content}.",
        ),
        click.option(
            "--results", type=click.Path(path_type=Path, file_okay=False),
            help="Folder for results (default: `results` next to the page).",
        ),
    )  # fmt: skip

    def add(function: C) -> C:
        for option in reversed(options):
            function = option(function)
        return function

    return add
