"""A measurement as a document, as JSON, or as rows."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, fields

from perfc.report.document import Amount, Column, Document, Fact, Facts, Note, Section, Table
from perfc.report.units import Unit, quantity, share

from .compare import FASTER, Compared, Measurement
from .rows import KernelRow, kernel_rows

SCHEMA = "perfc-measure/1"

COLUMNS = (
    Column("part", "#", Unit.COUNT),
    Column("share", "% time", Unit.SHARE, "share of the measured kernel time"),
    Column("floor_s", "floor", Unit.SECOND, "no time can be below it"),
    Column("prediction_s", "predicted", Unit.SECOND, "by fitted efficiencies or sustained rates"),
    Column("time_s", "measured", Unit.SECOND, "median of the runs"),
    Column("iqr_s", "iqr", Unit.SECOND, "distance of the quartiles"),
    Column("residual_s", "residual", Unit.SECOND, "measured less predicted"),
    Column("badge", "badge"),
    Column("kernel", "kernel", is_name=True),
    Column("runtime", "runtime's", is_name=True),
    Column("nodes", "<- ONNX nodes", is_name=True),
)
CLASS_COLUMNS = (
    Column("kind", "class", is_name=True),
    Column("count", "n", Unit.COUNT),
    Column("share", "% time", Unit.SHARE),
    Column("floor_s", "floor", Unit.SECOND),
    Column("prediction_s", "predicted", Unit.SECOND),
    Column("time_s", "measured", Unit.SECOND),
    Column("ratio", "meas./pred.", Unit.RATIO),
)


def title(m: Measurement) -> str:
    """What was measured, on what."""
    dims = ", ".join(f"{k} = {v}" for k, v in m.report.env.items())
    threads = f", {m.setting.threads} threads" if m.setting.threads else ""
    where = f"{m.setting.version} on {m.setting.device}{threads}"
    return ", ".join(
        t for t in (m.report.path, dims, f"{where}, target {m.report.machine.name}") if t
    )


def document(m: Measurement, top: int | None) -> Document:
    """The report of a measurement.

    Args:
        m: what was measured.
        top: kernels shown, slowest first; None for all, in execution order.
    """
    return Document(f"measured {title(m)}", (summary(m), classes(m), kernels(m, top)))


def summary(m: Measurement) -> Section:
    """Totals: floor, prediction, measured, memory, and what must not be missed."""

    def seconds(value: float) -> Amount:
        return Amount(value, Unit.SECOND)

    what = f"median of {m.runs} runs" if m.is_whole else "sum of the profile's kernels"
    spread = f", iqr {quantity(m.total_iqr_s, Unit.SECOND)}" if m.total_iqr_s else ""
    facts = [
        Fact("floor", seconds(m.floor_s), "no run can be faster"),
        Fact(
            "predicted", seconds(m.prediction_s), f"{signed(m.prediction_s, m.total_s)} of measured"
        ),
        Fact("measured", seconds(m.total_s), f"{what}{spread}"),
        Fact("residual", seconds(m.residual_s), "measured less predicted"),
        Fact("in kernels", seconds(m.kernel_s), "with what profiling adds to each"),
        Fact("attributed", Amount(m.attribution.share, Unit.SHARE), "of it, to nodes of the model"),
    ]
    if m.peak_rss_bytes:
        base = quantity(m.base_rss_bytes, Unit.BYTE)
        facts.append(
            Fact(
                "peak memory",
                Amount(m.peak_rss_bytes, Unit.BYTE),
                f"resident, {base} before loading",
            )
        )
    notes: list[Note] = [Note(n) for n in m.notes]
    faster = [c for c in m.rows if c.badge]
    if m.badge:
        notes.append(Note(f"the run is {FASTER}: a bug of ours, or of the clock", True))
    if faster:
        text = f"{len(faster)} kernels are {FASTER}: a bug of ours, of the target, or of the clock"
        notes.append(Note(text, True))
    if m.attribution.lost:
        names = ", ".join(k.name for k in m.attribution.lost[:5])
        notes.append(Note(f"of {len(m.attribution.lost)} kernels no node was found: {names}", True))
    return Section("summary", "summary", (Facts(tuple(facts)), *notes))


def signed(a: float, b: float) -> str:
    """A difference in per cent with its sign."""
    if b <= 0:
        return "—"
    return f"{(a - b) / b:+.1%}".replace("%", " %")


def classes(m: Measurement) -> Section:
    """Sums by class of kernel."""
    groups: dict[str, list[Compared]] = {}
    for c in m.rows:
        if c.is_measured:
            groups.setdefault(c.kind, []).append(c)
    ordered = sorted(groups.items(), key=lambda g: -sum(c.time_s for c in g[1]))
    table = []
    for kind, rows in ordered:
        time_s = math.fsum(c.time_s for c in rows)
        predicted_s = math.fsum(c.prediction_s for c in rows)
        floor_s = math.fsum(c.floor_s for c in rows)
        part = time_s / m.kernel_s if m.kernel_s else 0.0
        ratio = time_s / predicted_s if predicted_s else None
        table.append((kind, float(len(rows)), part, floor_s, predicted_s, time_s, ratio))
    if not table:
        return Section("classes", "classes", (Note("no kernel was timed"),))
    return Section("classes", "classes", (Table(CLASS_COLUMNS, tuple(table)),))


def kernels(m: Measurement, top: int | None) -> Section:
    """Kernel by kernel; those faster than their floor are always among them."""
    timed = [(i, c) for i, c in enumerate(m.rows) if c.is_measured]
    shown = timed
    if top is not None:
        slowest = sorted(timed, key=lambda e: -e[1].time_s)
        shown = slowest[:top] + [e for e in slowest[top:] if e[1].badge]
    carried = sum(c.time_s for _, c in shown) / m.kernel_s if m.kernel_s else 0.0
    name = f"kernels: {len(shown)} of {len(timed)}, {share(carried)} of their time"
    rows = tuple(cells(i, c, m) for i, c in shown)
    if not rows:
        return Section("kernels", "kernels", (Note("no kernel was timed"),))
    return Section("kernels", name, (Table(COLUMNS, rows),))


def cells(i: int, c: Compared, m: Measurement) -> tuple[str | float | None, ...]:
    """One kernel's cells."""
    own = "≈ " if len(c.bounds) > 1 else ""
    return (
        float(i),
        c.time_s / m.kernel_s if m.kernel_s else 0.0,
        c.floor_s,
        c.prediction_s,
        c.time_s,
        c.part.iqr_s,
        c.residual_s,
        c.badge,
        own + c.label,
        " + ".join(dict.fromkeys(k.op or k.name for k in c.part.runtime)),
        f"<- {', '.join(c.part.nodes)}",
    )


