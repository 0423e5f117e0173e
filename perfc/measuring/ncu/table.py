"""The CSV that ncu prints, read line by line: both pages, one row a metric or one a kernel.

Source: Nsight Compute CLI manual, ``--csv`` and ``--page``; headers of versions 2019 to 2025.
Every limit bounds memory: a file of unknown origin that exceeds one ends in one message.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perfc.common.whole_file import LONGEST_LINE
from perfc.common.whole_file import lines_of as bounded_lines
from perfc.errors import ParseError

from .units import NumberFormat, convention_of, factor, number

MAX_BYTES = 512 << 20
"""Maximum bytes of a report."""
MAX_LAUNCHES = 500_000
"""Maximum kernel launches of a report, each with its counters in memory."""
MAX_COLUMNS = 20_000
"""Maximum columns of a page, each of which has a cell in every row."""
NAME, METRIC, UNIT, VALUE = "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"
"""Columns; the last three only where each metric has a row."""
BINARY = b"NVR\0"
"""First bytes of a `.ncu-rep` file."""
EXPORT = "ncu --import {} --csv --page raw --print-units base"
"""Command that turns a binary report into a CSV, for messages."""
NANOSECONDS = "nsecond"
"""Base unit of durations, where a file states none."""


@dataclass(slots=True)
class NcuLaunch:
    """One kernel launch as ncu measured it.

    Args:
        kernel: name as printed.
        process: process ID and name.
        capability: compute capability, ``8.0``.
        ranges: names of the NVTX ranges open around it, outermost first.
        metrics: bytes, seconds, hertz or counts by the metric's name.
        texts: values before their convention is known, with their units.
    """

    kernel: str
    process: tuple[str, str] = ("", "")
    capability: str = ""
    ranges: tuple[str, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)
    texts: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(slots=True)
class NcuTable:
    """A whole file.

    Args:
        path: path of the file.
        launches: launches in order.
        strange: unknown units, each with the name of a metric that has it.
        skipped: number of lines that are no rows: output of the program, messages of ncu.
        has_names: whether metrics have their own names and not those of a section's page.
    """

    path: str
    launches: list[NcuLaunch] = field(default_factory=list)
    strange: dict[str, str] = field(default_factory=dict)
    skipped: int = 0
    has_names: bool = False


def read(path: Path, wanted: Callable[[str], bool]) -> NcuTable:
    """Read the metrics that ``wanted`` accepts of every launch.

    Raises:
        ParseError: not such a file, too large, or numbers that contradict each other.
    """
    table = NcuTable(str(path))
    parser = Parser(table, wanted)
    for line in lines_of(path):
        parser.line(line)
    parser.finish()
    convert(table)
    return table


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, in whatever encoding a shell wrote it."""
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            head = stream.read(4)
            if head == BINARY or path.suffix == ".ncu-rep":
                raise ParseError(
                    "this is ncu's binary report, not a CSV",
                    where=str(path),
                    hint=f"{EXPORT.format(path)} > {path.stem}.csv",
                )
            if size > MAX_BYTES:
                raise ParseError(
                    f"{size >> 20} MiB is more than the {MAX_BYTES >> 20} MiB that are read",
                    where=str(path),
                    hint="collect only the counters of `perfc trace --command`, on fewer kernels",
                )
            stream.seek(0)
            # PowerShell redirects as UTF-16, with a byte order mark
            utf16 = head[:2] in (b"\xff\xfe", b"\xfe\xff")
            encoding = "utf-16" if utf16 else "utf-8-sig"
            text = io.TextIOWrapper(stream, encoding, errors="replace", newline=None)
            yield from bounded_lines(text, str(path))
    except OSError as error:
        raise ParseError(error.strerror or "cannot be read", where=str(path)) from None


