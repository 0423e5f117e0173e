"""Progress on a terminal's standard error.

`ProgressBar` follows the passes of an analysis, `ProgressLine` counts items, `reading` the bytes of
a profile.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from perfc.common import whole_file

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from perfc.passes.manager import PassStep

DELAY_S = 1.0
"""Minimum duration before the bar is shown."""
LARGE_BYTES = 8 << 20
"""Minimum size of a profile for its reading to show progress; smaller ones take a moment."""
LISTENERS: list[Callable[[str], None]] = []
"""Functions that are called with the name of each pass when it has finished."""
PASSES = ("load", "shapes", "canonicalize", "cost", "fuse", "roofline", "liveness", "report")
"""Passes of an analysis in order; a bar of a known length needs them before they run."""


class ProgressBar:
    """Pass instrument that draws a progress bar from a thread after ``DELAY_S``."""

    def __init__(self) -> None:
        self.done = 0
        self.bar: Bar | None = None
        # guards the bar, which the timer's thread creates
        self.lock = threading.Lock()
        self.is_over = False
        self.timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self.timer = threading.Timer(DELAY_S, self.start)
            self.timer.daemon = True
            self.timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.timer is not None:
            self.timer.cancel()
        with self.lock:
            self.is_over = True
            if self.bar is not None:
                self.bar.stop()

    def after(self, step: PassStep) -> None:
        """Record that a pass has finished and the next one is running."""
        if step.is_cached or step.name not in PASSES:
            return
        # a pass may run again for another module of the analysis: the bar never goes back
        self.done = max(self.done, PASSES.index(step.name) + 1)
        for listener in LISTENERS:
            listener(self.now)
        with self.lock:
            if self.bar is not None:
                self.bar.update(self.bar.task_ids[0], completed=self.done, description=self.now)

    @property
    def now(self) -> str:
        """Return the name of the running pass."""
        return PASSES[min(self.done, len(PASSES) - 1)]

    def start(self) -> None:
        """Draw the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description:12}"), BarColumn(), TimeElapsedColumn())
        with self.lock:
            # the timer may fire while the analysis ends
            if self.is_over:
                return
            bar = Progress(*columns, console=Console(stderr=True), transient=True)
            bar.add_task(self.now, total=len(PASSES), completed=self.done)
            bar.start()
            self.bar = bar


class ProgressLine:
    """Progress on a terminal's standard error, with an estimate of the remaining time."""

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        console = Console(stderr=True)
        self.bar = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("", total=None)
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def show(self, done: int, total: int) -> None:
        """Show the number of finished items and of all."""
        self.bar.update(self.task, completed=done, total=total)


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Draw the progress of reading a profile of `LARGE_BYTES` or more, in MiB."""
    file = Path(path)
    if not file.is_file() or file.stat().st_size < LARGE_BYTES:
        yield
        return

    def show(done: int, total: int) -> None:
        line.show(done >> 20, total >> 20)

    with ProgressLine() as line:
        whole_file.LISTENERS.append(show)
        try:
            yield
        finally:
            whole_file.LISTENERS.remove(show)
