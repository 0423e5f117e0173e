"""Tensor parallelism: partial products are summed over the ranks that share a layer.

With sequence parallelism a reduce-scatter and an all-gather replace each all-reduce, with as many
bytes; operators between products are divided then, too.

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
    group = RankGroup(size, 1)
    loss = Loss()
    for part in work.every_part:
        if not part.tensor.count:
            continue
        nbytes = part.tensor.nbytes / part.tensor.count
        if work.parallel.sequence:
            time_s = sum(
                work.fabric.time_s(e, nbytes, group)
                for e in (Exchange.REDUCE_SCATTER, Exchange.ALL_GATHER)
            )
        else:
            time_s = work.fabric.time_s(Exchange.ALL_REDUCE, nbytes, group)
        passes = 3 if work.training.checkpointing is RecomputePolicy.BLOCK else 2
        times = passes * part.tensor.count
        loss += Loss(times * time_s, times * time_s, times * nbytes)
    return loss


KIND = Parallelism("tensor parallel", of_micro_batch)
