"""Kernels of two analyses side by side: those that execute the same nodes make one row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from perfc.analyzers.estimate.estimate import Predictor
from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.features.lowering import lower
from perfc.analyzers.features.table import class_of
from perfc.analyzers.intervals.difference import (
    NINE_IN_TEN,
    Uncertain,
    coordinates,
    difference,
)
from perfc.ir.evaluate import Numbers
from perfc.ir.graph import Node
from perfc.ir.record import record
from perfc.passes.roofline import KernelBound

from .align import Alignment
from .figures import Metric

if TYPE_CHECKING:
    from perfc.analyzers.estimate.estimate import Estimate
    from perfc.analyzers.runs.energy import Energy
    from perfc.api import Report
    from perfc.passes.fuse import Kernel


@record
class Load:
    """What kernels amount to together.

    Args:
        time_s: predicted, all launches together, as its share of the run.
        floor_s: lower bound of it.
        flop: of the graph's nodes.
        mac: of them on the matrix unit, or in loops of products.
        nbytes: compulsory traffic.
        energy_j: predicted; None where nobody knows it of all kernels.
        parameters: elements of the weights that each of the kernels reads.
        live_bytes: most activation bytes alive while one of them runs.
    """

    time_s: float = 0.0
    floor_s: float = 0.0
    flop: float = 0.0
    mac: float = 0.0
    nbytes: float = 0.0
    # of these a kernel may have others though nobody touched it
    energy_j: float | None = field(default=0.0, compare=False)
    parameters: float = field(default=0.0, compare=False)
    live_bytes: float = field(default=0.0, compare=False)

    def __sub__(self, other: Load) -> Load:
        return Load(
            self.time_s - other.time_s,
            self.floor_s - other.floor_s,
            self.flop - other.flop,
            self.mac - other.mac,
            self.nbytes - other.nbytes,
            known(self.energy_j, other.energy_j, -1),
            self.parameters - other.parameters,
            self.live_bytes - other.live_bytes,
        )

    def __add__(self, other: Load) -> Load:
        return Load(
            self.time_s + other.time_s,
            self.floor_s + other.floor_s,
            self.flop + other.flop,
            self.mac + other.mac,
            self.nbytes + other.nbytes,
            known(self.energy_j, other.energy_j),
            self.parameters + other.parameters,
            max(self.live_bytes, other.live_bytes),
        )


def known(a: float | None, b: float | None, sign: int = 1) -> float | None:
    """Sum of two numbers, None where either is not known."""
    return None if a is None or b is None else a + sign * b


NOTHING = Load()
SMALLEST = 1e-12
"""Sums of floating-point numbers in another order differ by less than this part of themselves."""


@dataclass(frozen=True, eq=False, slots=True)
class Timed:
    """A kernel of one side with what is predicted for it."""

    bound: KernelBound
    prediction: Estimate
    energy: Energy | None

    @property
    def kernel(self) -> Kernel:
        """The nodes it executes, and their counts."""
        return self.bound.kernel


@dataclass(frozen=True, eq=False, slots=True)
class KernelPair:
    """Kernels that execute the same nodes before and after; either side may be empty.

    Several on one side are one kernel on the other, or share nodes across both.

    Args:
        old: kernels before.
        new: kernels after.
        before: the old kernels, with their shares of the old run's printed time.
        after: the new kernels, with their shares of the new run's printed time.
        rescaled: the new kernels in the proportions of the old run, where a predictor of whole
            runs answers for each side and so moves every kernel; None where `after` is that.
    """

    old: tuple[Timed, ...]
    new: tuple[Timed, ...]
    before: Load
    after: Load
    rescaled: Load | None = None

    @property
    def delta(self) -> Load:
        """After less before, as the printed totals have them."""
        return self.less_before(self.after)

    @property
    def change(self) -> Load:
        """After less before in one run's proportions: nothing where no kernel changed."""
        return self.less_before(self.rescaled or self.after)

    def less_before(self, after: Load) -> Load:
        """``after`` less before; times that differ by rounding only are equal."""
        found = after - self.before
        return replace(
            found,
            time_s=found.time_s if abs(found.time_s) > SMALLEST * self.before.time_s else 0.0,
            floor_s=found.floor_s if abs(found.floor_s) > SMALLEST * self.before.floor_s else 0.0,
        )

    @property
    def is_same(self) -> bool:
        """Whether it amounts to the same."""
        return bool(self.old and self.new) and self.change == NOTHING

    @property
    def label(self) -> str:
        """Operators of its kernels, both where they differ."""
        sides = [" | ".join(t.kernel.label for t in side) for side in (self.old, self.new) if side]
        return " -> ".join(dict.fromkeys(sides))

    @property
    def nodes(self) -> Iterator[Node]:
        """Nodes of both sides."""
        for timed in (*self.new, *self.old):
            yield from timed.kernel.nodes

    @property
    def name(self) -> str:
        """The node the kernel is named after."""
        return (*self.new, *self.old)[0].kernel.anchor.name


