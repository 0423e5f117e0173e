"""Match kernels of two analyses that execute the same nodes, and bound their differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from perfc.analyzers.estimate.estimate import Estimate, Predictor
from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.features.lowering import lower
from perfc.ir import Node, Numbers, record
from perfc.ir.graphs.groups import root
from perfc.passes.roofline.roofline import KernelBound
from perfc.review.diff.shared_errors import NINE_IN_TEN, Uncertain, coordinates, difference
from perfc.view.report.memory_sections.memory import needed

from .align import Alignment
from .figures import NANOSECOND, ROUNDING, Metric

if TYPE_CHECKING:
    from perfc.analyzers.runs.energy import Energy
    from perfc.api import Report
    from perfc.passes.fusion.kernel import Kernel


@record
class TotalCost:
    """Total cost of several kernels.

    Args:
        time_s: predicted time of all launches.
        floor_s: lower bound of the time.
        flop: operations of the nodes.
        mac: multiply-accumulates.
        nbytes: compulsory traffic.
        energy_j: predicted energy; None if unknown for a kernel.
        parameters: elements of the weights that the kernels read.
        live_bytes: peak of live activations while one of them runs.
    """

    time_s: float = 0.0
    floor_s: float = 0.0
    flop: float = 0.0
    mac: float = 0.0
    nbytes: float = 0.0
    # not compared, as they may change for a kernel that was not edited
    energy_j: float | None = field(default=0.0, compare=False)
    parameters: float = field(default=0.0, compare=False)
    live_bytes: float = field(default=0.0, compare=False)

    def __sub__(self, other: TotalCost) -> TotalCost:
        return self._plus(other, -1)

    def __add__(self, other: TotalCost) -> TotalCost:
        return replace(self._plus(other, 1), live_bytes=max(self.live_bytes, other.live_bytes))

    def _plus(self, other: TotalCost, sign: int) -> TotalCost:
        """Return the sum or difference of each field."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        each: list[Any] = [known(a, b, sign) for a, b in pairs]
        return TotalCost(*each)


def known(a: float | None, b: float | None, sign: int = 1) -> float | None:
    """Return ``a + sign * b``; None if either is unknown."""
    return None if a is None or b is None else a + sign * b


NOTHING = TotalCost()
"""Cost of no kernel."""


@dataclass(frozen=True, eq=False, slots=True)
class TimedKernel:
    """A kernel of one side with its prediction."""

    bound: KernelBound
    prediction: Estimate
    energy: Energy | None

    @property
    def kernel(self) -> Kernel:
        """Return the kernel with its nodes and counts."""
        return self.bound.kernel


@dataclass(frozen=True, eq=False, slots=True)
class KernelPair:
    """Old and new kernels that execute the same nodes; either side may be empty.

    A side has several kernels if the other one executes their nodes in one kernel, or if they
    share nodes.

    Args:
        old: old kernels.
        new: new kernels.
        before: cost of the old kernels.
        after: cost of the new kernels.
    """

    old: tuple[TimedKernel, ...]
    new: tuple[TimedKernel, ...]
    before: TotalCost
    after: TotalCost

    @property
    def delta(self) -> TotalCost:
        """Return the new minus old cost; times that differ by less than is printed are equal."""
        delta = self.after - self.before
        time_s, floor_s = delta.time_s, delta.floor_s
        return replace(
            delta,
            time_s=time_s if abs(time_s) > max(ROUNDING * self.before.time_s, NANOSECOND) else 0.0,
            floor_s=floor_s if abs(floor_s) > ROUNDING * self.before.floor_s else 0.0,
        )

    @property
    def is_same(self) -> bool:
        """Return True if both sides have equal cost."""
        return bool(self.old and self.new) and self.delta == NOTHING

    @property
    def label(self) -> str:
        """Return the operators of the kernels, of both sides if they differ."""
        sides = [" | ".join(t.kernel.label for t in side) for side in (self.old, self.new) if side]
        return " -> ".join(dict.fromkeys(sides))

    @property
    def nodes(self) -> Iterator[Node]:
        """Yield the nodes of both sides."""
        for timed in (*self.new, *self.old):
            yield from timed.kernel.nodes

    @property
    def name(self) -> str:
        """Return the name of the kernel's anchor node."""
        return (*self.new, *self.old)[0].kernel.anchor.name

    @property
    def status(self) -> str:
        """Return the status of the kernels: added, removed, same or changed."""
        if not self.old:
            return "added"
        return "removed" if not self.new else "same" if self.is_same else "changed"


def kernel_pairs(
    old: Report,
    new: Report,
    alignment: Alignment,
    *,
    is_comparable: bool = False,
) -> tuple[KernelPair, ...]:
    """Match the kernels of both analyses, in the new order; removed ones last.

    Args:
        old: old analysis.
        new: new analysis.
        alignment: alignment of their nodes.
        is_comparable: whether one run factor, the geometric mean of both, holds for both runs.
    """
    scales = [report.prediction.scale for report in (old, new)]
    if is_comparable:
        # one factor that does not depend on the order of the two runs
        scales = [math.sqrt(scales[0] * scales[1]) if scales[0] != scales[1] else scales[0]] * 2
    left, right = timed(old, scales[0]), timed(new, scales[1])
    # both sides in one list, old kernels first; kernels with aligned nodes join into one group
    parent = list(range(len(left) + len(right)))
    of_old = {n: i for i, b in enumerate(left) for n in b.kernel.nodes}
    of_new = {n: i + len(left) for i, b in enumerate(right) for n in b.kernel.nodes}
    helpers_old, helpers_new = helpers(left), helpers(right)
    for a, b in alignment.pairs:
        if a in of_old and b in of_new:
            parent[root(parent, of_old[a])] = root(parent, of_new[b])
        # helper launches have no node: they are aligned by the node that each serves
        places = helpers_new.get(b.name, {})
        for place, i in helpers_old.get(a.name, {}).items():
            if place in places:
                parent[root(parent, i)] = root(parent, len(left) + places[place])
    groups: dict[int, tuple[list[TimedKernel], list[TimedKernel]]] = {}
    # new kernels first: groups stand in the order of the new run
    for k in (*range(len(left), len(parent)), *range(len(left))):
        before, after = groups.setdefault(root(parent, k), ([], []))
        if k < len(left):
            before.append(left[k])
        else:
            after.append(right[k - len(left)])
    of_before, of_after = Loads(old), Loads(new)
    return tuple(
        KernelPair(tuple(a), tuple(b), of_before(a), of_after(b)) for a, b in groups.values()
    )