class Parser:
    """Reader of the lines of a file: messages, a header, units, rows, more headers.

    Its fields are what later lines need: the last ``header`` and ``units`` by column, ``section``
    as the number of the header, ``pending`` as the beginning of a line that goes on, ``messages``
    before the first header, launches ``by_key`` where each metric has a row, and whether a metric
    is ``accepted``.
    """

    def __init__(self, table: NcuTable, wanted: Callable[[str], bool]) -> None:
        self.table, self.wanted = table, wanted
        self.header: list[str] = []
        self.units: dict[str, str] = {}
        self.delimiter = ","
        self.pending = ""
        self.messages: list[str] = []
        self.by_key: dict[tuple[object, ...], NcuLaunch] = {}
        self.section = 0
        self.is_empty = True
        self.accepted: dict[str, bool] = {}

    def line(self, line: str) -> None:
        """Read one line; a quoted field may continue on the next."""
        text = self.pending + line
        if not text.strip():
            return
        self.is_empty = False
        # an odd number of quotes: a name contains a line break
        is_open = self.header and text.lstrip().startswith('"') and text.count('"') % 2
        if is_open and len(text) <= LONGEST_LINE:
            self.pending = text
            return
        self.pending = ""
        if not self.is_header(text):
            self.row(text)

    def is_header(self, text: str) -> bool:
        """Return True if ``text`` is a header, which then applies to the following lines."""
        if NAME not in text:
            return False
        for delimiter in (",", ";", "\t"):
            names = split(text, delimiter)
            # either one row a metric, or one column for each counter, ``unit__name.operation``
            is_long = METRIC in names and VALUE in names
            if NAME in names and (is_long or any("__" in n for n in names)):
                self.delimiter, self.header = delimiter, names
                self.units = {}
                self.section += 1
                self.accepted = {}
                if len(names) > MAX_COLUMNS:
                    raise ParseError(
                        f"{len(names)} columns are more than {MAX_COLUMNS}", where=self.table.path
                    )
                return True
        return False

    def row(self, text: str) -> None:
        """Read one line beneath a header; lines of anything else are skipped."""
        if not self.header:
            # enough for a message of ncu among the output of a program
            if len(self.messages) < 200:
                self.messages.append(text.strip()[:500])
            return
        cells = split(text, self.delimiter)
        # a line may lack its last cell, or end with a delimiter
        fits = len(self.header) - 1 <= len(cells) <= len(self.header) + 1
        if not fits or text.startswith("=="):
            self.table.skipped += 1
            return
        row = dict(zip(self.header, cells, strict=False))
        if METRIC in row:
            self.metric_row(row)
        # the line beneath a header of counters has their units, and no kernel
        elif not row.get(NAME, "").strip() and not row.get("ID", "").strip():
            self.units = row
        else:
            self.kernel_row(row)

    def metric_row(self, row: dict[str, str]) -> None:
        """Read one metric of one kernel."""
        name = row[METRIC].strip()
        if not row.get("ID", "").strip().isdecimal():
            self.table.skipped += 1
            return
        # IDs count from 0 in each process, and again beneath each header
        key = (self.section, row.get("Process ID", ""), row["ID"], row[NAME])
        launch = self.by_key.get(key)
        if launch is None:
            launch = self.by_key[key] = self.launch(row)
        if name and self.accepts(name):
            launch.texts[name] = (row.get(VALUE, ""), row.get(UNIT, ""))

    def kernel_row(self, row: dict[str, str]) -> None:
        """Read all metrics of one kernel."""
        if "ID" in row and not row["ID"].strip().isdecimal():
            self.table.skipped += 1
            return
        launch = self.launch(row)
        for name, text in row.items():
            if self.accepts(name):
                launch.texts[name] = (text, self.units.get(name, ""))

    def accepts(self, name: str) -> bool:
        """Return True if a metric is needed."""
        accepted = self.accepted.get(name)
        if accepted is None:
            accepted = self.accepted[name] = self.wanted(name)
            self.table.has_names |= "__" in name
        return accepted

    def launch(self, row: dict[str, str]) -> NcuLaunch:
        """Return a new launch with its kernel, process, capability and ranges."""
        if len(self.table.launches) >= MAX_LAUNCHES:
            raise ParseError(
                f"more than {MAX_LAUNCHES:,} kernel launches",
                where=self.table.path,
                hint="profile one iteration, with --launch-count or --profile-from-start off",
            )
        process = (row.get("Process ID", "").strip(), row.get("Process Name", "").strip())
        launch = NcuLaunch(row[NAME].strip(), process, row.get("CC", "").strip(), ranges_of(row))
        self.table.launches.append(launch)
        return launch

    def finish(self) -> None:
        """Check that there were kernels; else report why not, as far as messages of ncu show.

        Raises:
            ParseError: no header, or no row beneath it.
        """
        where = self.table.path
        if self.is_empty:
            raise ParseError("the file is empty", where=where, hint="see `perfc trace --command`")
        errors = [m for m in self.messages if m.startswith(("==ERROR==", "==WARNING=="))]
        if not self.header:
            said = f"; ncu said: {errors[0]}" if errors else ""
            raise ParseError(
                f"no table of ncu's: no line has a column {NAME!r} and counters{said}",
                where=where,
                hint=hint_of(errors),
            )
        if not self.table.launches:
            raise ParseError(
                "a header but no kernel beneath it: ncu profiled none",
                where=where,
                hint="with --profile-from-start off the program must start the profiler",
            )


