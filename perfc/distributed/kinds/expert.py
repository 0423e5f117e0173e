"""Expert parallelism: every token is sent to the ranks of its experts, and results come back.

Source: D. Lepikhin et al., "GShard", 2020; tokens are assumed to spread evenly.
"""

from __future__ import annotations

from perfc.ir.problem import Exchange
from perfc.passes.training.implementation import RecomputePolicy

from ..fabric import RankGroup
from ..stage import StageWork
from . import Loss, Parallelism


def of_micro_batch(work: StageWork) -> Loss:
    """Return the communication of dispatch and combine in all passes, recomputation included."""
    size = work.parallel.expert
    if size < 2:
        return Loss()
    group = RankGroup(size, 1)
    passes = 6 if work.training.checkpointing is RecomputePolicy.BLOCK else 4
    loss = Loss()
    for number, part in work.layers:
        routed = work.model.routed(number)
        if not routed:
            continue
        # each rank of a group that shares products sends its part of the tokens
        nbytes = part.boundary_bytes * routed / work.parallel.tensor
        time_s = work.fabric.time_s(Exchange.ALL_TO_ALL, nbytes, group)
        loss += Loss(passes * time_s, passes * time_s, passes * nbytes)
    return loss


KIND = Parallelism("expert parallel", of_micro_batch)
