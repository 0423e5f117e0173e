"""Bars on a terminal: what they count, and that nothing is drawn elsewhere or afterwards."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfc import cli

RESNET = str(Path(__file__).parents[2] / "examples/models/resnet50.onnx.gz")
PASSES = ["load", "shapes", "canonicalize", "cost", "fuse", "roofline", "liveness", "report"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Timers that were made; one begins its call when it is started, if it ``is_due``."""
    made: list[Any] = []

    class Timer:
        is_due = True

        def __init__(self, delay_s: float, call: Callable[[], None]) -> None:
            assert 0.5 <= delay_s <= 2
            self.call, self.daemon, self.is_cancelled = call, False, False
            made.append(self)

        def start(self) -> None:
            assert self.daemon, "the process does not wait for it"
            if self.is_due:
                self.call()

        def cancel(self) -> None:
            self.is_cancelled = True

    monkeypatch.setattr("threading.Timer", Timer)
    return made


def test_a_bar_follows_the_passes_that_run(
    timers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, updates, stopped = Terminal(), list[Any](), list[Any]()
    monkeypatch.setattr(sys, "stderr", drawn)
    monkeypatch.setattr(
        "rich.progress.Progress.update", lambda bar, task, **told: updates.append(told)
    )
    monkeypatch.setattr("rich.progress.Progress.stop", lambda bar: stopped.append(bar))
    monkeypatch.setattr("rich.progress.Progress.start", lambda bar: None)
    # a file that no run of this process has read
    assert cli.run(["analyze", RESNET, "--dtype", "f16", "--batch", "3"]) == 0
    done = [told["completed"] for told in updates]
    assert done == sorted(done)
    assert done[-1] == PASSES.index("report")
    for told in updates:
        assert told["description"] == PASSES[min(told["completed"], len(PASSES) - 1)]
    assert [timer.is_cancelled for timer in timers] == [True]
    ((task,),) = (bar.tasks for bar in stopped)
    assert (task.total, task.description) == (len(PASSES), "load")
    assert all(bar.console.stderr for bar in stopped)


def test_work_that_is_over_and_files_draw_nothing(
    timers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream, count in ((Terminal(), 1), (io.StringIO(), 1)):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr("threading.Timer.is_due", False)
        assert cli.run(["analyze", RESNET]) == 0
        assert len(timers) == count
        timers[0].call()
        assert stream.getvalue() == ""
