"""One row per kernel: time, lower bound, limiting ceiling, and the ONNX nodes it executes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from perfc.ir import record
from perfc.ir.graph import CHECKPOINTED
from perfc.ir.record import project
from perfc.passes.roofline.roofline import Ceiling, KernelBound

from .. import names
from ..amounts import amount, key, ratio, title
from ..formats.document import Amount, Column, Name, Note, Section, Table, tabulate
from ..units import INTERVAL, LOWER_BOUND, Unit, share
from .prediction import Forecast, forecast

if TYPE_CHECKING:
    from perfc.analyzers.estimate.estimate import Estimate
    from perfc.analyzers.runs.energy import Energy
    from perfc.api import Report
    from perfc.passes.fusion.kernel import Kernel


@record
class CeilingTime:
    """Time of one unit or memory level alone.

    Args:
        floor_s: time at the peak rate.
        sustained_s: time at the measured rate.
    """

    floor_s: float
    sustained_s: float


@record
class KernelRow:
    """A kernel, with all its launches in one run.

    Args:
        index: position in execution order, from 0; other views refer to it.
        alike: index of the first kernel that is equal to it except for names.
        label: operators it executes.
        nodes: names of the ONNX nodes, in execution order.
        anchor: name of its heaviest node.
        frames: lines of code that construct and call its nodes, as in ``pkg/model.py:42``.
        title: short name, ``Conv 3x3 + Relu``.
        kind: class of its heaviest operator.
        dtype: element type of its multiply-accumulates.
        tier: coverage tier of its cost.
        launches: launches in one run.
        roofline_share: share of the sum of ``roofline_time_s``.
        roofline_time_s: sustained time plus launch gap; not a prediction.
        floor_s: lower bound of its time.
        sustained_s: time at measured rates, without launches.
        launch_gap_s: launch overhead of a kernel that is shorter than its launch.
        bound: limiting ceiling, as far as the kernel is known.
        next_bound: next ceiling of another unit or level; empty if there is none.
        margin: time of the limiting ceiling over that of the next; None if there is no next one or
            if the cost is not fully known.
        intensity_flop_per_byte: flop per compulsory byte; None if nothing moves.
        flop: operations; 1 mac is 2 flop.
        mac: multiply-accumulates.
        read_bytes: compulsory bytes read.
        write_bytes: compulsory bytes written.
        device_bytes: bytes charged to device memory in the sustained time.
        ceilings: time of every unit and memory level it uses.
        predicted: prediction, with the time and share of the kernel; None without predictions.
    """

    index: int
    alike: int
    label: str
    nodes: tuple[str, ...]
    anchor: str
    frames: tuple[str, ...]
    title: str
    kind: str
    dtype: str
    tier: str
    launches: float
    roofline_share: float
    roofline_time_s: float
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
    predicted: Forecast | None

    @property
    def held_by(self) -> str:
        """Return the ceiling that takes most of its time, predicted if there is a prediction."""
        return self.bound if self.predicted is None else self.predicted.bound

    @property
    def time_s(self) -> float:
        """Return its predicted time, or that at measured rates without a prediction."""
        return self.roofline_time_s if self.predicted is None else self.predicted.time_s

    @property
    def share(self) -> float:
        """Return its share of the predicted time, or of that at measured rates."""
        return self.roofline_share if self.predicted is None else self.predicted.share

    @property
    def is_bound(self) -> bool:
        """Return True if its numbers are lower bounds."""
        return self.flop.is_bound or self.read_bytes.is_bound or self.write_bytes.is_bound


SHARED = tuple([f.name for f in fields(KernelRow)][6:])
"""Fields that equal kernels share: all but the first six, which are indices, label, names, code."""


def collect(report: Report, *, predict: bool = False) -> tuple[KernelRow, ...]:
    """Collect the kernels of ``report`` in execution order."""
    total = report.roofline.time_s
    firsts: dict[tuple[object, ...], KernelRow] = {}
    twins: dict[tuple[object, ...], tuple[KernelRow, tuple[Any, ...]]] = {}
    rows: list[KernelRow] = []
    bounds = report.roofline.kernels
    predicted: Sequence[Estimate | None] = (None,) * len(bounds)
    energies: Sequence[Energy | None] = (None,) * len(bounds)
    whole_s = 0.0
    if predict:
        table = report.prediction
        predicted, energies, whole_s = table.kernels, table.energies, table.total.time_s
    for i, (bound, prediction, energy) in enumerate(zip(bounds, predicted, energies, strict=True)):
        local = names_and_frames(bound.kernel)
        # most equal kernels share these objects; only the first kernel with them is compared by its
        # full identity, which takes long
        twin = (bound.kernel.identity, bound.device_bytes, id(bound.floor), id(prediction))
        if twin not in twins:
            same = (*identity(bound), prediction)
            if same not in firsts:
                view = None if prediction is None else forecast(prediction, energy, whole_s, bound)
                firsts[same] = row(i, bound, total, report.env, view)
            first = firsts[same]
            twins[twin] = first, tuple([getattr(first, name) for name in SHARED])
        first, shared = twins[twin]
        rows.append(KernelRow(i, first.index, first.label, *local, *shared))
    return tuple(rows)


def names_and_frames(kernel: Kernel) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """Return names of the nodes, name of the heaviest one, and lines of code of all."""
    frames = dict.fromkeys(
        f for n in kernel.nodes for f in n.loc.frames if not f.startswith(CHECKPOINTED)
    )
    return tuple([n.name for n in kernel.nodes]), kernel.anchor.name, tuple(frames)


def identity(bound: KernelBound) -> tuple[object, ...]:
    """Return the identity that equal kernels share; transformer layers repeat a few kernels."""
    kernel = bound.kernel
    times = (*bound.floor.values(), *bound.sustained.values(), bound.launch_gap_s)
    counted = (kernel.work, kernel.traffic, kernel.repeat, bound.device_bytes)
    return kernel.label, kernel.tier, bound.dtype, bound.launches, times, counted


def row(
    index: int,
    bound: KernelBound,
    total_s: float,
    env: Mapping[str, int],
    predicted: Forecast | None = None,
) -> KernelRow:
    """Return the row of one kernel, as the first of the kernels that are equal to it."""
    kernel = bound.kernel
    work, traffic, repeat = kernel.work, kernel.traffic, kernel.repeat
    unsized = traffic.is_bound
    partial = kernel.tier.value in ("bytes only", "unknown")
    flop = amount(work.flop * repeat, env, Unit.FLOP, is_bound=partial)
    reads = amount(traffic.read_bytes * repeat, env, Unit.BYTE, is_bound=unsized)
    writes = amount(traffic.write_bytes * repeat, env, Unit.BYTE, is_bound=unsized)
    is_bound = flop.is_bound or reads.is_bound or writes.is_bound
    next_bound, margin = ("", None) if is_bound else runner_up(bound)
    nodes, anchor, frames = names_and_frames(kernel)
    return project(
        KernelRow,
        bound,
        index=index,
        alike=index,
        label=kernel.label,
        nodes=nodes,
        anchor=anchor,
        frames=frames,
        title=names.title(kernel),
        kind=kernel.kind.name.lower(),
        dtype=bound.dtype.code,
        tier=kernel.tier.value,
        roofline_share=ratio(bound.time_s, total_s),
        roofline_time_s=bound.time_s,
        bound=key(bound.binding),
        next_bound=next_bound,
        margin=margin,
        intensity_flop_per_byte=None if is_bound else bound.intensity_flop_per_byte,
        flop=flop,
        mac=amount(work.mac * repeat, env, Unit.MAC, is_bound=partial),
        read_bytes=reads,
        write_bytes=writes,
        ceilings={
            key(c): CeilingTime(bound.floor.get(c, 0.0), bound.sustained.get(c, 0.0))
            for c in Ceiling
            if c in bound.floor or c in bound.sustained
        },
        predicted=predicted,
    )


def runner_up(bound: KernelBound) -> tuple[str, float | None]:
    """Return the ceiling after the limiting one, and the ratio of their times.

    Partial waves and matrix units count as one ceiling.
    """
    top = bound.binding
    # partial waves are time of matrix units
    same = {top} if top not in (Ceiling.WAVES, Ceiling.MATRIX) else {Ceiling.WAVES, Ceiling.MATRIX}
    others = {c: t for c, t in bound.sustained.items() if c not in same and t > 0}
    if not others:
        return "", None
    second = max(others, key=others.__getitem__)
    longest = bound.launch_gap_s if top is Ceiling.LAUNCH else bound.sustained_s
    return key(second), longest / others[second]


@record
class KernelGroup:
    """Kernels that are equal except for names, in execution order."""

    rows: tuple[KernelRow, ...]

    @property
    def first(self) -> KernelRow:
        """Return the kernel that runs first."""
        return self.rows[0]

    @property
    def predicted_s(self) -> float:
        """Return the total predicted time; sustained time without a prediction."""
        return len(self.rows) * self.first.time_s

    @property
    def predicted_share(self) -> float:
        """Return the share of the predicted time."""
        return len(self.rows) * self.first.share


def groups(rows: Sequence[KernelRow]) -> list[KernelGroup]:
    """Group equal kernels, longest total time first."""
    by_first: dict[int, list[KernelRow]] = {}
    for r in rows:
        by_first.setdefault(r.alike, []).append(r)
    result = [KernelGroup(tuple(same)) for same in by_first.values()]
    return sorted(result, key=lambda g: (-g.predicted_s, g.first.index))


def predicted_time(name: str) -> Callable[[KernelGroup], float | None]:
    """Return the function for a time of the prediction of one kernel; None without one."""
    return lambda group: getattr(group.first.predicted, name, None)


COLUMNS = (
    Column("index", "#", Unit.COUNT, cell=attrgetter("first.index")),
    Column("share", "share", Unit.SHARE, cell=attrgetter("predicted_share")),
    Column("count", "n", Unit.COUNT, "equal kernels", cell=lambda g: len(g.rows)),
    Column("time_s", "each", Unit.SECOND, cell=attrgetter("first.roofline_time_s")),
    Column("predicted_s", "each", Unit.SECOND, cell=predicted_time("time_s")),
    Column(
        "floor_s",
        "bound",
        Unit.SECOND,
        LOWER_BOUND,
        is_spare=True,
        cell=attrgetter("first.floor_s"),
    ),
    Column("low_s", "low", Unit.SECOND, f"{INTERVAL}, up to high", cell=predicted_time("low_s")),
    Column(
        "high_s",
        "high",
        Unit.SECOND,
        is_spare=True,
        pair="low_s",
        cell=predicted_time("high_s"),
    ),
    Column("bound", "limited by", cell=lambda g: title(g.first.held_by)),
    Column("margin", "margin", Unit.RATIO, is_spare=True, cell=attrgetter("first.margin")),
    Column(
        "intensity",
        "flop/B",
        Unit.COUNT,
        is_spare=True,
        cell=attrgetter("first.intensity_flop_per_byte"),
    ),
    Column("dtype", "type", is_spare=True, cell=attrgetter("first.dtype")),
    Column("kernel", is_name=True, cell=lambda g: title_of(g.first)),
    Column("nodes", "<- ONNX nodes", is_name=True, cell=lambda g: names_of(g.first)),
)
"""Columns of the kernel table."""

PREDICTED = frozenset({"predicted_s", "low_s", "high_s"})
"""Columns that only reports with predictions show."""
BOUNDED = frozenset({"time_s", "margin", "intensity"})
"""Columns that only reports without predictions show."""


def section(rows: Sequence[KernelRow], top: int | None) -> Section:
    """Return the section of the longest kernel groups, or of every kernel if ``top`` is None."""
    if top is None:
        shown = [KernelGroup((r,)) for r in rows]
        heading = f"kernels: all {len(rows)}, in execution order"
    else:
        shown = groups(rows)[:top]
        count = sum(len(g.rows) for g in shown)
        carried = share(sum(g.predicted_share for g in shown))
        heading = f"kernels: {count} of {len(rows)}, {carried} of the time"
        heading += "" if count == len(rows) else " (--top all)"
    is_predicted = any(g.first.predicted is not None for g in shown)
    left_out = BOUNDED if is_predicted else PREDICTED
    if not rows:
        return Section("kernels", "kernels", (Note("no kernel is launched"),))
    columns = (c for c in COLUMNS if c.name not in left_out)
    parts: list[Table | Note] = [tabulate(columns, shown)]
    if any(g.first.is_bound for g in shown):
        words = "≥ marks lower bounds: part of the kernel's cost is unknown"
        parts.append(Note(words, is_warning=True))
    return Section("kernels", heading, tuple(parts))


def names_of(row: KernelRow) -> Name:
    """Return the nodes of a kernel, abbreviated to the first and the number of others."""
    more = f" +{len(row.nodes) - 1}" if len(row.nodes) > 1 else ""
    first = next(iter(row.nodes), "")
    # the arrow remains however short the cell
    return Name(f"<- {names.gathered(row.nodes)}", f"<- {first}{more}", leading=3)


def title_of(row: KernelRow) -> str:
    """Return the title of a kernel, with its launches if it has several."""
    text = f"≥ {row.title}" if row.is_bound else row.title
    return text if row.launches == 1 else f"{text} x{row.launches:g}"
