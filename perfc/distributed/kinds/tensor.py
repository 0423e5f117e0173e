"""Tensor parallelism: partial products are summed over the ranks that share a layer.

With sequence parallelism a reduce-scatter and an all-gather replace each all-reduce, with as many
bytes; operators between products are divided then, too. They move in chunks, during the products
that compute or read the chunks (``tp_comm_overlap`` of Megatron's published recipes), so that the
products wait for only one chunk.

Source: M. Shoeybi et al., "Megatron-LM", 2019; V. Korthikanti et al., "Reducing activation
recomputation in large transformer models", 2022.
"""

from __future__ import annotations

from perfc.ir.problem import Exchange
from perfc.passes.training.implementation import RecomputePolicy

from ..fabric import RankGroup
from ..stage import StageWork
from . import Loss, Parallelism


def of_micro_batch(work: StageWork) -> Loss:
    """Return the loss of collectives: as many backward as forward, forward again if recomputed."""
    size = work.parallel.tensor
    if size < 2:
        return Loss()
    group, sequence = RankGroup(size, stride=1), work.parallel.sequence
    halves = (Exchange.REDUCE_SCATTER, Exchange.ALL_GATHER) if sequence else (Exchange.ALL_REDUCE,)
    # in chunks, one for each rank, only one chunk is exposed
    share = 1 / size if sequence and work.training.overlap else 1.0
    # recomputed layers repeat the collectives of the forward pass
    passes = 3 if work.training.checkpointing is RecomputePolicy.BLOCK else 2
    loss = Loss()
    for part in work.every_part:
        if times := passes * part.tensor.count:
            nbytes = part.tensor.nbytes / part.tensor.count
            time_s = times * sum([work.fabric.time_s(e, nbytes, group) for e in halves])
            loss += Loss(share * time_s, time_s)
    return loss


KIND = Parallelism("tensor parallel", of_micro_batch)
