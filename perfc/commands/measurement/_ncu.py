"""Reports of Nsight Compute, whose counters `perfc trace` draws as a hierarchical roofline.

`show` writes a report, `print_command` the call of ncu that records one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click

from perfc.errors import ParseError

from ..shared.prelude import emit, output_format, present

FINDINGS = 1
"""Exit code if a counter contradicts the hardware."""
SUFFIXES = (".csv", ".csv.gz", ".ncu-rep")
"""Suffixes of reports of Nsight Compute; other files are traces."""


def print_command(
    script: Sequence[str], target: str, arch: str, output: Path | None, *, is_marked: bool
) -> int:
    """Print the ncu command line that profiles a script on an architecture."""
    from perfc.machine import load_machine
    from perfc.measuring.ncu.command import command_line

    output_format("csv", output, ("csv",))  # rejects an output that ncu would not write as CSV
    chip = architecture(arch) or (load_machine(target).arch if target else "")
    line = command_line(script, chip, output=str(output or "report.csv"), marked=is_marked)
    emit(f"{line}\n", None)
    return 0


def show(
    files: Sequence[str],
    target: str,
    arch: str,
    process: str,
    *,
    form: str,
    output: Path | None,
    top: int | None,
) -> int:
    """Write time, FLOPs, bytes and ceiling utilization of each kernel; 1 if one exceeds a ceiling.

    Args:
        files: the report.
        target: machine whose ceilings are compared; "" for none.
        arch: architecture of the GPU; "" for that in the report.
        process: ID of the process whose kernels are read; "" for all.
        form: output format.
        output: output file; None for standard output.
        top: maximum kernels; None for all.

    Raises:
        UsageError: more than one file.
    """
    from perfc.machine import load_machine
    from perfc.measuring.ncu.output import shown
    from perfc.measuring.ncu.report import load

    if len(files) != 1:
        raise click.UsageError("give one REPORT.csv")
    machine = load_machine(target) if target else None
    result = shown(load(Path(files[0]), arch=architecture(arch), process=process), machine)
    present(result, form, output, top)
    return FINDINGS if result.has_errors else 0


def architecture(name: str) -> str:
    """Return a name that is empty or that of an architecture, such as ``sm_90a``.

    Raises:
        ParseError: any other name.
    """
    if name and not re.fullmatch(r"sm_\d{2,3}[af]?", name):
        raise ParseError(f"{name!r} is no architecture", where="--arch", hint="as in sm_80")
    return name
