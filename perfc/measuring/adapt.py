"""Adapt a target to its machine from a few measured kernels or from calibrate's rates.

`adapt_target` is called by `perfc adapt`: measured kernels are read, each is divided by what the
predictors say of it, and the corrections by class are written as tables of a copy of the target.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from perfc.analyzers.estimators.adapting import AdaptationSample, corrections
from perfc.analyzers.estimators.subject import KernelSubject, Operand
from perfc.analyzers.features.lowering import convolution
from perfc.analyzers.intervals.adapt import Adaptation, AdaptError
from perfc.errors import PerfcError
from perfc.ir import Numbers, Origin
from perfc.machine import Machine, Unit
from perfc.machine.catalog import whole_card
from perfc.measuring.calibrate.file import write
from perfc.measuring.measure.tables import dataset
from perfc.measuring.measure.tables.rows import MeasuredRow, subject_of

PRODUCT = 8192
"""Extent of the square matrix product that represents calibrate's matrix rates: large enough that
its time is that of the unit alone."""
COPIED_BYTES = 1 << 28
"""Bytes read, and again written, by the copy that represents calibrate's bandwidth: more than
caches hold."""
MOST_ROWS = 1_000_000
"""Maximum measured kernels; a few dozen suffice, and all are in memory at once."""
OF_KERNELS = ("class", "kernel")
"""Columns that only tables of kernels have."""
SOURCE = "adapt"
"""Name of the source of the corrections in the target file."""
SECTION = re.compile(r"\s*\[")
"""Beginning of a table of TOML."""
OWN = re.compile(r"\s*\[\s*(?:adaptation\b|source\.adapt\s*\])")
"""Tables that ``perfc adapt`` writes, and replaces when it runs again."""
_FIXED = frozenset({"class", "dtype", "time_s", "protocol"})
"""Columns of rows of kernels that are no extents."""


def is_runs(path: Path) -> bool:
    """Return True for a table of whole runs, not of kernels; False if it cannot be read."""
    try:
        first = next(iter(dataset.records(path)), {})
    except PerfcError:
        return False
    return "model" in first and not any(name in first for name in OF_KERNELS)


def adapt_target(
    target: str, rows: Path | None, output: Path, *, folder: Path | None = None
) -> Adaptation:
    """Write a copy of a target whose predictions are corrected by measured kernels.

    Args:
        target: name or file.
        rows: table of measured kernels, or a trace; without one the rates of ``perfc calibrate``.
        output: the file to write.
        folder: folder of the operator predictor's weights; None for the shipped ones.

    Raises:
        AdaptError: no row of a class with weights, or times that are not positive.
        TargetError: the file would not be valid.
    """
    machine = whole_card(target)
    measured = list(probes(machine)) if rows is None else samples_of(rows, machine)
    if not measured and rows is not None:
        raise AdaptError("no rows", where=str(rows))
    if not measured:
        hint = "perfc calibrate measures them, or give --from"
        raise AdaptError("no measured rate in the target", where=target, hint=hint)
    try:
        result = corrections(measured, machine, folder)
    except PerfcError as error:
        error.where = error.where or str(rows or target)
        raise
    if not result.corrections:
        hint = "measure more kernels, or other ones"
        raise AdaptError("not written: kernels left out would be predicted worse", hint=hint)
    text = without(machine.path.read_text(encoding="utf-8"))
    write(output, text.rstrip() + "\n" + rendered(result, len(measured), rows))
    return result


def probes(machine: Machine) -> Iterator[AdaptationSample]:
    """Yield kernels equivalent to calibrate's rates: a large product for each type, and a copy."""
    mac = float(PRODUCT) ** 3
    extents = {"m": float(PRODUCT), "n": float(PRODUCT), "k": float(PRODUCT)}
    for (unit, dtype), peak in machine.compute.items():
        rate = peak.sustained
        if unit is Unit.MATRIX and rate is not None and rate.origin is Origin.MEASURED:
            # a multiply-accumulate is two operations
            yield AdaptationSample("matmul", dtype, extents, 2 * mac / rate.value)
    device = machine.level("device")
    if device is not None and device.sustained is not None:
        nbytes = float(COPIED_BYTES)
        # of f32, which has 4 bytes
        parameters = {
            "elements": nbytes / 4,
            "read_bytes": nbytes,
            "write_bytes": nbytes,
            "operands": 1.0,
            "tensor_operands": 1.0,
        }
        # bytes are read and written; the rate is of both together
        time_s = 2 * nbytes / device.sustained.value
        yield AdaptationSample("elementwise", "f32", parameters, time_s)


def samples_of(path: Path, machine: Machine) -> list[AdaptationSample]:
    """Read the measured kernels of a trace of the machine, or of a table."""
    from .adapt_trace import is_trace, traced_kernels

    if not is_trace(path):
        return read(path)
    return [AdaptationSample(*k, time_s) for k, time_s in traced_kernels(path, machine)]


