"""Read the SQLite export of Nsight Systems (``nsys export --type sqlite``), opened read-only.

Files come from anywhere: only plain tables are read, within limits of time and size.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import cast

from perfc.errors import ParseError, reason_of

from ..facts import (
    LONGEST_NAME,
    MOST_ARGUMENTS,
    DeviceFacts,
    DeviceTrace,
    Numbering,
    OperatorCall,
    TensorArgument,
    TraceSource,
    listed,
    operator_name,
    sizes_of,
)
from ..timeline import HostKind, HostLabel, HostTimeline

PREFIX = "CUPTI_ACTIVITY_KIND_"
"""Tables of activities that CUPTI recorded, in Nsight's SQLite export."""
COPIES = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}
"""Directions of copies. Source: CUpti_ActivityMemcpyKind."""
LONGEST_S = 120.0
"""Time for all queries of a file; a query that runs longer stops, and the reading fails."""
STEPS = 100_000
"""Instructions of SQLite between checks of the time."""
MOST_DEVICES = 1024
"""Maximum devices with facts, as in the other formats."""
_OPERATOR = re.compile(r"([\w.]+::[\w.:]+|[\w.:]+(?=, (?:seq|op_id) = ))(?:, |$)")
"""Ranges of ``emit_nvtx``: ``aten::mm, seq = 3`` or ``aten::mm, op_id = 7``."""
_SIZES = re.compile(r"\bsizes = (\[[\d\[\], ]{0,4000}\])(?:, [a-z]|$)")
"""Names and extents in ranges of NVTX. Source: torch/csrc/profiler/util.cpp, getNvtxStr."""


def reads(head: str) -> bool:
    """Return True for a file of SQLite."""
    return head.startswith("SQLite format 3")


def read(path: str, *, has_frames: bool = False) -> DeviceTrace:
    """Read kernels, copies and fills; with ``has_frames`` the names of ranges too.

    Raises:
        ParseError: damaged, or no export of Nsight Systems.
    """
    trace = DeviceTrace(TraceSource.NSYS, is_cut=is_cut(path))
    uri = f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as base:
            bounded(base)
            tables = columns_of(base)
            if not any(name.startswith(PREFIX) for name in tables):
                hint = "nsys export --type sqlite REPORT.nsys-rep"
                raise ParseError("no table of CUDA kernels in it", hint=hint)
            export(base, tables, HostTimeline(trace), has_frames=has_frames)
    except (sqlite3.Error, OverflowError, UnicodeError) as error:
        raise ParseError(f"cannot be read: {reason_of(error)}", where=path) from None
    return trace


def is_cut(path: str) -> bool:
    """Return True if a file is shorter than its header says.

    Source: sqlite.org/fileformat2.html, sections 1.3.2 and 1.3.7.
    """
    with open(path, "rb") as stream:
        header = stream.read(100)
        size = stream.seek(0, 2)
    # the number of pages is valid only if the version of the change counter is that of the header
    page, pages, version, valid_for = (
        int.from_bytes(header[offset : offset + width], "big")
        for offset, width in ((16, 2), (28, 4), (24, 4), (92, 4))
    )
    # 1 stands for pages of 65,536 bytes, which two bytes cannot hold
    return version == valid_for and size < pages * (1 << 16 if page == 1 else page)


def bounded(base: sqlite3.Connection) -> None:
    """Limit the time of queries and the length of values."""
    stop = time.monotonic() + LONGEST_S
    base.set_progress_handler(lambda: time.monotonic() > stop, STEPS)
    base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 20)
    base.execute("PRAGMA trusted_schema = OFF")  # no functions in views or defaults run
    base.text_factory = lambda data: data.decode("utf-8", "replace")