def hint_of(errors: Sequence[str]) -> str:
    """Return advice for a message of ncu."""
    if any("ERR_NVGPUCTRPERM" in e for e in errors):
        return "reading counters needs administrator rights: https://developer.nvidia.com/ERR_NVGPUCTRPERM"
    return f"export one with: {EXPORT.format('REPORT.ncu-rep')}"


def split(text: str, delimiter: str) -> list[str]:
    """Return the fields of a line."""
    try:
        return next(csv.reader([text.rstrip("\r\n")], delimiter=delimiter), [])
    except csv.Error:
        return []


_QUOTED = re.compile(r'"([^"]*)"')
"""A range in a cell of several."""
TAIL = 6
"""Fields after a range's name: payload type and value, color type and color, message type
and message."""


def ranges_of(row: dict[str, str]) -> tuple[str, ...]:
    """Return names of NVTX ranges, from columns ``…Push/Pop_Range:PL_Type:…``, outermost first."""
    names: list[str] = []
    for column, text in row.items():
        if "Push/Pop_Range" in column or "Start/Stop_Range" in column:
            names += [name for name in map(range_name, _QUOTED.findall(text) or [text]) if name]
    return tuple(names)


def range_name(text: str) -> str:
    """Return ``<default domain>:forward:none:none:none:none:none:none`` as ``forward``."""
    parts = text.strip().split(":")
    # a start/stop range begins with its ID
    if parts[0].strip().isdecimal():
        parts = parts[1:]
    if len(parts) < 2:
        return ""
    # a name may have colons itself: it is all between the domain and the tail
    return ":".join(parts[1 : max(len(parts) - TAIL, 2)]).strip()


def convert(table: NcuTable) -> None:
    """Convert texts to numbers in base units.

    Raises:
        ParseError: some numbers have a decimal point and others a decimal comma.
    """
    texts = (text for launch in table.launches for text, _ in launch.texts.values())
    convention = convention_of(texts)
    if convention is None:
        raise ParseError(
            "some numbers have a decimal comma and others a decimal point",
            where=table.path,
            hint="run ncu with LC_ALL=C and do not join reports of two machines",
        )
    scales: dict[str, float | None] = {}
    for launch in table.launches:
        for name, (text, unit) in launch.texts.items():
            assign(table, launch, name, text, unit, convention, scales)
        launch.texts.clear()


def assign(
    table: NcuTable,
    launch: NcuLaunch,
    name: str,
    text: str,
    unit: str,
    convention: NumberFormat,
    scales: dict[str, float | None],
) -> None:
    """Add one metric of a launch in base units; ``scales`` are the factors of units so far."""
    value = number(text, convention)
    if value is None or value < 0:
        return
    if not unit and name.startswith("gpu__time_duration"):
        unit = NANOSECONDS
    if unit not in scales:
        scales[unit] = factor(unit)
    scale = scales[unit]
    if scale is None:
        table.strange.setdefault(unit, name)
        return
    launch.metrics[name] = value * scale
