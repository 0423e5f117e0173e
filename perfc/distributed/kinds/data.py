"""Data parallelism: gradients are summed over the copies, concurrently with the backward pass.

With ZeRO 1 and 2 a reduce-scatter gives each copy the sum of its part of the gradients. It updates
its part of the parameters, and an all-gather distributes them: as many bytes as an all-reduce.

Source: S. Li et al., "PyTorch distributed: experiences on accelerating data parallel training",
2020; S. Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter models",
2020.
"""

from __future__ import annotations

from perfc.ir.problem import Exchange

from ..fabric import RankGroup
from ..stage import StageWork
from . import Loss, Parallelism


def of_step(work: StageWork) -> Loss:
    """Return the loss of the gradients in the last backward pass, and of gathered parameters."""
    copies = work.copies
    # ZeRO 3 exchanges gradients in every micro-batch; adapters are too small to count
    is_sharded = work.parallel.zero > 2 or work.training.is_frozen
    if is_sharded or max(copies.size, work.expert_copies.size) < 2:
        return Loss()
    is_divided = work.parallel.zero > 0
    exchange = Exchange.REDUCE_SCATTER if is_divided else Exchange.ALL_REDUCE
    loss = beside_backward(work, exchange, copies)
    if is_divided:
        loss += gathered(work, copies)
    return loss


def beside_backward(work: StageWork, exchange: Exchange, copies: RankGroup) -> Loss:
    """Return the loss of gradient buckets on a separate stream.

    A bucket starts when its gradients are computed and the one before it is done. The step waits
    for those that end after the backward pass.
    """
    # ends of computation and of communication so far, and the sum of communication
    computed_s = sent_s = total_s = 0.0
    # gradients of the open bucket
    dense_bytes = expert_bytes = 0.0
    backward = work.every_part[::-1]
    for number, part in enumerate(backward, 1):
        computed_s += work.backward_s(part)
        dense_bytes += part.parameters * work.training.recipe.sent_bytes
        expert_bytes += part.expert_parameters * work.training.recipe.sent_bytes
        if dense_bytes + expert_bytes >= work.training.bucket_bytes or number == len(backward):
            time_s = work.fabric.time_s(exchange, dense_bytes, copies)
            time_s += work.fabric.time_s(exchange, expert_bytes, work.expert_copies)
            start_s = max(sent_s, computed_s) if work.training.overlap else sent_s
            sent_s = start_s + time_s
            total_s += time_s
            dense_bytes = expert_bytes = 0.0
    exposed_s = max(sent_s - computed_s, 0.0) if work.training.overlap else total_s
    return Loss(exposed_s, total_s)


def gathered(work: StageWork, copies: RankGroup) -> Loss:
    """Return the loss of gathering updated parameters during the next forward pass."""
    item_bytes = work.training.recipe.weight_bytes
    dense_bytes, expert_bytes = work.parameters * item_bytes, work.expert_parameters * item_bytes
    time_s = work.fabric.time_s(Exchange.ALL_GATHER, dense_bytes, copies)
    time_s += work.fabric.time_s(Exchange.ALL_GATHER, expert_bytes, work.expert_copies)
    hidden_s = work.forward_s if work.training.overlap else 0.0
    return Loss(max(time_s - hidden_s, 0.0), time_s)


KIND = Parallelism("data parallel", of_step=of_step)
