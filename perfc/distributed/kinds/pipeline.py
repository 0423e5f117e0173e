"""Pipeline parallelism: results of one stage go to the next; the bubble is the schedule's."""

from __future__ import annotations

from perfc.ir.problem import Exchange

from ..fabric import RankGroup
from ..stage import StageWork
from . import Loss, Parallelism


def of_step(work: StageWork) -> Loss:
    """Return the loss of messages between stages; exposed while the pipeline fills and drains."""
    stages = work.parallel.pipeline
    if stages < 2:
        return Loss()
    group = RankGroup(stages, work.parallel.devices // stages)
    # with sequence parallelism each rank holds a part of the tokens, and sends only this part
    nbytes = work.boundary_bytes / (work.parallel.tensor if work.parallel.sequence else 1)
    time_s = work.fabric.time_s(Exchange.SEND_RECEIVE, nbytes, group)
    waits = work.schedule.hand_overs(work.pipeline)
    # one forward and one backward for each micro-batch and virtual stage
    messages = 2.0 * work.micro_batches * work.pipeline.virtual
    return Loss(waits * time_s, messages * time_s)


KIND = Parallelism("pipeline hand-over", of_step=of_step)
