"""Measured kernels as marks of a roofline chart, from files of ncu and of perfc.

`read` detects the format by the content. A mark has operations, time and bytes by memory level.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.common.whole_file import lines_of
from perfc.errors import ParseError
from perfc.ir import record
from perfc.machine import Machine, Unit
from perfc.view.chart.marks import Mark, TimeBasis
from perfc.view.chart.roofs import RoofLevel, listed
from perfc.view.report.units import plural

if TYPE_CHECKING:
    from perfc.passes.roofline.roofline import RooflineTable

MAX_BYTES = 32 << 20
"""Maximum bytes of a file of measured kernels, which is read as a whole."""


@record
class Overlay:
    """Marks of one file, with notes."""

    marks: tuple[Mark, ...]
    notes: tuple[str, ...] = ()


def read(path: Path, machine: Machine, table: RooflineTable | None = None) -> Overlay:
    """Read measured marks from an ncu CSV, or from output of `perfc trace` or `perfc measure`.

    Args:
        path: the file.
        machine: machine of the ceilings.
        table: analysis of the measured model; rows without operation counts get those of the
            kernels that execute the same nodes.

    Raises:
        ParseError: if the file is none of these.
    """
    try:
        with path.open("rb") as stream:
            start = stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
        # header of the rows of `perfc measure --append`
        if start.startswith(b"schema,digest,model"):
            return _drawn(path, machine, [_measured_mark(r) for r in _csv_rows(path)])
        if start[:1] != b"{":
            return _of_csv(path, machine)
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ParseError(f"{size >> 20} MiB is too large to read", where=str(path))
        tree: object = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParseError(error.strerror or "cannot be read", where=str(path)) from None
    except (ValueError, RecursionError):
        raise ParseError("not a JSON document", where=str(path)) from None
    schema = tree.get("schema") if isinstance(tree, Mapping) else None
    rows = _rows(tree)
    if rows is None:
        raise ParseError(
            "neither a CSV of ncu nor JSON of `perfc trace` or `perfc measure`", where=str(path)
        )
    is_ncu = str(schema).startswith("perfc-ncu/")
    try:
        if is_ncu:
            marks = [_ncu_mark(r) for r in rows]
        # JSON of `perfc measure` has times and nodes, but no operations
        elif rows and all("mac" not in r and "nodes" in r for r in rows):
            marks = _joined(path, rows, table)
        else:
            marks = [_measured_mark(r) for r in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise ParseError(f"a kernel without {error}", where=str(path)) from None
    return _drawn(path, machine, marks)


def _drawn(path: Path, machine: Machine, marks: Sequence[Mark | None]) -> Overlay:
    """Return the marks that can be drawn, with a note of how many cannot."""
    shown = tuple(placed(m, machine) for m in marks if m is not None)
    n_without = len(marks) - len(shown)
    note = f"{path.name}: not drawn, {plural(n_without, 'row')} without arithmetic or time"
    return Overlay(shown, (note,) if n_without else ())


def _rows(tree: object) -> Sequence[Mapping[str, object]] | None:
    """Return the kernels of a JSON document; None if it has none."""
    if not isinstance(tree, Mapping):
        return None
    rows = tree.get("kernels", tree.get("rows"))
    if not isinstance(rows, list) or not all(isinstance(r, Mapping) for r in rows):
        return None
    return rows


def _of_csv(path: Path, machine: Machine) -> Overlay:
    """Return the kernels of a CSV of ncu, with what its counters lack as notes."""
    from perfc.measuring.ncu.report import load
    from perfc.measuring.ncu.standing import problems

    report = load(path)
    notes = tuple(f"{path.name}: {d.text}" for d in problems(report, (), machine))
    return Overlay(tuple(placed(k.mark, machine) for k in report.kernels if k.flop), notes)


def _ncu_mark(row: Mapping[str, object]) -> Mark | None:
    """Return the mark of a kernel of `perfc trace` on an ncu report; None without operations."""
    flop, levels = row["flop"], row["levels"]
    if not isinstance(flop, list) or not isinstance(levels, Mapping):
        raise ValueError("flop and levels")
    counts = {(Unit(f["unit"]), str(f["dtype"])): _number(f["flop"]) for f in flop}
    if not counts or not sum(counts.values()):
        return None
    unit, dtype = max(counts, key=counts.__getitem__)
    return Mark(
        str(row["kernel"]),
        TimeBasis.MEASURED,
        sum(counts.values()),
        _number(row["time_s"]),
        {x: _number(levels[x.value]["bytes"]) for x in RoofLevel if x.value in levels},
        unit,
        dtype,
        phase=str(row.get("phase", "")),
        is_bound=bool(row.get("is_bound", False)),
    )


def _measured_mark(row: Mapping[str, object]) -> Mark | None:
    """Return the mark of a kernel with counted operations and a measured time.

    Counts and bytes of a row are of one launch, its time is of all launches. None if either is 0.
    """
    launches = _number(row.get("launches", 1.0))
    mac, others = _number(row["mac"]), _number(row.get("alu", 0.0)) + _number(row.get("sfu", 0.0))
    time_s = _number(row["measured_s"] if "measured_s" in row else row["time_s"])
    flop = (2 * mac + others) * launches
    if not flop or not time_s:
        return None
    moved = (_number(row["read_bytes"]) + _number(row["write_bytes"])) * launches
    # compulsory bytes pass both caches; those of the device are known only where a row has them
    nbytes = {RoofLevel.L1: moved, RoofLevel.L2: moved}
    if "device_bytes" in row:
        nbytes[RoofLevel.DEVICE] = _number(row["device_bytes"])
    nodes = row.get("nodes", "")
    names = nodes.split() if isinstance(nodes, str) else list(map(str, _listed(nodes)))
    return Mark(
        str(row["label"]),
        TimeBasis.MEASURED,
        flop,
        time_s,
        {x: b for x, b in nbytes.items() if b > 0},
        Unit.MATRIX if 2 * mac >= others else Unit.VECTOR,  # unit of most operations
        str(row.get("dtype", "f32")),
        nodes=tuple(names),
    )


def _csv_rows(path: Path) -> list[Mapping[str, object]]:
    """Return the rows of kernels that `perfc measure` appends to a data set."""
    texts = {"label", "dtype", "nodes"}
    numbers = {"launches", "mac", "alu", "sfu", "time_s", "read_bytes", "write_bytes"}
    with path.open(encoding="utf-8", newline="") as stream:
        rows: list[Mapping[str, object]] = []
        try:
            for row in csv.DictReader(lines_of(stream, str(path))):
                fields: dict[str, object] = {name: row[name] for name in texts}
                fields.update({name: float(row[name]) for name in numbers})
                rows.append(fields)
        except csv.Error as error:
            raise ParseError(f"not CSV: {error}", where=str(path)) from None
        except (KeyError, TypeError, ValueError) as error:
            raise ParseError(f"a kernel without {error}", where=str(path)) from None
    return rows


def _joined(
    path: Path, rows: Sequence[Mapping[str, object]], table: RooflineTable | None
) -> list[Mark | None]:
    """Return marks of times of `perfc measure`, with operations and bytes of the analysis."""
    if table is None:
        raise ParseError(
            "these times have no operation counts",
            where=str(path),
            hint="give the model as --model",
        )
    by_node = {n.name: i for i, k in enumerate(table.kernels) for n in k.kernel.nodes}
    marks: list[Mark | None] = []
    for row in rows:
        names = [str(n) for n in _listed(row["nodes"])]
        indices = sorted({by_node[n] for n in names if n in by_node})
        kernels = [table.kernels[i] for i in indices]
        flop = sum(k.counts.flop * k.launches for k in kernels)
        time_s = _number(row["time_s"])
        if not flop or not time_s:
            marks.append(None)
            continue
        # the analysis does not distinguish caches: each moves what kernels read and write
        moved = sum(k.counts.nbytes * k.launches for k in kernels)
        device = sum(k.device_bytes for k in kernels)
        nbytes = {RoofLevel.L1: moved, RoofLevel.L2: moved, RoofLevel.DEVICE: device}
        heaviest = max(kernels, key=lambda k: k.counts.flop * k.launches)
        others = heaviest.counts.alu + heaviest.counts.sfu
        marks.append(
            Mark(
                str(row["label"]),
                TimeBasis.MEASURED,
                flop,
                time_s,
                {x: b for x, b in nbytes.items() if b > 0},
                Unit.MATRIX if 2 * heaviest.counts.mac >= others else Unit.VECTOR,
                heaviest.dtype.code,
                nodes=tuple(names),
            )
        )
    return marks


def _listed(value: object) -> list[object]:
    """Return a list of the document; empty for anything else."""
    return value if isinstance(value, list) else []


def _number(value: object) -> float:
    """Return a number of the document.

    Raises:
        ValueError: no number, or one that no amount has.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a number, {value!r} instead")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"a sensible number, {value!r} instead")
    return float(value)


def placed(mark: Mark, machine: Machine) -> Mark:
    """Assign a mark to the ceiling of its unit and element type."""
    peak = machine.compute.get((mark.unit, mark.dtype)) or machine.entry(mark.unit, mark.dtype)
    unit, dtype = listed(machine, peak, mark.unit, mark.dtype)
    return replace(mark, unit=unit, dtype=dtype)
