"""Measurements as rows of a data set: one per analyzed kernel, one per run of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfc.analyzers.estimators.subject import (
    LONGEST_OP,
    KernelSubject,
    LaunchAmounts,
    of_texts,
    operands,
    operators,
    types,
    views,
)
from perfc.ir import evaluate, frozen, record
from perfc.ir.record import project

if TYPE_CHECKING:
    from ..matching.compare import Compared, Measurement

SCHEMA = 1
"""Version of the columns; readers reject other versions."""
NO_WORK: dict[str, Any] = dict.fromkeys(
    ("mac", "alu", "sfu", "integer", "read_bytes", "write_bytes"), 0.0
)
"""Columns of the counts of a launch, for nodes that launch no analyzed kernel."""
MOST_NODES = 24
"""Maximum names of nodes that are listed for one kernel; the rest are counted."""


@frozen
class RunColumns:
    """Columns of the rows of a measured run, of its kernels and of the run.

    Args:
        schema: version of the columns.
        digest: first 16 hexadecimal digits of the SHA-256 of the model file.
        model: file name without its endings.
        runtime: ``ort``, ``torch`` or ``tensorrt``.
        version: version of the runtime, with its name.
        device: ``cpu`` or ``cuda:0``.
        threads: number of threads of the runtime's pool.
        dims: values of the symbols, ``batch=4 seq=128``.
    """

    schema: int
    digest: str
    model: str
    runtime: str
    version: str
    device: str
    threads: int
    dims: str


@record
class MeasuredRow(RunColumns):
    """One analyzed kernel in one measured run; times of one run.

    Args:
        kernel: index in execution order; -1 for nodes that launch no analyzed kernel.
        part: rows of one run with the same part were timed together.
        part_s: measured time of the whole part.
        time_s: measured; the part's time distributed by sustained time if it has several kernels.
        iqr_s: interquartile range of the part's time.
        best_s: shortest time of the part.
        inserted_s: time of copies and changes of layout in the part's time.
        floor_s: lower bound of the time on ``target``.
        sustained_s: time at the measured or nominal rates of ``target``, launches included.
        target: machine of ``floor_s`` and ``sustained_s``.
        label: operators.
        kind: class of the kernel; ``host`` for nodes that launch no analyzed kernel.
        dtype: element type of the multiply-accumulates.
        ops: ONNX operators that are not views, in order, joined by ``+``.
        views: nodes that move nothing.
        runtime_ops: operators of the runtime's kernels, with how often each occurs.
        nodes: names of the ONNX nodes, separated by blanks.
        launches: number of launches in one run.
        mac: multiply-accumulates of one launch.
        alu: other arithmetic of one launch.
        sfu: special functions of one launch.
        integer: integer operations of one launch.
        read_bytes: compulsory bytes that one launch reads.
        write_bytes: compulsory bytes that one launch writes.
        moved_bytes: bytes that changes of layout around the kernel read and write.
        op: operator the kernel is named after, with its attributes, as the text form writes it.
        operands: types of that operator's inputs; ``w`` after stored ones.
        results: types of what the kernel writes.
    """

    kernel: int
    part: int
    part_s: float
    time_s: float
    iqr_s: float
    best_s: float
    inserted_s: float
    floor_s: float
    sustained_s: float
    target: str
    label: str
    kind: str
    dtype: str
    ops: str
    views: int
    runtime_ops: str
    nodes: str
    launches: float
    mac: float
    alu: float
    sfu: float
    integer: float
    read_bytes: float
    write_bytes: float
    moved_bytes: float
    op: str
    operands: str
    results: str


@record
class ModelRow(RunColumns):
    """One measured run of a model.

    Args:
        time_s: median of whole runs, without profiling.
        iqr_s: distance of the quartiles of whole runs.
        best_s: time of the shortest whole run.
        runs: number of whole runs.
        kernel_s: time inside kernels, in the profiled session.
        attributed: fraction of ``kernel_s`` that is attributed to ONNX nodes.
        peak_rss_bytes: highest memory of the process; with several bindings, up to this one.
        base_rss_bytes: memory of the process before it had a model.
        floor_s: lower bound of a run's time on ``target``.
        sustained_s: time of a run at the measured or nominal rates of ``target``.
        target: machine of ``floor_s`` and ``sustained_s``.
        nodes: number of nodes of the file.
        kernels: number of analyzed kernels.
        runtime_kernels: number of kernels of the runtime.
        mac: multiply-accumulates.
        flop: floating-point operations.
        read_bytes: sum of the compulsory bytes that each kernel reads.
        write_bytes: sum of the compulsory bytes that each kernel writes.
        weight_bytes: bytes of stored tensors.
        activation_bytes: highest sum of the bytes of live activations.
        date: date of the measurement.
        table: fusion table that stands for the run, ``eager`` or ``inductor``.
        precision: precision of tensors and products, ``f16`` or ``amp-f16``; empty for the model's
            own.
    """

    time_s: float
    iqr_s: float
    best_s: float
    runs: int
    kernel_s: float
    attributed: float
    peak_rss_bytes: int
    base_rss_bytes: int
    floor_s: float
    sustained_s: float
    target: str
    nodes: int
    kernels: int
    runtime_kernels: int
    mac: float
    flop: float
    read_bytes: float
    write_bytes: float
    weight_bytes: float
    activation_bytes: int
    date: str
    table: str = ""
    precision: str = ""


def model_name(path: str) -> str:
    """Return a file's name without folder and suffixes."""
    name = Path(path).name
    for ending in (".gz", ".onnx", ".tflite"):
        name = name.removesuffix(ending)
    return name


