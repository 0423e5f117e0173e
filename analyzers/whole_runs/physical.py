"""Physical limits of a predicted run: estimates are clipped to them, with a note on each change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

from perfc.ir import record
from perfc.machine import load_machine
from perfc.machine.capacity import CONTEXT_BYTES

from ..estimate.interval import HIGH_ERROR, MEDIUM_ERROR, MIDDLE_SHARE, Interval
from ..features.sheet import Sheet
from ..graph.model_graph import ModelGraph
from ..graph.rows import GraphRow, Quantity
from ..runs.energy import idle_w, power_model
from ..runs.host import host_gap
from ..steps.launch_kind import LaunchKind

LEAST_SPREAD = math.exp(2 * math.log1p(MEDIUM_ERROR + HIGH_ERROR) / MIDDLE_SHARE)
"""Minimum ratio of the ends of a raised estimate, the reverse of `Interval.middle_error`: at this
ratio the error is clearly above the largest one of medium confidence, so that confidence is low."""
RAISED, MEMORY = "raised to", "weights, live tensors and context"
"""Parts of the notes."""
LEAST_MOVE = 0.005
"""Least relative change of a quantity that is noted: a smaller one hardly shows in the three digits
that a note prints."""


@record
class PhysicalLimits:
    """Minimum and maximum values of the quantities of a run.

    Args:
        floor_s: lower bound of the time.
        launches: number of launches, including each cast of a weight.
        host: time in which the host launches the run.
        memory_bytes: weights, live tensors and the context of the device.
        idle_w: power of the idle board; 0 without a power model.
        board_w: power limit of the board; infinite if unknown.
    """

    floor_s: float
    launches: float
    host: Interval
    memory_bytes: float
    idle_w: float
    board_w: float

    @classmethod
    def of(cls, graph: ModelGraph, row: GraphRow) -> PhysicalLimits:
        """Return the limits of a run of an encoded model; the row has its lower bound."""
        machine, setting = load_machine(row.target), row.setting
        whole, launches = graph.ops.whole_at(row.batch), launches_of(graph, row)
        # sizes of the graph are those of f32; under autocast, weights stay f32 while live tensors
        # take the type of the precision
        share = setting.precision.bits / 32
        weights_bytes = whole["weight_bytes"] * (1.0 if setting.precision.is_mixed else share)
        if setting.training:
            weights_bytes *= 2  # a gradient for each weight; optimizers may have no state at all
        context = 0 if machine.kind == "cpu" else CONTEXT_BYTES
        board_w = Sheet(machine).power_w
        is_known = machine.kind != "cpu" and board_w > 0
        return cls(
            row.floor_s,
            launches,
            host_gap(machine, setting) * launches,
            weights_bytes + whole["peak_bytes"] * share + context,
            idle_w(machine, power_model()) if is_known else 0.0,
            board_w if is_known else math.inf,
        )

    def time(self, run: Interval, *, is_device_alone: bool) -> tuple[Interval, tuple[str, ...]]:
        """Return a time of at least its lower bound and its host's launches, with notes.

        Args:
            run: predicted time.
            is_device_alone: True if it is device time, which the host's launches overlap.
        """
        notes: tuple[str, ...] = ()
        # device time: the host launches while the device works, so that the slower of the two is
        # the time of the run. A time fitted to whole runs contains its host and is only raised, if
        # the host alone takes longer than the prediction and the lower bound
        if is_device_alone:
            if self.host.mid > run.mid:
                notes = (f"launches take its host {1e3 * self.host.mid:.2g} ms",)
            run = run.slower_of(self.host)
        elif run.mid < self.host.mid > self.floor_s:
            run, notes = raised(run, self.host, "time", "the time of its host")
        if run.mid <= self.floor_s:
            run, notes = raised(run, Interval.exactly(self.floor_s), "time", "its lower bound")
        return replace(run, low=max(run.low, self.floor_s)), notes

    def power_w(self, watts: float) -> float:
        """Return a power clipped to the range from the idle board to its power limit."""
        return min(max(watts, self.idle_w), self.board_w)

    def others(
        self, given: Mapping[Quantity, float], time_s: float
    ) -> tuple[dict[Quantity, float], tuple[str, ...]]:
        """Return the other quantities of a run within the limits, with notes on changes.

        Energy is power times time; if both are predicted, the power determines the energy.

        Args:
            given: predicted quantities.
            time_s: time of the run within its limits.
        """
        limited = dict(given)
        if Quantity.MEMORY in given:
            limited[Quantity.MEMORY] = max(given[Quantity.MEMORY], self.memory_bytes)
        if Quantity.POWER in given:
            limited[Quantity.POWER] = self.power_w(given[Quantity.POWER])
        if Quantity.ENERGY in given:
            # power within the board's limits, predicted or as energy over time
            mean_w = limited.get(Quantity.POWER, self.power_w(given[Quantity.ENERGY] / time_s))
            limited[Quantity.ENERGY] = mean_w * time_s
        notes = (moved(quantity, given[quantity], value) for quantity, value in limited.items())
        return limited, tuple(chain.from_iterable(notes))


def launches_of(graph: ModelGraph, row: GraphRow) -> float:
    """Return the number of launches of a run; each cast of a weight counts as one."""
    columns = graph.kernels[row.setting.launch_key].columns.at(row.batch)
    # one row of the columns stands for the casts of all weights that a kernel reads
    casts = columns.traits["operands"][columns.kind == LaunchKind.WEIGHT_CAST.number]
    return float(columns.times.sum()) + float(casts.sum())


def raised(
    run: Interval, least: Interval, name: str, what: str
) -> tuple[Interval, tuple[str, ...]]:
    """Return a value of at least a limit, and a note if it was raised.

    A raised estimate has no more information than its limit, so that its interval is wide; NaN ends
    stay NaN.

    Args:
        run: predicted value.
        least: its limit.
        name: name of the quantity, for the note.
        what: name of the limit, for the note.
    """
    if run.mid > least.mid:
        return run, ()
    note = f"{name} {RAISED} {what}, {least.mid / run.mid:.3g} times it"
    if math.isnan(run.low):
        return replace(run, mid=least.mid), (note,)
    return Interval(least.low, least.mid, max(run.high, least.mid * LEAST_SPREAD)), (note,)


def moved(quantity: Quantity, given: float, limited: float) -> Iterator[str]:
    """Yield a note if a limit changed a quantity noticeably."""
    reasons = {
        Quantity.MEMORY: MEMORY,
        Quantity.POWER: "what the board can draw",
        Quantity.ENERGY: "what the board draws in that time",
    }
    ratio = limited / given
    if abs(ratio - 1) > LEAST_MOVE:
        # "memory_bytes" is "memory" in the note
        name, verb = quantity.value.partition("_")[0], RAISED if ratio > 1 else "lowered to"
        yield f"{name} {verb} {reasons[quantity]}, {ratio:.3g} times it"
