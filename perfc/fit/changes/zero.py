"""ZeRO: states, gradients and parameters divided among the GPUs that share the work.

Stage 1 divides the optimiser's states, stage 2 gradients too, stage 3 parameters too, of which two
layers are whole at a time. Stages 1 and 2 exchange what plain data parallelism does, once the
parameters' gradients; stage 3 gathers the parameters once more, half as much again (Rajbhandari et
al., 2020, section 7). The time added is that of the exchange, none of it hidden behind kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perfc.errors import PerfcError
from perfc.passes.storage import Role
from perfc.report.footprint import table_of

from ..way import Way

if TYPE_CHECKING:
    from perfc.api import Report

RANK = 30
STAGES = (
    (1, (Role.STATE,)),
    (2, (Role.STATE, Role.GRADIENT)),
    (3, (Role.STATE, Role.GRADIENT, Role.PARAMETER)),
)
WHOLE_LAYERS = 2
"""Of stage 3: the one that runs, and the next, which is fetched."""


def ways(report: Report, gpus: int) -> Iterator[Way]:
    """The step on each of some GPUs, by stage."""
    if not report.deployment.train or gpus < 2:
        return
    table = table_of(report)
    parameters = [
        n
        for b, n in zip(table.buffers, table.sizes(report.env), strict=True)
        if b.role is Role.PARAMETER
    ]
    exchange_s = exchanged_s(report, sum(parameters), gpus)
    for stage, roles in STAGES:
        whole = WHOLE_LAYERS * max(parameters, default=0) if stage == 3 else 0
        time_s = exchange_s * (1.5 if stage == 3 else 1.0)
        note = f"on {gpus} GPUs, one batch per GPU; communication not overlapped"
        shards = dict.fromkeys(roles, gpus)
        yield Way(f"ZeRO {stage}", report, shards, whole, time_s, note)


def exchanged_s(report: Report, nbytes: int, gpus: int) -> float:
    """What summing the gradients among the GPUs takes; 0 where no link of the card is stated."""
    from perfc.collective import collective

    try:
        found = collective("all-reduce", max(nbytes, 1), gpus, [report.machine], dtype="f32")
    except PerfcError:
        return 0.0
    return found.rows[0].time_s
