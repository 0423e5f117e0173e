"""Predict the training step of a published run, with or without a fitted law."""

from __future__ import annotations

import json
from functools import cache

from perfc.analyzers.runs.run_law import RunLaw
from perfc.distributed.costs.work import LanguageWork
from perfc.distributed.step import DividedStepCost, step_cost
from perfc.frontend.config import ServingPrecision, WeightFormat, precision_of
from perfc.frontend.config.reader import described
from perfc.ir.tensors.types import DType
from perfc.machine import load_machine
from perfc.passes.runtimes import TRAINER, Tf32

from . import RunRow
from .models import model_of

PHYSICS = RunLaw(1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
"""Law without effect: factors of 1 and overheads of 0, so that kernels and links are as
predicted."""


@cache
def work_of(model: str, seq: int, weights: str, cluster: str, config: str = "") -> LanguageWork:
    """Return the model of a row with its precision and machine.

    Args as the fields of `RunRow`; ``seq`` is the tokens of a sequence.
    """
    described_model = (
        described(json.loads(config), model, model) if config else model_of(model, seq)
    )
    if weights == "f32":
        # HALF is the format of weights that are not quantized, here stored in f32
        exact = ServingPrecision(WeightFormat.HALF, DType.F32)
        return LanguageWork(
            described_model, exact, TRAINER, str(load_machine(cluster).path), tf32=Tf32.NONE
        )
    # weights are stored in 16 bits under formats of 8 bits as well
    stored = "float16" if weights == "f16" else "bfloat16"
    precision = precision_of(stored, None, weights)
    return LanguageWork(described_model, precision, TRAINER, str(load_machine(cluster).path))


def cost_of(row: RunRow, law: RunLaw = PHYSICS) -> DividedStepCost:
    """Return the cost of a step of a run."""
    work = work_of(row.model, row.training.seq, row.weights, row.cluster, row.config)
    return step_cost(work, row.parallel, row.training, law=law)
