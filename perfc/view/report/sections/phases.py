"""Phases of a training step: time and limit of each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perfc.ir import Phase, evaluate, record

from ..amounts import ratio
from .limits import HOST

if TYPE_CHECKING:
    from perfc.analyzers.runs.prediction import PredictionTable
    from perfc.api import Report


@record
class PhaseShare:
    """One phase of a training step.

    Args:
        phase: ``forward``, ``loss``, ``recompute``, ``backward`` or ``optimizer``.
        time_s: time of its kernels, including waits for launches.
        share: share of the time of the step.
        floor_s: lower bound of its kernels.
        kernels: number of kernels.
        limited_by: limit that takes most of its time.
    """

    phase: str
    time_s: float
    share: float
    floor_s: float
    kernels: int
    limited_by: str


@record
class Step:
    """Phases of a training step.

    Args:
        phases: phases in order.
        saved_bytes: activations saved for the backward pass, views counted once.
    """

    phases: tuple[PhaseShare, ...]
    saved_bytes: int


def step_of(report: Report, table: PredictionTable | None) -> Step | None:
    """Return the phases of a training step; None for a forward pass.

    Args:
        report: the analyzed run.
        table: prediction of the run; None for times at measured rates.
    """
    if not report.deployment.train:
        return None
    from perfc.passes.memory.saved import Saved

    roof = report.roofline
    times: dict[Phase, list[tuple[float, float, str, float]]] = {}
    pairs = (
        [(k.time_s, k.launch_gap_s) for k in roof.kernels]
        if table is None
        else [(k.time_s, k.idle_s) for k in table.kernels]
    )
    for bound, (time_s, wait_s) in zip(roof.kernels, pairs, strict=True):
        row = (time_s, bound.floor_s, bound.busiest.value, wait_s)
        times.setdefault(bound.kernel.anchor.loc.phase, []).append(row)
    whole_s = math.fsum(t for rows in times.values() for t, *_ in rows)
    saved = report.analyses.get(Saved(report.deployment.table_name), report.module)
    phases = tuple(_share(p, times[p], whole_s) for p in Phase if p in times)
    return Step(phases, int(evaluate(saved.nbytes, report.env)))


def _share(phase: Phase, rows: list[tuple[float, float, str, float]], whole_s: float) -> PhaseShare:
    """Return one phase from time, lower bound, limit and wait of each of its kernels."""
    spent: dict[str, float] = {}
    for time_s, _, limit, wait_s in rows:
        # while the device waits for a launch, the ceiling of the kernel does not limit it
        spent[limit] = spent.get(limit, 0.0) + time_s - wait_s
        # the wait for the host has the name of the ceiling of launches
        spent["launches"] = spent.get("launches", 0.0) + wait_s
    time_s = math.fsum(t for t, *_ in rows)
    return PhaseShare(
        phase.value,
        time_s,
        share=ratio(time_s, whole_s),
        floor_s=math.fsum(floor_s for _, floor_s, _, _ in rows),
        kernels=len(rows),
        # a phase has at least one kernel, so that the default is not reached
        limited_by=max(spent, key=spent.__getitem__, default=HOST),
    )
