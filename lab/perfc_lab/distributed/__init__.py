"""Published training runs: rows, their models, and the laws of runs fitted to them."""

from __future__ import annotations

from perfc.distributed.training import Training
from perfc.ir.record import record
from perfc.machine.parallel import Parallel


@record
class RunRow:
    """A published training run.

    Args:
        source: name of the table that has the row.
        framework: training framework; each has a fitted law.
        model: name of the model in the source.
        cluster: name of the target of the GPUs and their links.
        weights: number format of the linear layers: ``f32``, ``f16``, ``bf16`` or ``f8``.
        parallel: degrees of parallelism.
        training: batch sizes and options of a step.
        step_s: measured time of a training step.
        is_sparse: whether the model has experts.
        config: configuration of the model as JSON; "" where ``model`` says it, see
            `models.model_of`.
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
