"""The command line that makes ncu collect what the equations need."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from .metrics import collected


def command_line(
    script: Sequence[str], arch: str, *, output: str = "report.csv", marked: bool = False
) -> str:
    """Return the ncu command line for a script, to be copied into a shell.

    Clocks are left alone, so that times are those of a normal run; ncu's default locks them to
    the base clock. ``marked`` measures only what runs between ``cudaProfilerStart`` and ``Stop``.
    """
    program = list(script)
    if program and program[0].endswith(".py"):
        program.insert(0, "python")
    options = ["--csv", "--page", "raw", "--print-units", "base", "--log-file", output]
    options += ["--target-processes", "all", "--clock-control", "none", "--nvtx"]
    if marked:
        options += ["--profile-from-start", "off"]
    options += ["--metrics", ",".join(collected(arch))]
    # LC_ALL=C: ncu writes numbers with the decimal sign of the locale
    return shlex.join(["env", "LC_ALL=C", "ncu", *options, *(program or ["python", "SCRIPT.py"])])
