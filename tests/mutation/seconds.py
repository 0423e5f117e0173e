"""A plug-in of pytest: how long each test took, in a file of JSON that a variable names."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from .tests_of import TAKEN

TAKEN_S: Counter[str] = Counter()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count a test's call; what is set up once for many tests is no test's."""
    if report.when == "call":
        TAKEN_S[report.nodeid] += report.duration


def pytest_sessionfinish() -> None:
    """Write what was counted."""
    taken_s = {name: round(time_s, 4) for name, time_s in TAKEN_S.items()}
    Path(os.environ[TAKEN]).write_text(json.dumps(taken_s), encoding="utf-8")
