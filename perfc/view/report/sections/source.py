"""Time, traffic and kernels at each line of a model's code."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from pathlib import Path

from ..formats.document import Amount, Column, Note, Section, Table
from ..units import Unit, share, time_text
from .kernels import KernelRow

MOST_BYTES = 1 << 22
"""Size of a source beyond which its lines are not shown."""
COLUMNS = (
    Column("share", "share", Unit.SHARE, "with what the line calls"),
    Column("time_s", "time", Unit.SECOND),
    Column("nbytes", "traffic"),
    Column("kernels", "kernels", Unit.COUNT),
    Column("line", is_name=True),
    Column("code", is_name=True),
)


def section(rows: Sequence[KernelRow]) -> Section:
    """Return the section of lines of code, each with the kernels that it constructs or calls.

    As in a profiler's cumulative column, the lines of callers include those of what they call.
    """
    cells = tuple(
        (*sums(of_line), len(of_line), f"{file}:{line}", code(file, line))
        for (file, line), of_line in sorted(by_line(rows).items())
    )
    note = Note("no line of code is known: give a module by name, a .pt2 or a dynamo export")
    return Section("source", "lines of code", (Table(COLUMNS, cells) if cells else note,))


def with_margin(rows: Sequence[KernelRow], path: str) -> str:
    """Return a source file with share, time and traffic of its kernels before each line."""
    sizes = {k: sums(of_line) for k, of_line in by_line(rows).items()}
    place = Path(path).resolve().as_posix()
    # frames name a file by the end of its path
    name = max((f for f, _ in sizes if place.endswith(f"/{f}")), default="")
    rows_of_text = [("share", "time", "traffic", "")]
    for i, text in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        cells = ("",) * 3
        if of_line := sizes.get((name, i)):
            part, time_s, moved = of_line
            cells = share(part), time_text(time_s), str(moved)
        rows_of_text.append((*cells, f"| {text}"))
    return "".join(
        f"{a:>7}  {b:>8}  {c:>8}  {text}".rstrip() + "\n" for a, b, c, text in rows_of_text
    )


def by_line(rows: Sequence[KernelRow]) -> dict[tuple[str, int], list[KernelRow]]:
    """Return the kernels of each line of code, by file and number."""
    result: dict[tuple[str, int], list[KernelRow]] = {}
    for r in rows:
        for frame in r.frames:
            file, _, line = frame.rpartition(":")
            # a frame without a number counts as line 0
            result.setdefault((file, int(line) if line.isdecimal() else 0), []).append(r)
    return result


def sums(rows: Sequence[KernelRow]) -> tuple[float, float, Amount]:
    """Return share, time and compulsory bytes of kernels."""
    return sum(r.share for r in rows), sum(r.time_s for r in rows), traffic(rows)


def traffic(rows: Sequence[KernelRow]) -> Amount:
    """Return the compulsory bytes of kernels."""
    amounts = [a for r in rows for a in (r.read_bytes, r.write_bytes)]
    total = sum(a.value or 0 for a in amounts)
    return Amount(total, Unit.BYTE, is_bound=any(a.is_bound for a in amounts))


def code(file: str, line: int) -> str:
    """Return the text of a line of a Python source below the working folder, or "".

    A model file may name any path: other paths are not read, nor are pipes, which would wait for a
    writer.
    """
    if not file.endswith(".py") or "\0" in file:
        return ""
    path = Path(file).resolve()
    is_here = path.is_relative_to(Path.cwd()) and path.is_file()
    is_read = is_here and path.stat().st_size <= MOST_BYTES
    return linecache.getline(str(path), line).rstrip() if is_read else ""