def helpers(kernels: Sequence[TimedKernel]) -> dict[str, dict[tuple[str, int], int]]:
    """Return indices of helper launches by the name of the node that each serves.

    Within a node they are keyed by label and number of earlier launches with the same label.
    """
    by_node: dict[str, dict[tuple[str, int], int]] = {}
    for i, timed in enumerate(kernels):
        if timed.kernel.helper is not None:
            places = by_node.setdefault(timed.kernel.anchor.name, {})
            label = timed.kernel.label
            places[label, sum(other == label for other, _ in places)] = i
    return by_node


def timed(report: Report, scale: float) -> list[TimedKernel]:
    """Return the kernels of an analysis with their predictions, at a factor of the run."""
    table = report.prediction
    table = replace(table, kernels=table.at_scale(scale))
    kernels = table.kernels
    energies = table.energies or (None,) * len(kernels)
    rows = zip(report.roofline.kernels, kernels, energies, strict=True)
    return [TimedKernel(*row) for row in rows]


class Loads:
    """Sums over kernels of one analysis."""

    def __init__(self, report: Report) -> None:
        self.stored = report.parameter_table
        self.at = Numbers(report.env)
        table = needed(report)
        self.live = dict(zip(table.steps, table.timeline(report.env), strict=True))

    def __call__(self, side: Sequence[TimedKernel]) -> TotalCost:
        """Return the total cost of kernels, with all launches."""
        at, total = self.at, NOTHING
        for t in side:
            kernel, repeat = t.kernel, at(t.kernel.repeat)
            total += TotalCost(
                time_s=t.prediction.time_s,
                floor_s=t.bound.floor_s,
                flop=at(kernel.work.flop) * repeat,
                mac=at(kernel.work.mac) * repeat,
                nbytes=at(kernel.traffic.nbytes) * repeat,
                energy_j=None if t.energy is None else t.energy.energy_j,
                parameters=self.parameters(kernel.nodes),
                live_bytes=max((self.live.get(n, 0) for n in kernel.nodes), default=0),
            )
        return total

    def parameters(self, nodes: Iterable[Node]) -> float:
        """Return the elements of the distinct parameters that ``nodes`` read."""
        read = self.stored.behind(v for n in nodes for v in n.inputs)
        return sum(map(self.at, read.values()))


def uncertain(t: TimedKernel, metric: Metric, env: Mapping[str, int]) -> Uncertain | None:
    """Return the estimate of a kernel for a difference; None if unknown.

    Its coordinates are the extents that the operator predictor reads, without derived ones;
    otherwise its counts.
    """
    # classes of kernels need numpy, which lower bounds do not
    from perfc.analyzers.features.classes import classes

    k, counts = t.prediction, t.bound.counts
    amount = k.summed
    if metric is Metric.ENERGY:
        if t.energy is None:
            return None
        amount = Interval(t.energy.low_j, t.energy.energy_j, t.energy.high_j)
    is_described = k.predictor in (Predictor.LAW, Predictor.LEARNED)
    row = lower(t.bound, env) if is_described else None
    derived = classes()[row.class_name].derived if row and row.class_name in classes() else ()
    place = (
        {"flop": counts.flop, "read_bytes": counts.read_bytes, "write_bytes": counts.write_bytes}
        if row is None
        else {n: v for n, v in row.parameters.items() if n not in derived}
    )
    is_at_floor = metric is Metric.TIME and amount.low <= t.bound.floor_s * (1 + ROUNDING)
    # the errors of laws have no semivariogram: that of the forest of the class stands in for it, as
    # errors of forests vary more between kernels
    group = k.predictor.value, k.class_name
    if row is not None and row.class_name in classes():
        group = Predictor.LEARNED.value, row.class_name
    return Uncertain(group, coordinates(place), amount, is_at_floor)


def spread(
    old: tuple[Report, Sequence[TimedKernel]],
    new: tuple[Report, Sequence[TimedKernel]],
    metric: Metric,
    deviations: float = NINE_IN_TEN,
) -> tuple[float, float] | None:
    """Return how far a difference may lie below and above its value; None if nothing differs.

    Errors that old and new kernels share cancel, see `perfc.review.diff.shared_errors`. The
    shared part of the error of energy is assumed to be that of time.

    Args:
        old: old analysis, and the kernels that count.
        new: new analysis, and the kernels that count.
        metric: time or energy.
        deviations: standard deviations on either side.
    """
    sides: list[list[Uncertain]] = []
    for report, kernels in (old, new):
        estimates = [uncertain(t, metric, report.env) for t in kernels]
        if any(k is None for k in estimates):
            return None
        sides.append([k for k in estimates if k is not None])
    change = difference(sides[0], sides[1], deviations)
    return None if change is None else (change.mid - change.low, change.high - change.mid)