def columns_of(base: sqlite3.Connection) -> dict[str, frozenset[str]]:
    """Return the columns of each plain table; views and virtual tables are not read."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
    # at most 1,000 tables, as a damaged file may have any number
    names = [str(name) for (name,) in base.execute(query).fetchmany(1000)]
    return {name: frozenset(plain_columns(base, name)) for name in names}


def plain_columns(base: sqlite3.Connection, table: str) -> Iterator[str]:
    """Yield the columns of a table that are stored."""
    query = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0"
    yield from (str(name) for (name,) in base.execute(query, (table,)).fetchmany(1000))


def export(
    base: sqlite3.Connection,
    tables: dict[str, frozenset[str]],
    timeline: HostTimeline,
    *,
    has_frames: bool,
) -> None:
    """Add the launches, operators and devices of an export to the trace."""
    trace, names = timeline.trace, StringTable(base, has_table="StringIds" in tables)
    groups = Numbering()
    calls = ("start", "end", "correlationId", "globalTid", "nameId")
    for start, end, correlation, thread, label in rows(base, tables, f"{PREFIX}RUNTIME", *calls):
        if isinstance(start, int) and isinstance(end, int) and isinstance(correlation, int):
            key = identity(correlation, thread)
            timeline.call(names.text(label), thread, start, max(start, end), key)
    marks = ("start", "end", "text", "textId", "globalTid")
    for start, end, label, number, thread in rows(base, tables, "NVTX_EVENTS", *marks):
        if isinstance(start, int) and isinstance(end, int) and start <= end:
            # some versions store the text of a range in the row, others by number
            text = label if isinstance(label, str) else names.text(number)
            marked(timeline, groups, text, thread, start, end)
            if has_frames and (mark := operator_name(text)) and not _OPERATOR.match(text):
                timeline.frame(thread, start, end, HostLabel(HostKind.RANGE, mark))
    common = ("start", "end", "deviceId", "correlationId", "globalPid", "streamId")
    name = "demangledName" if "demangledName" in tables.get(f"{PREFIX}KERNEL", ()) else "shortName"
    for *launch, number in rows(base, tables, f"{PREFIX}KERNEL", *common, name):
        executed(timeline, launch, names.text(number) or f"kernel {number}")
    for *launch, direction in rows(base, tables, f"{PREFIX}MEMCPY", *common, "copyKind"):
        word = COPIES.get(direction, "") if isinstance(direction, int) else ""
        executed(timeline, launch, f"Memcpy {word}".rstrip())
    # a graph is one row unless its nodes were traced one by one
    for table, word in (("MEMSET", "Memset"), ("GRAPH_TRACE", "CUDA graph")):
        for filled in rows(base, tables, f"{PREFIX}{table}", *common):
            executed(timeline, filled, word)
    facts = ("id", "name", "totalMemory", "smCount", "computeMajor", "computeMinor")
    for number, label, memory, count, major, minor in rows(base, tables, "TARGET_INFO_GPU", *facts):
        if len(trace.facts) < MOST_DEVICES:
            trace.facts[number] = DeviceFacts(
                str(label or "")[:100], whole(memory), whole(count), (whole(major), whole(minor))
            )
    timeline.fill()


def identity(correlation: int, process: object) -> int:
    """Return the number of a launch in all processes.

    Numbers of a process and of its threads have the process in the same bits.
    Source: docs.nvidia.com/nsight-systems, "Common SQLite Examples".
    """
    # bits 24 to 47 are the process
    number = (process >> 24) & 0xFFFFFF if isinstance(process, int) else 0
    return number << 32 | (correlation & 0xFFFFFFFF)


def executed(timeline: HostTimeline, launch: Sequence[object], name: str) -> None:
    """Add a kernel, copy or graph."""
    start, end, device, correlation, process, stream = launch
    is_timed = isinstance(start, int) and isinstance(end, int) and start >= 0
    key = identity(correlation, process) if isinstance(correlation, int) else None
    length = cast("int", end) - cast("int", start) if is_timed else None
    begin = cast("int", start) if is_timed else None
    # -1 for a row without a stream
    timeline.kernel(name, device, begin, length, key, stream=whole(stream) or -1)


def marked(
    timeline: HostTimeline, groups: Numbering, label: str, thread: object, begin: int, end: int
) -> None:
    """Add a range of NVTX: an operator of ``torch.autograd.profiler.emit_nvtx``, or a mark."""
    match = _OPERATOR.match(label)
    name = operator_name(match[1]) if match else ""
    if not name:
        # ranges that differ in numbers only, as ``step 7``, are one group; 0 is for PyTorch's steps
        group = 1 + groups.number(re.sub(r"\d+", "#", label))
        timeline.trace.annotations.add(group, -1, begin, end, 0)
        return
    match = _SIZES.search(label)
    try:
        sizes = json.loads(match[1]) if match else []
    except (ValueError, RecursionError):
        sizes = []
    extents = (sizes_of(x) for x in listed(sizes)[:MOST_ARGUMENTS])
    arguments = tuple(None if x is None else TensorArgument("", x) for x in extents)
    call = timeline.trace.operator_calls.number(OperatorCall(name, arguments))
    timeline.operator(thread, begin, end, call)


def whole(value: object) -> int:
    """Return a whole number; 0 for anything else."""
    return value if isinstance(value, int) and value > 0 else 0


def rows(
    base: sqlite3.Connection, tables: dict[str, frozenset[str]], table: str, *columns: str
) -> Iterator[tuple[object, ...]]:
    """Yield columns of a table, which are None if it lacks them; none of an absent table."""
    present = tables.get(table)
    if present is None:
        return
    listed = ", ".join(f'"{c}"' if c in present else "NULL" for c in columns)
    yield from base.execute(f'SELECT {listed} FROM "{table}"')


class StringTable:
    """Strings by number, each read once and only when a kernel needs it."""

    def __init__(self, base: sqlite3.Connection, *, has_table: bool) -> None:
        self.base, self.has_table = base, has_table
        self.known: dict[object, str] = {}

    def text(self, number: object) -> str:
        """Return a string; empty if there is none."""
        string = self.known.get(number)
        if string is None:
            query = "SELECT value FROM StringIds WHERE id = ? LIMIT 1"
            row = self.base.execute(query, (number,)).fetchone() if self.has_table else None
            value = row[0] if row else ""
            string = self.known[number] = value[:LONGEST_NAME] if isinstance(value, str) else ""
        return string
