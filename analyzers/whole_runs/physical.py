"""Limits of physics on a predicted run: no answer leaves them, and what moved is noted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.ir import record
from perfc.machine import load_machine
from perfc.machine.capacity import CONTEXT_BYTES

from ..estimate.interval import HIGH_ERROR, MEDIUM_ERROR, MIDDLE_SHARE, Interval
from ..features.sheet import Sheet
from ..graph.rows import Quantity
from ..runs.energy import idle_w, power_model
from ..runs.host import host_gap

if TYPE_CHECKING:
    from ..graph.model_graph import ModelGraph
    from ..graph.rows import GraphRow

LEAST_SPREAD = math.exp(2 * math.log1p(MEDIUM_ERROR + HIGH_ERROR) / MIDDLE_SHARE)
"""Least ratio of the ends of a raised answer: its median error is above that of a medium grade."""
RAISED, MEMORY = "raised to", "weights, live tensors and context"
"""Parts of the notes."""
LEAST_MOVE = 0.005
"""Relative change of a quantity from which it is noted."""


@record
class PhysicalLimits:
    """Least and greatest values of the quantities of a run.

    Args:
        floor_s: lower bound of the time.
        host: time in which the host launches the run.
        memory_bytes: weights, tensors alive at once and the context of the device.
        idle_w: power of the idle board; 0 without a power model.
        board_w: power limit of the board; infinite if unknown.
    """

    floor_s: float
    host: Interval
    memory_bytes: float
    idle_w: float
    board_w: float

    @classmethod
    def of(cls, graph: ModelGraph, row: GraphRow, launches: float) -> PhysicalLimits:
        """Return the limits of a run of a graph.

        Args:
            graph: the encoded model.
            row: the run, with its lower bound.
            launches: number of its launches.
        """
        machine, setting = load_machine(row.target), row.setting
        whole = graph.ops.whole_at(row.batch)
        # sizes of the graph are those of f32; autocast holds its weights in f32
        share = setting.precision.bits / 32
        weights = whole["weight_bytes"] * (1.0 if setting.precision.is_mixed else share)
        live = whole["peak_bytes"] * share
        # a step holds a gradient for each weight
        weights *= 2 if setting.training else 1
        is_board = machine.kind != "cpu" and Sheet(machine).power_w > 0
        return cls(
            row.floor_s,
            host_gap(machine, setting) * launches,
            weights + live + (0 if machine.kind == "cpu" else CONTEXT_BYTES),
            idle_w(machine, power_model()) if is_board else 0.0,
            Sheet(machine).power_w if is_board else math.inf,
        )

    def time(self, run: Interval, *, has_host: bool) -> tuple[Interval, tuple[str, ...]]:
        """Return a time of at least its bound and its host's launches, and notes on the raise.

        Args:
            run: the prediction.
            has_host: whether it is of the device alone, which runs beside the host.
        """
        notes: tuple[str, ...] = ()
        if has_host and self.host.mid > run.mid:
            notes = (f"launches take its host {1e3 * self.host.mid:.2g} ms",)
        elif not has_host and run.mid < self.host.mid > self.floor_s:
            run, notes = raised(run, self.host, "time", "the time of its host")
        run = run.slower_of(self.host) if has_host else run
        if run.mid <= self.floor_s:
            run, notes = raised(run, Interval.exactly(self.floor_s), "time", "its lower bound")
        return replace(run, low=max(run.low, self.floor_s)), notes

    def power_w(self, watts: float) -> float:
        """Return a power between that of the idle board and its limit."""
        return min(max(watts, self.idle_w), self.board_w)

    def others(
        self, given: Mapping[Quantity, float], time_s: float
    ) -> tuple[dict[Quantity, float], tuple[str, ...]]:
        """Return the other quantities of a run within the limits, and notes on those that moved.

        Energy is power times time; where both are predicted, power gives the energy.

        Args:
            given: quantities as predicted.
            time_s: limited time of the run.
        """
        right = dict(given)
        if Quantity.MEMORY in given:
            right[Quantity.MEMORY] = max(given[Quantity.MEMORY], self.memory_bytes)
        if Quantity.POWER in given:
            right[Quantity.POWER] = self.power_w(given[Quantity.POWER])
        if Quantity.ENERGY in given:
            mean_w = right.get(Quantity.POWER, self.power_w(given[Quantity.ENERGY] / time_s))
            right[Quantity.ENERGY] = mean_w * time_s
        return right, tuple(
            note for q, value in right.items() for note in moved(q, given[q], value)
        )


def raised(
    run: Interval, least: Interval, name: str, what: str
) -> tuple[Interval, tuple[str, ...]]:
    """Return a value of at least a limit, and a note if it was raised.

    A raised answer says no more than its limit, so its interval is wide.
    """
    if run.mid > least.mid:
        return run, ()
    factor = least.mid / run.mid
    low, high = least.low, max(run.high, least.mid * LEAST_SPREAD)
    ends = (run.low, run.high) if math.isnan(run.low) else (low, high)
    return Interval(ends[0], least.mid, ends[1]), (
        f"{name} {RAISED} {what}, {factor:.3g} times it",
    )


def moved(quantity: Quantity, given: float, right: float) -> Iterator[str]:
    """Yield a note if a limit moved a quantity."""
    reasons = {
        Quantity.MEMORY: MEMORY,
        Quantity.POWER: "what the board can draw",
        Quantity.ENERGY: "what the board draws in that time",
    }
    if abs(right / given - 1) > LEAST_MOVE:
        name, verb = quantity.value.partition("_")[0], RAISED if right > given else "lowered to"
        yield f"{name} {verb} {reasons[quantity]}, {right / given:.3g} times it"
