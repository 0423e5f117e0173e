"""Orders of micro-batches in a pipeline, one per file: their bubbles and activations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from perfc.common.declared import modules
from perfc.errors import ParseError
from perfc.ir import record


@record
class Stage:
    """One stage of a pipeline, for one micro-batch.

    Args:
        forward_s: time of its forward pass.
        input_s: backward time for inputs, which the previous stage waits for.
        weight_s: backward time for gradients of parameters.
        stages: number of stages of the pipeline.
        micro_batches: number of micro-batches of a step.
        virtual: virtual stages per stage.
    """

    forward_s: float
    input_s: float
    weight_s: float
    stages: int
    micro_batches: int
    virtual: int

    @property
    def whole_s(self) -> float:
        """Return the time of both passes in seconds."""
        return self.forward_s + self.input_s + self.weight_s


@record
class Schedule:
    """An order of micro-batches.

    Args:
        name: value of ``--schedule``.
        bubble_s: idle time of a stage in a step.
        in_flight: micro-batches whose activations the first stage holds at once.
        hand_overs: exposed messages between stages in a step, of both passes.
        is_interleaved: whether a stage has several virtual stages.
    """

    name: str
    bubble_s: Callable[[Stage], float]
    in_flight: Callable[[Stage], float]
    hand_overs: Callable[[Stage], float]
    is_interleaved: bool = False


@cache
def schedules() -> dict[str, Schedule]:
    """Return the ``SCHEDULE`` of every file here, by its name."""
    # no list of them: a new file is a new schedule
    return {m.SCHEDULE.name: m.SCHEDULE for m in modules(__name__)}


def schedule_named(name: str) -> Schedule:
    """Return a schedule by name.

    Raises:
        ParseError: there is none of that name.
    """
    known = schedules()
    if name not in known:
        hint = f"there are {', '.join(known)}"
        raise ParseError(f"no schedule {name[:32]!r}", where="--schedule", hint=hint)
    return known[name]


def filling_s(stage: Stage) -> float:
    """Return the time to fill and drain: one micro-batch in all stages but one, in seconds."""
    return (stage.stages - 1) * stage.whole_s


def crossings(stage: Stage) -> float:
    """Return the exposed messages: those while a pipeline fills and drains."""
    return 2.0 * (stage.stages - 1)
