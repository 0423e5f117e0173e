"""Budgets of commands in instructions, which do not depend on the load of the machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

VALGRIND = shutil.which("valgrind") or ""
MODEL = "examples/models/resnet50.onnx.gz"
BUDGETS = {
    "--help": 250e6,
    f"analyze {MODEL} -t a100 -q --no-predict": 980e6,
    f"analyze {MODEL} -t a100 -q": 2_200e6,
}
"""Instructions of the whole process with byte code: 15 % above 217, 852 and 1,909 million, as
other builds of Python and NumPy differ."""
LIMIT_S = 300.0


@pytest.mark.skipif(not VALGRIND, reason="needs valgrind")
@pytest.mark.parametrize(
    "line",
    [pytest.param(line, marks=[pytest.mark.long] if "analyze" in line else []) for line in BUDGETS],
)
def test_a_command_stays_within_its_instructions(line: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "perfc", *line.split()]
    # the first run writes byte code
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=LIMIT_S)
    tool = [VALGRIND, "--tool=callgrind", f"--callgrind-out-file={os.devnull}"]
    counted = subprocess.run(
        [*tool, *command],
        env=environment,
        check=True,
        capture_output=True,
        timeout=LIMIT_S,
        text=True,
    )
    match = re.search(r"Collected : (\d+)", counted.stderr)
    assert match is not None
    assert 0.5 * BUDGETS[line] < int(match[1]) <= BUDGETS[line]
