"""One row per kernel: time, floor, what binds it, and the ONNX nodes it executes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfc.passes.roofline import Ceiling, KernelBound

from .amounts import amount, key, ratio
from .document import Amount, Column, Note, Section, Table
from .units import Unit, share

if TYPE_CHECKING:
    from perfc.api import Report


@dataclass(frozen=True, slots=True)
class CeilingTime:
    """Time one unit or memory level alone would take.

    Args:
        floor_s: at the best rate the hardware can ever give.
        sustained_s: at measured rates.
    """

    floor_s: float
    sustained_s: float


@dataclass(frozen=True, slots=True)
class KernelRow:
    """A kernel; all its launches in one run together.

    Args:
        index: position in execution order, from 0; other views refer to it.
        label: operators it executes.
        nodes: names of the ONNX nodes, in execution order.
        kind: class of its heaviest operator.
        dtype: element type of its multiply-accumulates.
        tier: how well its cost is known.
        launches: in one run.
        share: of the run's time.
        time_s: sustained time and launch gap.
        floor_s: lower bound of its time.
        sustained_s: at measured rates, launches not counted.
        launch_gap_s: what launching adds where the kernel is shorter than its launch.
        bound: the ceiling that binds.
        next_bound: the next one, another unit or level; empty where there is none.
        margin: how many times longer the binding ceiling takes than the next; None without one.
        intensity_flop_per_byte: flop per compulsory byte; None where nothing moves.
        flop: operations; 1 mac is 2 flop.
        mac: multiply-accumulates.
        read_bytes: compulsory bytes read.
        write_bytes: compulsory bytes written.
        device_bytes: bytes charged to device memory in the sustained time.
        ceilings: time of every unit and memory level it uses.
    """

    index: int
    label: str
    nodes: tuple[str, ...]
    kind: str
    dtype: str
    tier: str
    launches: float
    share: float
    time_s: float
    floor_s: float
    sustained_s: float
    launch_gap_s: float
    bound: str
    next_bound: str
    margin: float | None
    intensity_flop_per_byte: float | None
    flop: Amount
    mac: Amount
    read_bytes: Amount
    write_bytes: Amount
    device_bytes: float
    ceilings: dict[str, CeilingTime]

    @property
    def is_bound(self) -> bool:
        """Whether its numbers are lower bounds."""
        return self.tier in ("bytes only", "unknown") or self.flop.is_bound


def collect(report: Report) -> tuple[KernelRow, ...]:
    """The kernels of ``report`` in execution order."""
    total = report.roofline.time_s
    bounds = report.roofline.kernels
    return tuple(row(i, k, total, report.env) for i, k in enumerate(bounds))


def row(index: int, bound: KernelBound, total_s: float, env: Mapping[str, int]) -> KernelRow:
    """The row of one kernel."""
    kernel = bound.kernel
    work, traffic, repeat = kernel.work, kernel.traffic, kernel.repeat
    unsized = traffic.is_bound
    partial = kernel.tier.value in ("bytes only", "unknown")
    next_bound, margin = runner_up(bound)
    return KernelRow(
        index,
        kernel.label,
        tuple(n.name for n in kernel.nodes),
        kernel.kind.name.lower(),
        bound.dtype.code,
        kernel.tier.value,
        bound.launches,
        ratio(bound.time_s, total_s),
        bound.time_s,
        bound.floor_s,
        bound.sustained_s,
        bound.launch_gap_s,
        key(bound.binding),
        next_bound,
        margin,
        None if partial or unsized else bound.intensity_flop_per_byte,
        amount(work.flop * repeat, env, Unit.FLOP, is_bound=partial),
        amount(work.mac * repeat, env, Unit.MAC, is_bound=partial),
        amount(traffic.read_bytes * repeat, env, Unit.BYTE, is_bound=unsized),
        amount(traffic.write_bytes * repeat, env, Unit.BYTE, is_bound=unsized),
        bound.device_bytes,
        {
            key(c): CeilingTime(bound.floor.get(c, 0.0), bound.sustained.get(c, 0.0))
            for c in Ceiling
            if c in bound.floor or c in bound.sustained
        },
    )


def runner_up(bound: KernelBound) -> tuple[str, float | None]:
    """The ceiling below the binding one, and how many times shorter it is.

    Whole waves are a way of using the matrix unit, so the two count as one.
    """
    top = bound.binding
    same = {top} if top not in (Ceiling.WAVES, Ceiling.MATRIX) else {Ceiling.WAVES, Ceiling.MATRIX}
    others = {c: t for c, t in bound.sustained.items() if c not in same and t > 0}
    if not others:
        return "", None
    second = max(others, key=others.__getitem__)
    longest = bound.launch_gap_s if top is Ceiling.LAUNCH else bound.sustained.get(top, 0.0)
    return key(second), longest / others[second]


COLUMNS = (
    Column("index", "#", Unit.COUNT),
    Column("share", "% time", Unit.SHARE, "share of the run's time"),
    Column("time_s", "time", Unit.SECOND, "time at measured rates, launch gap included"),
    Column("floor_s", "floor", Unit.SECOND, "lower bound of the kernel's time"),
    Column("bound", "bound", legend="ceiling that binds"),
    Column("margin", "margin", Unit.RATIO, "times the binding ceiling exceeds the next"),
    Column("intensity", "AI", Unit.FLOP_PER_BYTE, "flop per compulsory byte"),
    Column("dtype", "type", legend="element type of the multiply-accumulates"),
    Column("kernel", "kernel", is_name=True),
    Column("nodes", "<- ONNX nodes", is_name=True),
)


def section(rows: Sequence[KernelRow], top: int | None) -> Section:
    """The kernels that take most time, or all in execution order where ``top`` is None."""
    shown = list(rows)
    title = f"kernels: all {len(rows)}, in execution order"
    if top is not None and top < len(rows):
        shown = heaviest(rows, top)
        carried = share(sum(r.share for r in shown))
        title = f"kernels: {len(shown)} of {len(rows)}, {carried} of the time (--top all)"
    elif top is not None:
        shown = heaviest(rows, len(rows))
        title = f"kernels: all {len(rows)}, by time"
    cells = tuple(
        (
            r.index,
            r.share,
            r.time_s,
            r.floor_s,
            r.bound,
            r.margin,
            r.intensity_flop_per_byte,
            r.dtype,
            title_of(r),
            f"<- {gathered(r.nodes)}",
        )
        for r in shown
    )
    parts: list[Table | Note] = [Table(COLUMNS, cells)]
    if any(r.is_bound for r in shown):
        parts.append(Note("≥ marks kernels that hold something unknown: more than shown", True))
    return Section("kernels", title, tuple(parts))


def heaviest(rows: Sequence[KernelRow], count: int) -> list[KernelRow]:
    """The rows that take most time, longest first; equal ones in execution order."""
    return sorted(rows, key=lambda r: (-r.time_s, r.index))[:count]


def title_of(row: KernelRow) -> str:
    """A kernel's label, with its launches where there is not exactly one."""
    text = f"≥ {row.label}" if row.is_bound else row.label
    return text if row.launches == 1 else f"{text} x{row.launches:g}"


def gathered(names: Sequence[str]) -> str:
    """Node names with their common folder written once: ``/layer1/{conv/Conv, act/Relu}``."""
    if len(names) < 2:
        return "".join(names)
    first, last = min(names), max(names)
    same = next((i for i, c in enumerate(first) if last[i : i + 1] != c), len(first))
    prefix = first[: first.rfind("/", 0, same) + 1]
    if len(prefix) < 2:
        return ", ".join(names)
    return f"{prefix}{{{', '.join(n[len(prefix) :] for n in names)}}}"
