"""ZeRO 3, or FSDP: every copy holds a part of each layer, which is gathered when it runs.

Source: S. Rajbhandari et al., "ZeRO", 2020; Y. Zhao et al., "PyTorch FSDP", 2023.
"""

from __future__ import annotations

from perfc.ir.problem import Exchange

from ..fabric import RankGroup
from ..parts import PartCost
from ..stage import StageWork
from . import Loss, Parallelism


def of_micro_batch(work: StageWork) -> Loss:
    """Return the loss of gathering parameters in both passes and of scattering gradients.

    While a layer computes, parameters of the next one are gathered, and gradients of the one before
    are reduced. Communication that takes longer than the computation is exposed by the difference;
    the first gather is exposed as a whole.
    """
    copies = work.copies
    if work.parallel.zero < 3 or copies.size < 2:
        return Loss()
    recipe = work.training.recipe
    exposed_s = total_s = first_s = 0.0
    for part in work.every_part:
        gather_s = exchanged_s(work, part, recipe.weight_bytes, Exchange.ALL_GATHER, copies)
        if part.frozen_bytes:
            gather_s += work.fabric.time_s(Exchange.ALL_GATHER, part.frozen_bytes, copies)
        scatter_s = exchanged_s(work, part, recipe.sent_bytes, Exchange.REDUCE_SCATTER, copies)
        first_s = first_s or gather_s
        forward_s, backward_s = part.forward_s, work.backward_s(part)
        # a gather in the forward pass, another one and a scatter in the backward pass
        part_s = 2 * gather_s + scatter_s
        if work.training.overlap:
            rests_s = (gather_s - forward_s, gather_s + scatter_s - backward_s)
            exposed_s += sum([max(rest_s, 0.0) for rest_s in rests_s])
        else:
            exposed_s += part_s
        total_s += part_s
    return Loss(max(exposed_s, first_s), total_s)


def exchanged_s(
    work: StageWork, part: PartCost, item: float, exchange: Exchange, copies: RankGroup
) -> float:
    """Return the time of one collective over a part's dense and expert parameters, in seconds."""
    time_s = work.fabric.time_s(exchange, part.parameters * item, copies)
    return time_s + work.fabric.time_s(exchange, part.expert_parameters * item, work.expert_copies)


KIND = Parallelism("sharded parameters", of_micro_batch)
