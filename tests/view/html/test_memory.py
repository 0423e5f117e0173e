"""Pages made one after another leave nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MODEL = Path(__file__).parents[3] / "examples" / "models" / "resnet50.onnx.gz"
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


def test_a_page_is_forgotten_without_being_told() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PAGES, str(MODEL)], capture_output=True, text=True, check=True
    )
    # nobody calls the collector: a process that serves pages does not either
    assert list(map(int, done.stdout.split())) == [1] * 3
