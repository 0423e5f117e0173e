"""Comparison of two analyses: totals, nodes, kernels and blame."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perfc.ir import Module, Node, Numbers, Value
from perfc.review.diff.shared_errors import NINE_IN_TEN, ONE_SIDED

from .align import Alignment, align
from .blame import Blame, at_changed_lines, by_edit, by_kernel
from .changes import Change, Edit, changes, edits
from .figures import ESTIMATES, Figure, Metric, figures, is_equal
from .kernels import KernelPair, kernel_pairs, spread
from .labels import DiffSide, Labels

if TYPE_CHECKING:
    from perfc.api import Report

    from ..code.changed_lines import CodeChange


@dataclass(frozen=True)
class Difference:
    """Difference of two models.

    Args:
        old: analysis of the old model.
        new: analysis of the new model.
        old_label: name of the old model.
        new_label: name of the new model.
        settings: other differences of the analyses: target, runtime, extents, opset.
        totals: old and new figure of every metric; None if unknown.
        aligned: number of matched nodes.
        aligned_products: number of matched nodes with multiply-accumulates, and the maximum over
            both sides.
        equal_products: number of pairs of products with equal work.
        changes: changed, added and removed nodes.
        edits: changes grouped by cause.
        kernels: kernels of both sides, matched.
        blame: causes of the difference.
        is_complete: True if no total of either side is a lower bound.
        intervals: 90 % prediction intervals of differences of estimates. Each contains the
            difference of the totals.
        kernel_changes: differences of estimates due to changed kernels only.
        surely: one-sided 90 % lower limit of the changes. A gate needs one side only, so it lies
            above the lower end of the interval, which leaves 5 % on either side.
    """

    old: Report
    new: Report
    old_label: str
    new_label: str
    settings: tuple[tuple[str, str, str], ...]
    totals: Mapping[Metric, tuple[Figure | None, Figure | None]]
    aligned: int
    aligned_products: tuple[int, int]
    equal_products: int
    changes: tuple[Change, ...]
    edits: tuple[Edit, ...]
    kernels: tuple[KernelPair, ...]
    blame: Blame
    is_complete: bool
    intervals: Mapping[Metric, tuple[float, float]] = field(default_factory=dict)
    kernel_changes: Mapping[Metric, float] = field(default_factory=dict)
    surely: Mapping[Metric, float] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Return True if all totals are equal, also if nodes of known cost moved or changed."""
        is_known = self.is_complete or not self.changes
        return is_known and all(map(self.is_equal, self.totals))

    def is_equal(self, metric: Metric) -> bool:
        """Return True if both totals of a metric are known and equal."""
        (old, new), time = self.totals[metric], self.totals[Metric.TIME][0]
        time_s = time.value if time else 0.0
        return old is not None and new is not None and is_equal(metric, old, new, time_s)


def compare(
    old: Report,
    new: Report,
    labels: tuple[str, str] = ("", ""),
    change: CodeChange | None = None,
) -> Difference:
    """Compare two analyses.

    Args:
        old: the first.
        new: the second.
        labels: their names.
        change: change of the code, of which each cause gets the nearest line; None for files.

    >>> import perfc
    >>> one = perfc.analyze("examples/models/resnet50.onnx.gz")
    >>> compare(one, one).is_empty
    True
    """
    left, right = DiffSide(old.env, old.cost.nodes), DiffSide(new.env, new.cost.nodes)
    alignment = align(old.module.graph, new.module.graph, left, right)
    ours, theirs = Labels(left), Labels(right)
    changed = changes(alignment, ours, theirs)
    order = execution_order(old.module, new.module, alignment)
    groups = edits(changed, alignment, order)
    pairs = kernel_pairs(old, new, alignment, is_comparable=is_comparable(old, new))
    is_edited = any(not c.is_carried for c in changed)  # carried: only its operand types differ
    blame = by_edit(groups, pairs, parameters(old, new), order) if is_edited else by_kernel(pairs)
    blame = blame if change is None else at_changed_lines(blame, change)
    products = sum(ours.mac(a) > 0 and theirs.mac(b) > 0 for a, b in alignment.pairs)
    most_products = max(
        sum(side.mac(n) > 0 for n in report.cost.nodes)
        for side, report in ((ours, old), (theirs, new))
    )
    before, after = figures(old), figures(new)
    of_kernels = kernel_changes(old, new, pairs, before, after)
    reports = (old, new)
    return Difference(
        old,
        new,
        labels[0] or old.path or old.source.name,
        labels[1] or new.path or new.source.name,
        tuple(settings(old, new)),
        {m: (before.get(m), after.get(m)) for m in Metric if m in before or m in after},
        len(alignment.pairs),
        (products, most_products),
        sum(ours.mac(a) == theirs.mac(b) > 0 for a, b in alignment.pairs),
        tuple(changed),
        groups,
        pairs,
        blame,
        is_complete=not (old.cost.is_bound or new.cost.is_bound),
        intervals={
            m: (min(low, of_totals), max(high, of_totals))  # the difference of totals is inside too
            for m, (low, high) in intervals(of_kernels, pairs, reports)
            for of_totals in [after[m].value - before[m].value]
        },
        kernel_changes=of_kernels,
        surely={m: low for m, (low, _) in intervals(of_kernels, pairs, reports, ONE_SIDED)},
    )


