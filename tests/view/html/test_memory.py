"""Pages made one after another leave nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.commands.invocations import write_model

PAGES = """
import gc, sys
import perfc
from perfc.view.html import page
from perfc.view.report import collect
for _ in range(3):
    report = perfc.analyze(sys.argv[1], "a100")
    page(report, collect(report))
    print(sum(type(x).__name__ == "Environment" for x in gc.get_objects()))
"""


def test_a_page_is_forgotten_without_being_told(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx")
    run = [sys.executable, "-c", PAGES, str(tmp_path / "model.onnx")]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    # nobody calls the collector: a process that serves pages does not either
    assert list(map(int, done.stdout.split())) == [1] * 3
