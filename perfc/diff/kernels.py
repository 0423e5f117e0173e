"""Kernels of two analyses side by side: those that execute the same nodes make one row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perfc.ir.evaluate import Numbers
from perfc.ir.graph import Node
from perfc.passes.roofline import KernelBound

from .align import Alignment

if TYPE_CHECKING:
    from perfc.analyzers.prediction import KernelPrediction
    from perfc.api import Report
    from perfc.passes.fuse import Kernel


@dataclass(frozen=True, slots=True)
class Load:
    """What kernels amount to together."""

    time_s: float = 0.0
    floor_s: float = 0.0
    flop: float = 0.0
    mac: float = 0.0
    nbytes: float = 0.0

    def __sub__(self, other: Load) -> Load:
        return Load(
            self.time_s - other.time_s,
            self.floor_s - other.floor_s,
            self.flop - other.flop,
            self.mac - other.mac,
            self.nbytes - other.nbytes,
        )

    def __add__(self, other: Load) -> Load:
        return Load(
            self.time_s + other.time_s,
            self.floor_s + other.floor_s,
            self.flop + other.flop,
            self.mac + other.mac,
            self.nbytes + other.nbytes,
        )


NOTHING = Load()
SMALLEST = 1e-12
"""Sums of floating-point numbers in another order differ by less than this part of themselves."""


@dataclass(frozen=True, eq=False, slots=True)
class Timed:
    """A kernel of one side with what is predicted for it."""

    bound: KernelBound
    prediction: KernelPrediction

    @property
    def kernel(self) -> Kernel:
        """The nodes it executes, and their counts."""
        return self.bound.kernel


@dataclass(frozen=True, eq=False, slots=True)
class KernelPair:
    """Kernels that execute the same nodes before and after; either side may be empty.

    Several on one side are one kernel on the other, or share nodes across both.
    """

    old: tuple[Timed, ...]
    new: tuple[Timed, ...]
    before: Load
    after: Load

    @property
    def delta(self) -> Load:
        """After less before; times that differ by rounding only are equal."""
        found = self.after - self.before
        return replace(
            found,
            time_s=found.time_s if abs(found.time_s) > SMALLEST * self.before.time_s else 0.0,
            floor_s=found.floor_s if abs(found.floor_s) > SMALLEST * self.before.floor_s else 0.0,
        )

    @property
    def is_same(self) -> bool:
        """Whether it amounts to the same."""
        return bool(self.old and self.new) and self.delta == NOTHING

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


def kernel_pairs(old: Report, new: Report, alignment: Alignment) -> tuple[KernelPair, ...]:
    """Every kernel of both analyses, in the new order; removed ones at the end."""
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
    at = Numbers(old.env), Numbers(new.env)
    return tuple(
        KernelPair(tuple(a), tuple(b), load(a, at[0]), load(b, at[1])) for a, b in groups.values()
    )


def timed(report: Report) -> list[Timed]:
    """The kernels of an analysis with their predictions."""
    found = zip(report.roofline.kernels, report.prediction.kernels, strict=True)
    return [Timed(bound, prediction) for bound, prediction in found]


def load(side: Sequence[Timed], at: Numbers) -> Load:
    """Sum over kernels, all launches together."""
    total = NOTHING
    for t in side:
        kernel, repeat = t.kernel, at(t.kernel.repeat)
        total += Load(
            t.prediction.time_s,
            t.bound.floor_s,
            at(kernel.work.flop) * repeat,
            at(kernel.work.mac) * repeat,
            at(kernel.traffic.nbytes) * repeat,
        )
    return total


def interval(pairs: Sequence[KernelPair]) -> tuple[float, float] | None:
    """The 90 % interval of the difference in time, None where nothing differs.

    Kernels that cost what they did are wrong by the same amount on both sides, so that only the
    others count. Of these the two sides are taken to be wrong independently, kernels of one class
    together, classes apart: half-widths add up within a class, their squares among classes.
    """
    down: dict[tuple[str, bool], float] = {}
    up: dict[tuple[str, bool], float] = {}
    moved = [p for p in pairs if not p.is_same]
    for p in moved:
        for is_new, side in ((False, p.old), (True, p.new)):
            for t in side:
                k = t.prediction
                key = (k.class_name, is_new)
                low, high = k.time_s - k.low_s, k.high_s - k.time_s
                if not is_new:
                    low, high = high, low
                down[key] = down.get(key, 0.0) + low
                up[key] = up.get(key, 0.0) + high
    if not moved:
        return None
    delta = math.fsum(p.delta.time_s for p in moved)
    return delta - math.hypot(*down.values()), delta + math.hypot(*up.values())
