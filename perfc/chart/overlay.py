"""Measured kernels for a chart, from whatever file holds them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfc.errors import ParseError
from perfc.machine import Machine, Unit

from .marks import Basis, Mark
from .roofs import Level, listed

MAX_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Overlay:
    """Marks of one file, and what must be known of them."""

    marks: tuple[Mark, ...]
    notes: tuple[str, ...] = ()


def read(path: Path, machine: Machine) -> Overlay:
    """Measured marks: an ncu CSV, or JSON that `perfc ncu` or `perfc measure` wrote.

    Raises:
        ParseError: none of these.
    """
    try:
        with path.open("rb") as stream:
            start = stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
        if start[:1] != b"{":
            return _of_csv(path, machine)
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ParseError(f"{size >> 20} MiB is too much to read", where=str(path))
        tree: object = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParseError(error.strerror or "cannot be read", where=str(path)) from None
    except (ValueError, RecursionError):
        raise ParseError("this is no JSON document", where=str(path)) from None
    schema = tree.get("schema") if isinstance(tree, Mapping) else None
    rows = _rows(tree)
    if rows is None:
        raise ParseError(
            "neither a CSV of ncu nor JSON of `perfc ncu` or `perfc measure`", where=str(path)
        )
    is_ncu = str(schema).startswith("perfc-ncu/")
    try:
        marks = tuple(_ncu_mark(r) if is_ncu else _measured_mark(r) for r in rows)
    except (KeyError, TypeError, ValueError) as error:
        raise ParseError(f"a kernel without {error}", where=str(path)) from None
    shown = tuple(placed(m, machine) for m in marks if m is not None)
    left = len(marks) - len(shown)
    note = f"{path.name}: {left} rows without arithmetic or without a time are not drawn"
    return Overlay(shown, (note,) if left else ())


def _rows(tree: object) -> Sequence[Mapping[str, object]] | None:
    if not isinstance(tree, Mapping):
        return None
    rows = tree.get("kernels", tree.get("rows"))
    if not isinstance(rows, list) or not all(isinstance(r, Mapping) for r in rows):
        return None
    return rows


def _of_csv(path: Path, machine: Machine) -> Overlay:
    from perfc.ncu.report import load
    from perfc.ncu.standing import problems

    report = load(path)
    told = tuple(f"{path.name}: {d.text}" for d in problems(report, (), machine))
    return Overlay(tuple(placed(k.mark, machine) for k in report.kernels if k.flop), told)


def _ncu_mark(row: Mapping[str, object]) -> Mark | None:
    flop, levels = row["flop"], row["levels"]
    if not isinstance(flop, list) or not isinstance(levels, Mapping):
        raise ValueError("flop and levels")
    counts = {(Unit(f["unit"]), str(f["dtype"])): _number(f["flop"]) for f in flop}
    if not counts or not sum(counts.values()):
        return None
    unit, dtype = max(counts, key=counts.__getitem__)
    return Mark(
        str(row["kernel"]),
        Basis.MEASURED,
        sum(counts.values()),
        _number(row["time_s"]),
        {x: _number(levels[x.value]["bytes"]) for x in Level if x.value in levels},
        unit,
        dtype,
        phase=str(row.get("phase", "")),
        is_bound=bool(row.get("is_bound", False)),
    )


def _measured_mark(row: Mapping[str, object]) -> Mark | None:
    """A kernel the analysis counted and a runtime timed: bytes are the compulsory ones."""
    launches = _number(row.get("launches", 1.0))
    mac, others = _number(row["mac"]), _number(row.get("alu", 0.0)) + _number(row.get("sfu", 0.0))
    time_s = _number(row["measured_s"] if "measured_s" in row else row["time_s"])
    flop = (2 * mac + others) * launches
    if not flop or not time_s:
        return None
    moved = (_number(row["read_bytes"]) + _number(row["write_bytes"])) * launches
    nbytes = {Level.L1: moved, Level.L2: moved}
    if "device_bytes" in row:
        nbytes[Level.DEVICE] = _number(row["device_bytes"])
    nodes = row.get("nodes", "")
    names = nodes.split() if isinstance(nodes, str) else list(map(str, _listed(nodes)))
    return Mark(
        str(row["label"]),
        Basis.MEASURED,
        flop,
        time_s,
        {x: b for x, b in nbytes.items() if b > 0},
        Unit.MATRIX if 2 * mac >= others else Unit.VECTOR,
        str(row.get("dtype", "f32")),
        nodes=tuple(names),
    )


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a number, {value!r} instead")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"a sensible number, {value!r} instead")
    return float(value)


def placed(mark: Mark, machine: Machine) -> Mark:
    """The mark under the ceiling that the target lists for its unit and element type."""
    peak = machine.compute.get((mark.unit, mark.dtype)) or machine.entry(mark.unit, mark.dtype)
    unit, dtype = listed(machine, peak, mark.unit, mark.dtype)
    return replace(mark, unit=unit, dtype=dtype)
