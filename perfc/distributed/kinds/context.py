"""Context parallelism: keys and values circulate among the ranks that share a sequence.

Source: H. Liu, M. Zaharia, P. Abbeel, "Ring attention with blockwise transformers", 2023; Megatron
sends the next block while attention computes the present one.
"""

from __future__ import annotations

from perfc.ir.problem import Exchange

from ..fabric import RankGroup
from ..stage import StageWork
from . import Loss, Parallelism

ATTENTION_SHARE = 0.2
"""Minimum share of attention in a layer's time where sequences are divided; this part of the time
hides communication. No source states it."""


def of_micro_batch(work: StageWork) -> Loss:
    """Return the loss of ``cp - 1`` messages per layer forward, and of twice the bytes backward."""
    size = work.parallel.context
    if size < 2:
        return Loss()
    group = RankGroup(size, work.parallel.tensor)
    loss = Loss()
    for number, part in work.layers:
        # tensor parallelism divides the heads of keys and values
        nbytes = part.boundary_bytes * work.model.kv_share(number) / work.parallel.tensor
        hop_s = work.fabric.time_s(Exchange.SEND_RECEIVE, nbytes, group)
        # the backward pass sends keys and values again, and their gradients
        time_s = 3 * (size - 1) * hop_s
        hidden_s = ATTENTION_SHARE * (part.forward_s + part.backward_s)
        # however much attention hides, one hop is exposed
        loss += Loss(max(time_s - hidden_s, hop_s), time_s)
    return loss


KIND = Parallelism("context parallel", of_micro_batch)