def read(path: Path) -> list[AdaptationSample]:
    """Read rows of ``perfc measure --append``, or a table of class, dtype, time_s and parameters.

    Raises:
        AdaptError: no file, neither format, or too many rows.
        ParseError: it cannot be read.
        MissingExtraError: Parquet without pyarrow.
    """
    if not path.is_file():
        raise AdaptError("no such file", where=str(path))
    rows = list(islice(dataset.records(path), MOST_ROWS + 1))
    # rows of `perfc measure` begin with the digest of the model
    if rows and "digest" in rows[0]:
        return [m for r in dataset.read(path, MeasuredRow) for m in of_kernel(r)]
    if len(rows) > MOST_ROWS:
        raise AdaptError(f"more than {MOST_ROWS} rows", where=str(path))
    missing = sorted({"class", "dtype", "time_s"} - rows[0].keys()) if rows else []
    if missing:
        hint = "class, dtype, time_s and the parameters of the class"
        raise AdaptError(f"no column {missing[0]!r}", where=str(path), hint=hint)
    result: list[AdaptationSample] = []
    for row in rows:
        numbers = {k: number(v, path) for k, v in row.items() if k not in _FIXED}
        # an empty cell belongs to a parameter of another class
        present = {k: v for k, v in numbers.items() if not math.isnan(v)}
        time_s = number(row["time_s"], path)
        result.append(AdaptationSample(str(row["class"]), str(row["dtype"]), present, time_s))
    return result


def number(value: object, path: Path) -> float:
    """Parse a cell as a number; NaN if it is empty.

    Raises:
        AdaptError: not a number.
    """
    if value in (None, ""):
        return math.nan
    try:
        return float(str(value))
    except ValueError:
        raise AdaptError(f"{value!r} is no number", where=str(path)) from None


def of_kernel(row: MeasuredRow) -> Iterator[AdaptationSample]:
    """Yield the kernel of a row of ``perfc measure`` if it has a known class."""
    # kernel -1 is that of nodes that launch no analyzed kernel
    if row.kernel < 0 or row.launches <= 0:
        return
    subject = subject_of(row)
    result = lowered(subject)
    # copies that the runtime inserted are no part of the kernel
    time_s = (row.time_s - row.inserted_s) / row.launches
    if time_s > 0:
        class_name, parameters = result or ("", {})
        yield AdaptationSample(class_name, subject.dtype, parameters, time_s, row, subject)


def lowered(s: KernelSubject) -> tuple[str, dict[str, float]] | None:
    """Return class and parameters of a measured kernel from its operands and counts.

    None for a class without weights, or a kernel without what its class needs.
    """
    result = s.result
    if result is None or not result.numel:
        return None
    match s.kind:
        case "matmul" if s.mac and result.shape:
            return "matmul", product(s, result)
        case "conv":
            extents = None if s.window is None else convolution(s.window, Numbers({}))
            return None if extents is None else ("convolution", extents)
        case "elementwise" | "movement":
            # operands of full size; smaller ones are broadcast
            full = [o for o in s.operands if o is not None and o.numel >= result.numel]
            return s.kind, {
                "elements": float(result.numel),
                "read_bytes": s.read_bytes,
                "write_bytes": s.write_bytes,
                "sfu": s.sfu,
                "operands": float(sum(o is not None for o in s.operands)),
                "tensor_operands": float(len(full)),
            }
        case "softmax" | "normalization":
            columns = float(result.shape[-1]) if result.shape else 1.0
            return s.kind, {"rows": result.numel / columns, "cols": columns}
        case _:
            return None


def product(s: KernelSubject, y: Operand) -> dict[str, float]:
    """Return extents of a matrix product with the result ``y``.

    With a two-dimensional right operand, the rows of a whole batch are those of one product.
    """
    right = s.operand(1)
    # each element of the result takes k multiply-accumulates
    n, k = float(y.shape[-1]), s.mac / y.numel
    if right is None or len(right.shape) <= 2 or len(y.shape) < 3:
        return {"m": y.numel / n, "n": n, "k": k, "batch": 1.0}
    m = float(y.shape[-2])
    return {"m": m, "n": n, "k": k, "batch": y.numel / (m * n)}


def without(text: str) -> str:
    """Return the text of a target file without the tables of an earlier adaptation."""
    lines: list[str] = []
    is_left_out = False
    for line in text.splitlines():
        if SECTION.match(line):
            is_left_out = bool(OWN.match(line))
        if not is_left_out:
            lines.append(line)
    return "\n".join(lines) + "\n"


def rendered(result: Adaptation, count: int, rows: Path | None) -> str:
    """Format the tables of an adaptation as TOML."""
    what = "calibrate's rates" if rows is None else "measured kernels"
    curve = ", ".join(f"{p.count}: {p.error:.1%}" for p in result.curve)
    lines = [
        "",
        f"[source.{SOURCE}]",
        'origin = "measured"',
        f'title = "perfc adapt to {count} {what}"',
        *([f'note = "error of kernels left out by kernels measured: {curve}"'] if curve else []),
    ]
    for name, c in result.corrections.items():
        # a dot in a name of TOML would begin an inner table
        lines += ["", f'[adaptation."{name}"]' if "." in name else f"[adaptation.{name}]"]
        extra = f", n = {c.samples}" if c.samples else ""
        for key in ("small_ratio", "large_ratio", "low_ratio", "high_ratio"):
            value: float = getattr(c, key)
            lines.append(f'{key} = {{ value = {value:.4g}, from = "{SOURCE}"{extra} }}')
    return "\n".join(lines) + "\n"
