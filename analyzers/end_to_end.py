"""Whole runs: kernels of the fused graph, one after the other, and the gaps their launches leave.

How kernels reach the device is the runtime's: an eager host launches each, which shows where a
kernel is shorter than its launch; a recorded graph leaves the device's own gap; compiled code is a
graph of fewer kernels. Training adds dropout and the backward pass by rule (`backward`).
Left out: optimisers, data loading, overlap of several streams.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import artefact, predictor
from .backward import backward, dropout
from .learned import INSIDE, columns_of, computed
from .lowering import Lowered, lower
from .prediction import Gap, gap, widths

if TYPE_CHECKING:
    from perfc.api import Report


@dataclass(frozen=True, slots=True)
class Spent:
    """Time of a part of a run, with the interval that holds nine in ten."""

    time_s: float
    low_s: float
    high_s: float

    def __add__(self, other: Spent) -> Spent:
        """Parts that the same predictors answer for: their errors add up."""
        return Spent(
            self.time_s + other.time_s, self.low_s + other.low_s, self.high_s + other.high_s
        )

    def repeated(self, one: Spent, times: int) -> Spent:
        """This run, which has one more layer than ``one``, with ``times`` layers more still."""
        return Spent(
            self.time_s + times * (self.time_s - one.time_s),
            self.low_s + times * (self.low_s - one.low_s),
            self.high_s + times * (self.high_s - one.high_s),
        )


@dataclass(frozen=True, slots=True)
class Run:
    """One step: ``backward`` is nothing in inference."""

    forward: Spent
    backward: Spent

    @property
    def whole(self) -> Spent:
        """Both passes."""
        return self.forward + self.backward

    def layers(self, one: Run, count: int) -> Run:
        """The run of a model of ``count`` equal layers; this has two, ``one`` has one."""
        return Run(
            self.forward.repeated(one.forward, count - 2),
            self.backward.repeated(one.backward, count - 2),
        )


NOTHING = Spent(0.0, 0.0, 0.0)


def inference(report: Report) -> Run:
    """One forward pass under the report's runtime."""
    whole = report.prediction.total
    return Run(Spent(whole.time_s, whole.low_s, whole.high_s), NOTHING)


def training(report: Report, *, folder: Path = artefact.SHIPPED) -> Run:
    """Forward pass with dropout, and backward pass, of a model exported in training mode."""
    env = report.env
    bounds = report.roofline.kernels
    launch = gap(report.machine, report.kernels.runtime.launch)
    drops = [
        row for b in bounds for node in b.kernel.nodes for row in dropout(node, env, forward=True)
    ]
    back = [row for b in bounds for row in backward(b, lower(b, env), env)]
    first = inference(report).forward
    return Run(first + spent(report, drops, launch, folder), spent(report, back, launch, folder))


def spent(report: Report, rows: Sequence[Lowered], launch: Gap, folder: Path) -> Spent:
    """Kernels in order; one that is shorter than its launch takes as long as that."""
    groups: dict[tuple[str, str], list[Lowered]] = {}
    for row in rows:
        groups.setdefault(computed(row, report.machine, tf32=report.tf32), []).append(row)
    parts = []
    for (name, dtype), members in groups.items():
        found = predictor.predict(
            name, columns_of([m.parameters for m in members]), dtype, report.machine, INSIDE,
            folder=folder,
        )  # fmt: skip
        columns = zip(found.time_s, found.low_s, found.high_s, strict=True)
        parts += [(name, waited(Spent(*map(float, c)), launch)) for c in columns]
    time_s = math.fsum(s.time_s for _, s in parts)
    return Spent(
        time_s,
        time_s - widths((n, s.time_s - s.low_s) for n, s in parts),
        time_s + widths((n, s.high_s - s.time_s) for n, s in parts),
    )


def waited(found: Spent, launch: Gap) -> Spent:
    """A kernel, or the wait for its launch."""
    return replace(
        found,
        time_s=max(found.time_s, launch.time_s),
        low_s=max(found.low_s, launch.low_s),
        high_s=max(found.high_s, launch.high_s),
    )


def summed(parts: Iterable[Spent]) -> Spent:
    """Parts one after the other."""
    total = NOTHING
    for part in parts:
        total = total + part
    return total
