"""Bars on a terminal: what they count, and that nothing is drawn elsewhere or afterwards."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest

from perfc.commands.shared import progress as _progress
from perfc.commands.shared.progress import PASSES, ProgressBar
from perfc_lab.commands._training import telling


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Timer:
    """Starts nothing by itself."""

    def __init__(self, delay_s: float, call: object) -> None:
        self.delay_s, self.call = delay_s, call
        self.daemon = self.is_started = self.is_cancelled = False

    def start(self) -> None:
        self.is_started = True

    def cancel(self) -> None:
        self.is_cancelled = True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error from here on; pytest puts its own there before each test begins."""
    result = Terminal()
    monkeypatch.setattr(sys, "stderr", result)
    monkeypatch.setattr(_progress.threading, "Timer", Timer)
    return result


def step(name: str, *, is_cached: bool = False) -> Any:
    return SimpleNamespace(name=name, is_cached=is_cached)


def test_a_bar_follows_the_passes_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch)
    with ProgressBar() as progress:
        timer = cast(Timer, progress.timer)
        assert (timer.delay_s, timer.is_started, timer.daemon) == (1.0, True, True)
        assert timer.call == progress.start
        progress.after(step("load"))
        progress.after(step("canonicalize", is_cached=True))
        progress.after(step("nothing of these"))
        assert (progress.done, progress.now) == (1, "shapes")
        progress.start()
        assert progress.bar is not None
        (task,) = progress.bar.tasks
        assert (task.completed, task.total, task.description) == (1, len(PASSES), "shapes")
        progress.after(step("cost"))
        assert (task.completed, task.description) == (4, "fuse")
        # a pass that runs once more takes nothing back
        progress.after(step("shapes"))
        assert (task.completed, task.description) == (4, "fuse")
        progress.after(step("report"))
        assert (task.completed, task.description) == (8, "report")
    assert timer.is_cancelled
    assert progress.bar.live.is_started is False


def test_work_that_is_over_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = terminal(monkeypatch)
    with ProgressBar() as progress:
        pass
    progress.start()
    assert progress.bar is None
    assert drawn.getvalue() == ""


def test_a_file_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with ProgressBar() as progress:
        assert progress.timer is None


def test_a_training_tells_lines_and_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = terminal(monkeypatch)
    with telling() as to:
        to.say("[b]fold[/b] 1")
        assert to.progress is not None
        to.progress(0.25, "rows")
    assert "[b]fold[/b] 1" in drawn.getvalue()
    with telling() as to:
        assert to.progress is not None
        bar = to.progress.__closure__[0].cell_contents  # type: ignore[attr-defined]
        to.progress(0.25, "rows")
        (task,) = bar.tasks
        assert (task.completed, task.total, task.description) == (0.25, 1.0, "rows")
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    with telling() as to:
        assert to.progress is None
        to.say("fold 2")
    assert plain.getvalue() == "fold 2\n"