def kernel_pairs(
    old: Report,
    new: Report,
    alignment: Alignment,
    in_run: tuple[float, float] = (1.0, 1.0),
    *,
    is_one_run: bool = False,
) -> tuple[KernelPair, ...]:
    """Every kernel of both analyses, in the new order; removed ones at the end.

    Args:
        old: before.
        new: after.
        alignment: of their nodes.
        in_run: of each side, the run's time over the sum of its kernels, which share it.
        is_one_run: whether the model alone differs, so that equal kernels take equal times.
    """
    left, right = timed(old), timed(new)
    parent = list(range(len(left) + len(right)))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    of_old = {n: i for i, b in enumerate(left) for n in b.kernel.nodes}
    of_new = {n: i + len(left) for i, b in enumerate(right) for n in b.kernel.nodes}
    for a, b in alignment.pairs:
        if a in of_old and b in of_new:
            parent[root(of_old[a])] = root(of_new[b])
    groups: dict[int, tuple[list[Timed], list[Timed]]] = {}
    for k in (*range(len(left), len(parent)), *range(len(left))):
        before, after = groups.setdefault(root(k), ([], []))
        if k < len(left):
            before.append(left[k])
        else:
            after.append(right[k - len(left)])
    of_before, of_after = Loads(old, in_run[0]), Loads(new, in_run[1])
    rescaled = Loads(new, in_run[0]) if is_one_run and in_run[0] != in_run[1] else None
    return tuple(
        KernelPair(
            tuple(a), tuple(b), of_before(a), of_after(b), None if rescaled is None else rescaled(b)
        )
        for a, b in groups.values()
    )


def timed(report: Report) -> list[Timed]:
    """The kernels of an analysis with their predictions."""
    kernels = report.prediction.kernels
    energies = report.prediction.energies or (None,) * len(kernels)
    found = zip(report.roofline.kernels, kernels, energies, strict=True)
    return [Timed(*of_one) for of_one in found]


class Loads:
    """What kernels of one analysis amount to, ``in_run`` times what they take alone."""

    def __init__(self, report: Report, in_run: float) -> None:
        self.in_run = in_run
        self.stored = report.parameters
        self.at = Numbers(report.env)
        line = report.liveness.timeline(report.env)
        self.live = dict(zip(report.liveness.steps, line, strict=True))

    def __call__(self, side: Sequence[Timed]) -> Load:
        """Sum over kernels, all launches together."""
        at, total = self.at, NOTHING
        for t in side:
            kernel, repeat = t.kernel, at(t.kernel.repeat)
            total += Load(
                t.prediction.time_s * self.in_run,
                t.bound.floor_s,
                at(kernel.work.flop) * repeat,
                at(kernel.work.mac) * repeat,
                at(kernel.traffic.nbytes) * repeat,
                None if t.energy is None else t.energy.energy_j * self.in_run,
                self.parameters(kernel.nodes),
                max((self.live.get(n, 0) for n in kernel.nodes), default=0),
            )
        return total

    def parameters(self, nodes: Iterable[Node]) -> float:
        """Elements of the distinct parameters that ``nodes`` read."""
        read = self.stored.behind(v for n in nodes for v in n.inputs)
        return sum(map(self.at, read.values()))


def uncertain(t: Timed, metric: Metric, env: Mapping[str, int]) -> Uncertain | None:
    """An estimate of a kernel as a difference has it; None where nobody knows it.

    Its place is by the extents that the operator predictor reads, those left out that follow from
    the others; else by what is counted.
    """
    k, counts = t.prediction, t.bound.counts
    amount = k.summed
    if metric is Metric.ENERGY:
        if t.energy is None:
            return None
        amount = Interval(t.energy.low_j, t.energy.energy_j, t.energy.high_j)
    row = lower(t.bound, env) if k.predictor is Predictor.LEARNED else None
    place = (
        {"flop": counts.flop, "read_bytes": counts.read_bytes, "write_bytes": counts.write_bytes}
        if row is None
        else {n: v for n, v in row.parameters.items() if n not in class_of(k.class_name).derived}
    )
    is_at_floor = metric is Metric.TIME and amount.low <= t.bound.floor_s * (1 + SMALLEST)
    return Uncertain((k.predictor.value, k.class_name), coordinates(place), amount, is_at_floor)


def spread(
    old: tuple[Report, Sequence[Timed]],
    new: tuple[Report, Sequence[Timed]],
    metric: Metric,
    deviations: float = NINE_IN_TEN,
) -> tuple[float, float] | None:
    """How far a difference in time or energy may lie below and above, None where nothing differs.

    What kernels are wrong by alike before and after cancels, as
    `perfc.analyzers.intervals.difference` says. Energy is power times time: what of its error is
    shared is taken to be as of time.

    Args:
        old: the old analysis, and those of its kernels that count.
        new: the same of the new one.
        metric: time or energy.
        deviations: standard deviations on either side.
    """
    sides: list[list[Uncertain]] = []
    for report, kernels in (old, new):
        found = [uncertain(t, metric, report.env) for t in kernels]
        if any(k is None for k in found):
            return None
        sides.append([k for k in found if k is not None])
    change = difference(sides[0], sides[1], deviations)
    return None if change is None else (change.mid - change.low, change.high - change.mid)