def is_comparable(old: Report, new: Report) -> bool:
    """Return True if only the model differs, and one predictor gives the time of both runs.

    If so, kernels of both sides are scaled by one run factor, the geometric mean of both: the time
    of a run over that of its timeline of kernels. Two factors would differ by the error of a
    whole-run predictor, which on two nearly equal runs may exceed the effect of an edit.
    """
    ours, theirs = old.prediction.total.predictor, new.prediction.total.predictor
    return bool(ours) and ours == theirs and not settings(old, new)


def kernel_changes(
    old: Report,
    new: Report,
    pairs: Sequence[KernelPair],
    before: Mapping[Metric, Figure],
    after: Mapping[Metric, Figure],
) -> dict[Metric, float]:
    """Return the differences of time and energy: sums over the changed kernels and fixed time.

    If one predictor does not give the time of both runs, they are the differences of the totals.
    """
    if not is_comparable(old, new):
        return {
            m: after[m].value - before[m].value for m in ESTIMATES if m in before and m in after
        }
    deltas = [pair.delta for pair in pairs]
    fixed_s = new.prediction.total.fixed_s - old.prediction.total.fixed_s
    result = {Metric.TIME: math.fsum([*(delta.time_s for delta in deltas), fixed_s])}
    if Metric.ENERGY in before and Metric.ENERGY in after:
        result[Metric.ENERGY] = math.fsum([delta.energy_j or 0.0 for delta in deltas])
    return result


def intervals(
    changes: Mapping[Metric, float],
    pairs: Sequence[KernelPair],
    reports: tuple[Report, Report],
    deviations: float = NINE_IN_TEN,
) -> Iterator[tuple[Metric, tuple[float, float]]]:
    """Yield intervals around changes of estimates, several standard deviations to either side.

    Only changed kernels widen them. The changes may differ from the sums over kernels, as runs
    overlap launches.
    """
    changed = [p for p in pairs if not p.is_same]
    old, new = [t for p in changed for t in p.old], [t for p in changed for t in p.new]
    for m, change in changes.items():
        ends = spread((reports[0], old), (reports[1], new), m, deviations)
        if ends is not None:
            below, above = ends
            yield m, (change - below, change + above)


def execution_order(old: Module, new: Module, alignment: Alignment) -> dict[Node, int]:
    """Return a position for every node of both graphs: the new order, removed nodes in between.

    Nodes that were removed before the first match have the position of the first new node.
    """
    # new nodes have even places; the odd place after one is for nodes removed after its partner
    place: dict[Node, int] = {n: 2 * i for i, n in enumerate(new.graph.nodes)}
    partner = dict(alignment.pairs)
    # nodes removed before the first match get place 0: before all new nodes they would take the
    # blame for changes of kernels that follow them
    last = -1
    for n in old.graph.nodes:
        if n in partner:
            last = place[n] = place[partner[n]]
        else:
            place[n] = last + 1
    return place


def parameters(old: Report, new: Report) -> dict[Node, float]:
    """Return the parameter elements that each node of both graphs reads.

    A parameter with several readers counts for the first of them.
    """
    elements: dict[Node, float] = {}
    for report in (old, new):
        at = Numbers(report.env)
        seen: set[Value] = set()
        for node in report.module.graph.nodes:
            read = report.parameter_table.behind(node.inputs)
            elements[node] = sum(at(count) for v, count in read.items() if v not in seen)
            seen.update(read)
    return elements


def settings(old: Report, new: Report) -> list[tuple[str, str, str]]:
    """Return settings that differ between two analyses: name, old, new."""
    rows = [
        ("target", old.machine.name, new.machine.name),
        ("runtime", old.kernels.runtime.name, new.kernels.runtime.name),
        ("precision", old.dtype or "as in the model", new.dtype or "as in the model"),
        ("tf32", old.tf32.title, new.tf32.title),
        ("opset", opset(old.source), opset(new.source)),
    ]
    labels = {**old.source.labels, **new.source.labels}
    for name in dict.fromkeys((*old.env, *new.env)):
        if name in old.env and name in new.env:
            rows.append((labels.get(name, name), str(old.env[name]), str(new.env[name])))
    return [row for row in rows if row[1] != row[2]]


def opset(module: Module) -> str:
    """Return the version of the standard operators."""
    return str(dict(module.origin.opsets).get("", "none"))
