"""ZeRO: optimizer state, gradients and parameters sharded over data-parallel GPUs.

Stage 1 shards the optimizer state, stage 2 also gradients, stage 3 also parameters, of which two
layers are complete at a time. Stages 1 and 2 communicate as much as plain data parallelism, one
all-reduce of the gradients; stage 3 gathers the parameters once more, half as much again
(Rajbhandari et al., 2020, section 7). The added time is that of the communication, not overlapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perfc.errors import PerfcError
from perfc.passes.memory.storage import BufferRole
from perfc.view.report.memory_sections.footprint import table_of

from ..way import Way

if TYPE_CHECKING:
    from perfc.api import Report

RANK = 30
"""Position among the changes: last, as it needs several GPUs."""
STAGES = (
    (1, (BufferRole.STATE,)),
    (2, (BufferRole.STATE, BufferRole.GRADIENT)),
    (3, (BufferRole.STATE, BufferRole.GRADIENT, BufferRole.PARAMETER)),
)
"""Tensors that each stage of ZeRO divides among ranks (Rajbhandari et al. 2020)."""
WHOLE_LAYERS = 2
"""Complete layers in stage 3: the running one and the next, which is prefetched."""


def ways(report: Report, gpus: int) -> Iterator[Way]:
    """Yield the step on several GPUs, by ZeRO stage."""
    if not report.deployment.train or gpus < 2:
        return
    table = table_of(report)
    parameters = [
        n
        for b, n in zip(table.buffers, table.sizes(report.env), strict=True)
        if b.role is BufferRole.PARAMETER
    ]
    exchange_s = exchanged_s(report, sum(parameters), gpus)
    for stage, roles in STAGES:
        # of a layer, its largest tensor counts
        more_bytes = WHOLE_LAYERS * max(parameters, default=0) if stage == 3 else 0
        # gathering the parameters once more is half of an all-reduce
        more_s = exchange_s * (1.5 if stage == 3 else 1.0)
        note = f"on {gpus} GPUs, one batch per GPU; communication not overlapped"
        shards = dict.fromkeys(roles, gpus)
        yield Way(f"ZeRO {stage}", report, shards, more_bytes, more_s, note)


def exchanged_s(report: Report, nbytes: int, gpus: int) -> float:
    """Return the time of the gradients' all-reduce; 0 if the target declares no link."""
    from perfc.study.collective import collective

    try:
        result = collective("all-reduce", max(nbytes, 1), gpus, [report.machine], dtype="f32")
    except PerfcError:  # no link, or no measured collective for this machine
        return 0.0
    return result.rows[0].time_s