def shared_columns(m: Measurement) -> dict[str, Any]:
    """Return the columns that all rows of a run share."""
    return {
        "schema": SCHEMA,
        "digest": m.report.source.origin.digest[:16],
        "model": model_name(m.report.path),
        "dims": " ".join(f"{k}={v}" for k, v in m.report.env.items()),
        "target": m.report.machine.name,
        **asdict(m.setting),
    }


def kernel_rows(m: Measurement) -> list[MeasuredRow]:
    """Return a row for every analyzed kernel that the runtime timed.

    Kernels of one part share its time by their sustained times.
    """
    run, roof = shared_columns(m), m.report.roofline
    rows: list[MeasuredRow] = []
    for number, c in enumerate(m.rows):
        if not c.is_measured:
            continue
        # columns of the part; those of a kernel are replaced below
        row = host_row(run, number, c)
        if not c.bounds:
            rows.append(row)
            continue
        kernels = zip(c.part.kernels, c.bounds, strict=True)
        # helpers copy or change a layout around a kernel: no row, their bytes are moved_bytes
        computed = [(i, b) for i, b in kernels if b.kernel.helper is None]
        copies = [b for b in c.bounds if b.kernel.helper is not None]
        moved = sum(b.counts.read_bytes + b.counts.write_bytes for b in copies)
        whole_s = sum(b.time_s for _, b in computed)
        for index, b in computed:
            # in equal parts if the target bounds none of them
            share = b.time_s / whole_s if whole_s > 0 else 1 / len(computed)
            kernel, counts, at = b.kernel, b.counts, roof.at(index)
            timed = replace(
                row,
                kernel=index,
                time_s=row.part_s * share,
                floor_s=b.floor_s,
                sustained_s=b.time_s,
                label=kernel.label,
                kind=kernel.kind.value,
                dtype=b.dtype.code,
                ops="+".join(operators(kernel)),
                views=views(kernel),
                nodes=names(o.name for o in kernel.nodes),
                launches=b.launches,
                **{name: getattr(counts, name) for name in NO_WORK},
                moved_bytes=moved / len(computed),
                op=str(kernel.anchor.op)[:LONGEST_OP],
                operands=types(operands(kernel.anchor.inputs, at)),
                results=types(operands(kernel.writes, at)),
            )
            rows.append(timed)
    return rows


def host_row(run: Mapping[str, Any], number: int, c: Compared) -> MeasuredRow:
    """Return the row of a part, with the columns of nodes that launch no analyzed kernel."""
    return MeasuredRow(
        **run,
        kernel=-1,
        part=number,
        part_s=c.time_s,
        time_s=c.time_s,
        iqr_s=c.part.iqr_s,
        best_s=c.part.best_s,
        inserted_s=c.part.inserted_s,
        floor_s=0.0,
        sustained_s=0.0,
        label=c.label,
        kind="host",
        dtype="",
        ops="",
        views=0,
        runtime_ops=runtime_operators(c),
        nodes=names(c.part.nodes),
        launches=1.0,
        **NO_WORK,
        moved_bytes=0.0,
        op="",
        operands="",
        results="",
    )


def model_row(m: Measurement, date: str) -> ModelRow:
    """Return the row of a whole run."""
    from perfc.ir import walk

    report, env = m.report, m.report.env
    work = report.cost.work
    kernels = report.roofline.kernels
    return ModelRow(
        **shared_columns(m),
        time_s=m.total_s,
        iqr_s=m.total_iqr_s,
        best_s=m.best_s,
        runs=m.runs,
        kernel_s=m.kernel_s,
        attributed=m.attribution.share,
        peak_rss_bytes=m.peak_rss_bytes,
        base_rss_bytes=m.base_rss_bytes,
        floor_s=m.floor_s,
        sustained_s=report.roofline.time_s,
        nodes=sum(1 for _ in walk(report.source.graph)),
        kernels=len(kernels),
        runtime_kernels=sum(len(c.part.runtime) for c in m.rows),
        mac=evaluate(work.mac, env),
        flop=evaluate(work.flop, env),
        read_bytes=sum(b.launches * b.counts.read_bytes for b in kernels),
        write_bytes=sum(b.launches * b.counts.write_bytes for b in kernels),
        weight_bytes=evaluate(report.weight_bytes, env),
        activation_bytes=report.liveness.peak(env)[0],
        date=date,
        table=report.deployment.table.name,
        precision=report.deployment.dtype,
    )


def runtime_operators(c: Compared) -> str:
    """Format the operators of runtime kernels with counts: ``Conv+ReorderOutput*2``."""
    counts: dict[str, int] = {}
    for k in c.part.runtime:
        counts[k.op or k.name] = counts.get(k.op or k.name, 0) + 1
    return "+".join(f"{op}*{n}" if n > 1 else op for op, n in counts.items())


def names(operators: Iterable[str]) -> str:
    """Join names of nodes in one cell; spaces become underscores."""
    listed = [n.replace(" ", "_") for n in operators]
    more = len(listed) - MOST_NODES  # ``+3`` at the end stands for three further names
    return " ".join([*listed[:MOST_NODES], *([f"+{more}"] if more > 0 else [])])


def subject_of(row: MeasuredRow) -> KernelSubject:
    """Return the kernel of a row."""
    return of_texts(
        row.kind,
        row.op,
        row.ops,
        row.views,
        row.dtype,
        row.operands,
        row.results,
        project(LaunchAmounts, row),
    )