def render(m: Measurement, form: str, top: int | None, width: int) -> str:
    """A measurement as ``text``, ``json`` or ``csv``."""
    match form:
        case "json":
            return to_json(m)
        case "csv":
            return to_csv(kernel_rows(m))
        case _:
            from perfc.report.text import render as text

            return text(document(m, top), width)


def to_json(m: Measurement) -> str:
    """Everything the text shows, and all kernels."""
    lost: Sequence[str] = [k.name for k in m.attribution.lost]
    content = {
        "schema": SCHEMA,
        "model": m.report.path,
        "digest": m.report.source.origin.digest,
        "target": m.report.machine.name,
        "dims": dict(m.report.env),
        **asdict(m.setting),
        "floor_s": m.floor_s,
        "prediction_s": m.prediction_s,
        "time_s": m.total_s,
        "iqr_s": m.total_iqr_s,
        "best_s": m.best_s,
        "runs": m.runs,
        "residual_s": m.residual_s,
        "badge": m.badge,
        "kernel_s": m.kernel_s,
        "attributed": m.attribution.share,
        "lost": list(lost),
        "peak_rss_bytes": m.peak_rss_bytes,
        "base_rss_bytes": m.base_rss_bytes,
        "notes": list(m.notes),
        "kernels": [entry(i, c) for i, c in enumerate(m.rows) if c.is_measured],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def entry(i: int, c: Compared) -> dict[str, object]:
    """One kernel as JSON."""
    return {
        "part": i,
        "kernels": list(c.part.kernels),
        "label": c.label,
        "kind": c.kind,
        "floor_s": c.floor_s,
        "prediction_s": c.prediction_s,
        "time_s": c.time_s,
        "iqr_s": c.part.iqr_s,
        "residual_s": c.residual_s,
        "badge": c.badge,
        "nodes": list(c.part.nodes),
        "runtime": [{"name": k.name, "op": k.op, "time_s": k.time_s} for k in c.part.runtime],
    }


def to_csv(rows: Sequence[KernelRow]) -> str:
    """The rows that ``--append`` would add."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow([f.name for f in fields(KernelRow)])
    for r in rows:
        writer.writerow(list(asdict(r).values()))
    return sink.getvalue()
