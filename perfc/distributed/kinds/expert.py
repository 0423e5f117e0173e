"""Expert parallelism: every token is sent to the ranks of its experts, and results come back.

A token crosses to a node, or within one to a rank, once for all of its experts there (DeepEP).

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
    group = RankGroup(size, stride=1)
    # dispatch and combine, in the forward and the backward pass; recomputed layers run both again
    passes = 6 if work.training.checkpointing is RecomputePolicy.BLOCK else 4
    nodes = group.nodes(work.fabric.cluster.gpus_per_node)
    places, loss = nodes if nodes > 1 else size, Loss()
    for number, part in work.layers:
        if routed := work.model.routed(number):
            # mean number of places that `routed` experts lie on, each place equally likely
            sent = places * (1 - (1 - 1 / places) ** routed)
            # each of the ranks that share products (tensor parallelism) sends a part of the tokens
            nbytes = part.boundary_bytes * sent / work.parallel.tensor
            time_s = passes * work.fabric.time_s(Exchange.ALL_TO_ALL, nbytes, group)
            loss += Loss(time_s, time_s)
    return loss


KIND = Parallelism("expert parallel", of_micro_batch)
