"""Kernels of two analyses side by side: those that execute the same nodes make one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perfc.ir.evaluate import Numbers
from perfc.ir.graph import Node
from perfc.passes.roofline import KernelBound

from .align import Alignment

if TYPE_CHECKING:
    from perfc.api import Report


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
class KernelPair:
    """Kernels that execute the same nodes before and after; either side may be empty.

    Several on one side are one kernel on the other, or share nodes across both.
    """

    old: tuple[KernelBound, ...]
    new: tuple[KernelBound, ...]
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
        sides = [" | ".join(b.kernel.label for b in side) for side in (self.old, self.new) if side]
        return " -> ".join(dict.fromkeys(sides))

    @property
    def nodes(self) -> Iterator[Node]:
        """Nodes of both sides."""
        for bound in (*self.new, *self.old):
            yield from bound.kernel.nodes

    @property
    def name(self) -> str:
        """The node the kernel is named after."""
        bound = (*self.new, *self.old)[0]
        return bound.kernel.anchor.name


def kernel_pairs(old: Report, new: Report, alignment: Alignment) -> tuple[KernelPair, ...]:
    """Every kernel of both analyses, in the new order; removed ones at the end."""
    left, right = old.roofline.kernels, new.roofline.kernels
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
    groups: dict[int, tuple[list[KernelBound], list[KernelBound]]] = {}
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


def load(bounds: Sequence[KernelBound], at: Numbers) -> Load:
    """Sum over kernels, all launches together."""
    total = NOTHING
    for b in bounds:
        kernel, repeat = b.kernel, at(b.kernel.repeat)
        total += Load(
            b.time_s,
            b.floor_s,
            at(kernel.work.flop) * repeat,
            at(kernel.work.mac) * repeat,
            at(kernel.traffic.nbytes) * repeat,
        )
    return total
