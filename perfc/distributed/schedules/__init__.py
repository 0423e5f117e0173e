"""Orders of micro-batches in a pipeline, one a file: what stages wait for and keep."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from perfc.common.declared import modules
from perfc.errors import ParseError
from perfc.ir.record import record


@record
class Stage:
    """One stage of a pipeline, for one micro-batch.

    Args:
        forward_s: of its layers.
        input_s: backward, what the stage before waits for.
        weight_s: backward, gradients of parameters.
        stages: of the pipeline.
        micro_batches: of a step.
        virtual: parts of the layers that each stage has.
    """

    forward_s: float
    input_s: float
    weight_s: float
    stages: int
    micro_batches: int
    virtual: int

    @property
    def whole_s(self) -> float:
        """Both passes."""
        return self.forward_s + self.input_s + self.weight_s


@record
class Schedule:
    """An order of micro-batches.

    Args:
        name: as options have it.
        bubble_s: how long a stage has nothing to do in a step.
        in_flight: micro-batches whose activations the first stage keeps at once.
        hand_overs: messages that a step waits for between stages, forward and backward together.
        is_interleaved: whether each stage has several parts of the layers.
    """

    name: str
    bubble_s: Callable[[Stage], float]
    in_flight: Callable[[Stage], float]
    hand_overs: Callable[[Stage], float]
    is_interleaved: bool = False


@cache
def schedules() -> dict[str, Schedule]:
    """Those that the files here declare as ``SCHEDULE``, by name."""
    return {m.SCHEDULE.name: m.SCHEDULE for m in modules(__name__)}


def schedule_named(name: str) -> Schedule:
    """A schedule.

    Raises:
        ParseError: there is none of that name.
    """
    known = schedules()
    if name not in known:
        hint = f"there are {', '.join(known)}"
        raise ParseError(f"no schedule {name[:32]!r}", where="--schedule", hint=hint)
    return known[name]


def filling_s(stage: Stage) -> float:
    """What all stages but one take for one micro-batch: the pipeline fills and drains."""
    return (stage.stages - 1) * stage.whole_s


def crossings(stage: Stage) -> float:
    """Hand-overs while a pipeline fills and drains; in between they hide behind computation."""
    return 2.0 * (stage.stages - 1)
