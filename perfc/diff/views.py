"""What a comparison shows: plain rows that every format is written from."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir.record import record
from perfc.report.units import DASH, Unit, quantity, share

from .blame import Culprit
from .difference import Difference
from .figures import Figure, Metric
from .kernels import KernelPair, known

SCHEMA = "perfc-diff/1"


@record
class TotalRow:
    """One metric of both models; None where nobody knows it.

    Args:
        metric: its name.
        unit: SI unit of the numbers.
        old: before.
        new: after.
        delta: new less old.
        relative: delta as a part of old; None where old is 0.
        origin: the weaker of the two numbers' origins.
        is_bound: whether either is only a lower bound.
        delta_low: lower end of the interval of the difference; None where nobody knows.
        delta_high: upper end.
    """

    metric: str
    unit: str
    old: float | None
    new: float | None
    delta: float | None
    relative: float | None
    origin: str
    is_bound: bool
    delta_low: float | None
    delta_high: float | None


@record
class CulpritRow:
    """A cause of the difference, with all that follows from it; deltas are new less old.

    Args:
        node: name of the node.
        op_type: its operator.
        what: what happened to it.
        count: how many alike there are; deltas are of all of them.
        share: part of the change of the blamed metric, signs disregarded.
        is_named: whether it is needed to explain nine tenths.
    """

    node: str
    op_type: str
    what: str
    count: int
    share: float
    is_named: bool
    time_s: float
    flop: float
    traffic_bytes: float
    parameters: float
    energy_j: float | None


@record
class KernelRow:
    """Kernels that execute the same nodes.

    Args:
        status: added, removed, changed or same.
        label: operators.
        node: name of the node it is named after.
        launches_old: kernels on the old side.
        launches_new: kernels on the new side.
        parameters_old: elements of the weights they read.
        live_bytes_old: most activation bytes alive while one of them runs.
        energy_j_old: predicted; None where nobody knows.
    """

    status: str
    label: str
    node: str
    launches_old: int
    launches_new: int
    time_s_old: float
    time_s_new: float
    floor_s_old: float
    floor_s_new: float
    flop_old: float
    flop_new: float
    traffic_bytes_old: float
    traffic_bytes_new: float
    parameters_old: float
    parameters_new: float
    live_bytes_old: float
    live_bytes_new: float
    energy_j_old: float | None
    energy_j_new: float | None

    @property
    def energy_j_delta(self) -> float | None:
        """What the change adds; None where nobody knows."""
        return known(self.energy_j_new, self.energy_j_old, -1)


@record
class ChangeRow:
    """A node that is not as it was.

    Args:
        status: added, removed or changed.
        op_type: operator.
        node: its name, in the new model where it has one there.
        details: what is different.
        is_carried: whether all of it follows from a change before it.
        cause: name of the node whose change this belongs to.
    """

    status: str
    op_type: str
    node: str
    details: tuple[str, ...]
    is_carried: bool
    cause: str


@record
class DiffViews:
    """Everything a comparison shows.

    Args:
        old: the old model as the user named it.
        new: the new one.
        target: what both were analysed on; "old -> new" where they differ.
        settings: what differs besides the model.
        totals: by metric.
        blame_metric: what the blame explains.
        blame: causes, largest first.
        kernels: all, in execution order.
        changes: all nodes that are not as they were.
        aligned_nodes: pairs of nodes.
        aligned_products: pairs of nodes with multiply-accumulates.
        products: nodes with multiply-accumulates, of the side that has more.
        is_complete: whether every total is a count and not a lower bound.
    """

    old: str
    new: str
    target: str
    settings: dict[str, tuple[str, str]]
    totals: tuple[TotalRow, ...]
    blame_metric: str
    blame: tuple[CulpritRow, ...]
    kernels: tuple[KernelRow, ...]
    changes: tuple[ChangeRow, ...]
    aligned_nodes: int
    aligned_products: int
    products: int
    is_complete: bool


def collect(d: Difference) -> DiffViews:
    """The rows of a comparison."""
    cause = {c: e.head.node.name for e in d.edits for c in e.changes}
    target = " -> ".join(dict.fromkeys((d.old.machine.name, d.new.machine.name)))
    return DiffViews(
        d.old_label,
        d.new_label,
        target,
        {name: (old, new) for name, old, new in d.settings},
        tuple(total_row(m, old, new, d) for m, (old, new) in d.totals.items()),
        d.blame.metric.key,
        tuple(culprit_row(c, k < d.blame.named) for k, c in enumerate(d.blame.culprits)),
        tuple(kernel_row(k) for k in d.kernels),
        tuple(
            ChangeRow(
                c.status.value, c.op_type, c.node.name, c.details, c.is_carried, cause.get(c, "")
            )
            for c in d.changes
        ),
        d.aligned,
        d.aligned_products[0],
        d.aligned_products[1],
        d.is_complete,
    )


def total_row(metric: Metric, old: Figure | None, new: Figure | None, d: Difference) -> TotalRow:
    """One metric side by side."""
    figures = [f for f in (old, new) if f is not None]
    before = None if old is None else old.value
    after = None if new is None else new.value
    delta = known(after, before, -1)
    low, high = d.intervals.get(metric, (None, None))
    return TotalRow(
        metric.key,
        metric.unit.value,
        before,
        after,
        delta,
        delta / before if delta is not None and before else None,
        str(max(f.origin for f in figures)),
        any(f.is_bound for f in figures),
        low,
        high,
    )


def culprit_row(c: Culprit, is_named: bool) -> CulpritRow:
    """One cause."""
    return CulpritRow(
        c.name,
        c.op_type,
        c.what,
        c.count,
        c.share,
        is_named,
        c.delta.time_s,
        c.delta.flop,
        c.delta.nbytes,
        c.parameters,
        c.delta.energy_j,
    )


def kernel_row(pair: KernelPair) -> KernelRow:
    """Kernels side by side."""
    a, b = pair.before, pair.after
    if not pair.old:
        status = "added"
    elif not pair.new:
        status = "removed"
    else:
        status = "same" if pair.is_same else "changed"
    return KernelRow(
        status,
        pair.label,
        pair.name,
        len(pair.old),
        len(pair.new),
        a.time_s,
        b.time_s,
        a.floor_s,
        b.floor_s,
        a.flop,
        b.flop,
        a.nbytes,
        b.nbytes,
        a.parameters,
        b.parameters,
        a.live_bytes,
        b.live_bytes,
        a.energy_j,
        b.energy_j,
    )


def signed(value: float | None, unit: Unit) -> str:
    """A difference with its sign: ``+1.31 ms``, ``0`` where there is none, a dash where unknown."""
    if value is None:
        return DASH
    if not value:
        return "0"
    text = share(abs(value)) if unit is Unit.SHARE else quantity(abs(value), unit)
    if not text[0].isdigit():
        text = f"{abs(value) * 100:.{2 if abs(value) < 0.5 else 6}g} %"
    return f"{'+' if value > 0 else '-'}{text}"


def percent(relative: float | None) -> str:
    """A relative difference with its sign; a dash where there is nothing to compare with."""
    return DASH if relative is None else signed(relative, Unit.SHARE)


def in_words(rows: Sequence[CulpritRow], limit: int = 6) -> str:
    """The culprits named, as one line."""
    named = [r for r in rows if r.is_named]
    parts = [
        f"{r.node} ({r.op_type}{f', {r.what}' if r.what else ''})"
        + (f" and {r.count - 1} similar" if r.count > 1 else "")
        + f" {share(r.share)}"
        for r in named[:limit]
    ]
    more = f"; and {len(named) - limit} more" if len(named) > limit else ""
    return "; ".join(parts) + more
