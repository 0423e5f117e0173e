"""Published training runs: rows, their models, and the laws of runs fitted to them."""

from __future__ import annotations

from perfc.distributed.training import Training
from perfc.ir.record import record
from perfc.machine.parallel import Parallel


@record
class RunRow:
    """A published training run.

    Args:
        source: table that it is of.
        framework: whose law it teaches.
        model: as the source calls it.
        cluster: target.
        weights: format of the products.
        parallel: how it was divided.
        training: sizes of its step.
        step_s: measured.
        is_sparse: whether the model has experts.
        config: configuration of the model, where the source states it.
    """

    source: str
    framework: str
    model: str
    cluster: str
    weights: str
    parallel: Parallel
    training: Training
    step_s: float
    is_sparse: bool = False
    config: str = ""
