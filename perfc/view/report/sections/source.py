"""Time, traffic and kernels at each line of a model's code."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from pathlib import Path

from ..formats.document import Amount, Column, Note, Section, Table
from ..units import Unit
from .kernels import KernelRow

MOST_BYTES = 1 << 22
"""Size of a source beyond which its lines are not shown."""
COLUMNS = (
    Column("share", "share", Unit.SHARE),
    Column("time_s", "time", Unit.SECOND),
    Column("nbytes", "traffic"),
    Column("kernels", "kernels", Unit.COUNT),
    Column("line", "line", is_name=True),
    Column("code", "code", is_name=True),
)


def section(rows: Sequence[KernelRow]) -> Section:
    """Return the section of lines of code, each with the kernels that it constructs or calls.

    As in a profiler's cumulative column, the lines of callers include those of what they call.
    """
    by_line: dict[tuple[str, int], list[KernelRow]] = {}
    for r in rows:
        for frame in r.frames:
            file, _, line = frame.rpartition(":")
            by_line.setdefault((file, int(line) if line.isdecimal() else 0), []).append(r)
    cells = tuple(
        (
            sum(r.predicted.share if r.predicted else r.roofline_share for r in of_line),
            sum(r.predicted.time_s if r.predicted else r.roofline_time_s for r in of_line),
            traffic(of_line),
            len(of_line),
            f"{file}:{line}",
            code(file, line),
        )
        for (file, line), of_line in sorted(by_line.items())
    )
    note = Note("no line of code is known: give a module by name, a .pt2 or a dynamo export")
    return Section("source", "lines of code", (Table(COLUMNS, cells) if cells else note,))


def traffic(rows: Sequence[KernelRow]) -> Amount:
    """Return the compulsory bytes of kernels."""
    amounts = [a for r in rows for a in (r.read_bytes, r.write_bytes)]
    total = sum(a.value or 0 for a in amounts)
    return Amount(total, Unit.BYTE, None, any(a.is_bound for a in amounts))


def code(file: str, line: int) -> str:
    """Return the text of a line of a Python source below the working folder, or "".

    A model file names any path: others are not read, nor are pipes, which would wait for a writer.
    """
    if not file.endswith(".py") or "\0" in file:
        return ""
    path = Path(file).resolve()
    is_here = path.is_relative_to(Path.cwd()) and path.is_file()
    is_read = is_here and path.stat().st_size <= MOST_BYTES
    return linecache.getline(str(path), line).rstrip() if is_read else ""
