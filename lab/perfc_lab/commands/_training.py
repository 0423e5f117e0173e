"""Training progress on standard error.

A bar on a terminal, lines elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from perfc.ir.record import frozen

from ._board_options import complain


@frozen
class Telling:
    """Progress callbacks of a training.

    Args:
        say: print a line.
        progress: show the completed fraction and the current task; None without a terminal.
    """

    say: Callable[[str], None]
    progress: Callable[[float, str], None] | None = None


@contextmanager
def telling() -> Iterator[Telling]:
    """Yield callbacks that print lines, and a bar below them on a terminal."""
    if not sys.stderr.isatty():
        yield Telling(complain)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:36}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("train", total=1.0)
        yield Telling(
            lambda line: console.print(line, markup=False, highlight=False),
            lambda share, what: bar.update(task, completed=share, description=what),
        )
