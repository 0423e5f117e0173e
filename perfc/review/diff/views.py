"""Rows of a diff, from which every format is written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from perfc.ir import record
from perfc.ir.record import project
from perfc.view.report.units import share
from perfc.view.result import Result

from .blame import Blame
from .difference import Difference
from .figures import NANOSECOND, Figure, Metric
from .kernels import KernelPair, known
from .lines import LineRow, changed_lines

if TYPE_CHECKING:
    from ..lint.finding import Finding


@record
class TotalRow:
    """One metric of both models; None if unknown.

    Args:
        metric: key of the metric.
        unit: SI unit of the numbers.
        old: old value.
        new: new value.
        delta: new minus old.
        relative: delta over old; None if old is 0.
        origin: weaker of the two origins.
        is_bound: True if either is a lower bound.
        delta_low: lower end of the 90 % interval of the difference; None if unknown.
        delta_high: upper end of the interval.
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
    """A cause of the difference with its consequences; deltas are new minus old.

    Args:
        node: name of the node.
        op_type: operator of the node.
        what: description of the change.
        count: number of equal causes; deltas are totals.
        share: share of the change of the blamed metric, by absolute value.
        is_named: True if it is among the causes of 90 % of the change.
        source: file and line of the code of the node; empty if unknown.
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
    source: str


@record
class KernelPairRow:
    """Kernels that execute the same nodes, with the cost of the old and of the new ones.

    Args:
        status: added, removed, changed or same.
        label: operators.
        node: name of the anchor node.
        launches_old: kernels on the old side.
        launches_new: kernels on the new side.
        parameters_old: elements of the weights that they read.
        live_bytes_old: peak of live activations while one of them runs.
        energy_j_old: predicted energy; None if unknown.
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
        """Return the new minus old energy; None if unknown."""
        return known(self.energy_j_new, self.energy_j_old, -1)


@record
class ChangeRow:
    """A changed, added or removed node.

    Args:
        status: added, removed, changed, moved or duplicated.
        op_type: operator.
        node: name, preferably in the new model.
        details: differences.
        is_carried: True if it only follows from an earlier change.
        cause: name of the node that caused the change.
        source: file and line of the code of the node; empty if unknown.
    """

    status: str
    op_type: str
    node: str
    details: tuple[str, ...]
    is_carried: bool
    cause: str
    source: str


@record
class DiffViews(Result):
    """Views of a diff.

    Args:
        old: name of the old model.
        new: name of the new model.
        target: target of the analyses; "old -> new" if they differ.
        settings: settings that differ.
        totals: totals by metric.
        blame_metric: metric that the causes explain.
        blame: causes, largest first.
        lines: changed lines of code that explain it; none for files.
        kernels: all kernels, in execution order.
        changes: all changed, added and removed nodes.
        aligned_nodes: number of matched nodes.
        aligned_products: number of matched nodes with multiply-accumulates.
        products: nodes with multiply-accumulates on the side with more.
        is_complete: True if no total is a lower bound.
        fixed_s_old: predicted time of the old run that is of no kernel.
        fixed_s_new: predicted time of the new run that is of no kernel.
        is_equal: True if all totals are equal, and complete if nodes changed.
        factor_s: time that the difference of run factors adds. ``kernels`` of both sides have the
            geometric mean of both if only the model differs.
    """

    layout: ClassVar[str] = "perfc.review.diff.sections:LAYOUT"
    old: str
    new: str
    target: str
    settings: dict[str, tuple[str, str]]
    totals: tuple[TotalRow, ...]
    blame_metric: str
    blame: tuple[CulpritRow, ...]
    lines: tuple[LineRow, ...]
    kernels: tuple[KernelPairRow, ...]
    changes: tuple[ChangeRow, ...]
    aligned_nodes: int
    aligned_products: int
    products: int
    is_complete: bool
    is_equal: bool
    fixed_s_old: float
    fixed_s_new: float
    factor_s: float


def collect(d: Difference, findings: Sequence[Finding] = ()) -> DiffViews:
    """Collect the views of a diff, with what `perfc lint` finds in the new model."""
    cause = {c: e.head.node.name for e in d.edits for c in e.changes}
    target = " -> ".join(dict.fromkeys((d.old.machine.name, d.new.machine.name)))
    return DiffViews(
        d.old_label,
        d.new_label,
        target,
        {name: (old, new) for name, old, new in d.settings},
        tuple(total_row(m, old, new, d) for m, (old, new) in d.totals.items()),
        d.blame.metric.key,
        () if d.is_empty else culprit_rows(d.blame),
        changed_lines(d, findings),
        tuple(kernel_row(k) for k in d.kernels),
        tuple(
            project(
                ChangeRow, c, node=c.node.name, cause=cause.get(c, ""), source=c.node.loc.source
            )
            for c in d.changes
        ),
        aligned_nodes=d.aligned,
        aligned_products=d.aligned_products[0],
        products=d.aligned_products[1],
        is_complete=d.is_complete,
        is_equal=d.is_empty,
        fixed_s_old=d.old.prediction.total.fixed_s,
        fixed_s_new=d.new.prediction.total.fixed_s,
        factor_s=math.fsum(
            [
                d.new.prediction.kernels_s - math.fsum(k.after.time_s for k in d.kernels),
                math.fsum(k.before.time_s for k in d.kernels) - d.old.prediction.kernels_s,
            ]
        ),
    )


def total_row(metric: Metric, old: Figure | None, new: Figure | None, d: Difference) -> TotalRow:
    """Return the row of one metric."""
    figures = [f for f in (old, new) if f is not None]
    before = None if old is None else old.value
    after = None if new is None else new.value
    delta = known(after, before, -1)
    low, high = d.intervals.get(metric, (None, None))
    if d.is_equal(metric):
        delta, low, high = 0.0, None, None
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


def culprit_rows(blame: Blame) -> tuple[CulpritRow, ...]:
    """Return the rows of the causes that change a cost by at least what is printed."""
    return tuple(
        project(
            CulpritRow,
            c,
            node=c.name,
            is_named=k < blame.named,
            time_s=d.time_s,
            flop=d.flop,
            traffic_bytes=d.nbytes,
            energy_j=d.energy_j,
        )
        for k, c in enumerate(blame.culprits)
        for d in [c.delta]
        if abs(d.time_s) >= NANOSECOND or d.flop or d.nbytes or c.parameters or d.live_bytes
    )


def kernel_row(pair: KernelPair) -> KernelPairRow:
    """Return the row of one pair of kernels."""
    quantities = ["time_s", "floor_s", "flop", "nbytes", "parameters", "live_bytes", "energy_j"]
    return KernelPairRow(
        pair.status,
        pair.label,
        pair.name,
        len(pair.old),
        len(pair.new),
        # old and new value of each quantity, in the order of the fields
        *(getattr(side, name) for name in quantities for side in (pair.before, pair.after)),
    )


def in_words(rows: Sequence[CulpritRow], limit: int = 6) -> str:
    """Describe the named causes in one line, ``limit`` of them so that it can be read."""
    named = [r for r in rows if r.is_named]
    parts = [
        f"{r.node} ({r.op_type}{f', {r.what}' if r.what else ''})"
        + (f" at {r.source}" if r.source else "")
        + (f" and {r.count - 1} similar" if r.count > 1 else "")
        + f" {share(r.share)}"
        for r in named[:limit]
    ]
    more = f"; and {len(named) - limit} more" if len(named) > limit else ""
    return "; ".join(parts) + more
