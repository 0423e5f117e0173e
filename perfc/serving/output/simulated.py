"""Predict the runs of published predictors by perfc itself, for a comparison next to theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from perfc.errors import PerfcError
from perfc.passes.runtimes import SERVING_DEFAULT, TRAINING_DEFAULT

from .published import ModelRun, PublishedPrediction, QuantityPrediction

if TYPE_CHECKING:
    from perfc.api import Report

NAME = "perfc"
PASS_RUNTIME = TRAINING_DEFAULT
"""Runtime of the passes that published predictors of encoders are fitted to."""
BATCHES = tuple(1 << power for power in range(9))
"""Batches of a chart."""


def simulated(run: ModelRun) -> PublishedPrediction:
    """Predict a run as `perfc llm` does, or `perfc analyze` for an encoder.

    Memory is that of tensors: weights, activations of the largest step, keys and values of all
    sequences. On several GPUs there is no memory, as published predictors have none.

    Raises:
        PerfcError: as ``perfc.llm`` and ``perfc.analyze``.
    """
    return of_pass(run) if run.model.decoder is None else of_load(run)


def of_load(run: ModelRun) -> PublishedPrediction:
    """Predict a served decoder by simulating its requests.

    Raises:
        PerfcError: as ``perfc.llm``.
    """
    from ..options import ServingOptions
    from ..service import engine_of, llm

    parallel = replace(run.parallel, data=run.engines)
    options = ServingOptions(
        runtime=run.runtime or SERVING_DEFAULT,
        runtime_version=run.version,
        dtype=run.weights,
        kv_dtype=run.cache,
        parallel=parallel,
        isl=run.isl,
        osl=run.osl,
        concurrency=run.batch,
        offline=run.is_offline,
    )
    report = llm(run.model, run.target, **options)
    rate = energy = memory = None
    if report.throughput is not None and report.expenses is not None:
        basis = f"requests simulated on {report.runtime}"
        rate = exact(report.throughput.output_tokens_per_s, basis)
        energy = exact(report.expenses.energy_j_per_token, basis)
    if report.gpus == 1:
        plan = engine_of(run.model, run.target, options).memory(run.isl, run.osl)
        demand = plan.demand
        sequence_bytes = demand.kv_bytes * (run.isl + run.osl) + demand.state_bytes
        memory = exact(
            demand.weight_bytes + demand.activation_bytes + run.batch * sequence_bytes,
            "weights, activations, keys and values of the batch",
            () if report.fits else ("there is no memory for even one request",),
        )
    return predicted(run, "perfc llm", rate, memory, energy)


def of_pass(run: ModelRun) -> PublishedPrediction:
    """Predict a pass of an encoder over a batch of sequences.

    Raises:
        PerfcError: as ``perfc.analyze``.
    """
    # one analysis, cached, serves all batches of a chart
    report = analyzed(replace(run, batch=1)).at(batch=run.batch)
    table, tokens, basis = report.prediction, run.batch * run.isl, f"kernels of {PASS_RUNTIME}"
    time, energy = table.total.time, table.energy
    return predicted(
        run,
        f"perfc analyze --runtime {PASS_RUNTIME}",
        # the quantity is a rate, of which the longest time is the lower end
        QuantityPrediction(tokens / time.mid, tokens / time.high, tokens / time.low, basis),
        exact(report.footprint.allocated_bytes, "weights and activations"),
        None
        if energy is None
        else QuantityPrediction(
            energy.energy_j / tokens, energy.low_j / tokens, energy.high_j / tokens, basis
        ),
    )


@lru_cache(maxsize=4)
def analyzed(run: ModelRun) -> Report:
    """Return the analysis of an encoder's pass.

    Raises:
        PerfcError: as ``perfc.analyze``.
    """
    import perfc.api as api
    from perfc.deployment import Deployment
    from perfc.frontend.config import ForwardStep, lower, precision_of

    half = precision_of(run.model.dtype).half.code
    how = Deployment().with_values(
        {
            "target": run.target,
            "runtime": PASS_RUNTIME,
            "dtype": half if run.weights == "half" else run.weights,
            "dims": {"batch": run.batch, "seq": run.isl},
        }
    )
    return api.analyze(lower(run.model, ForwardStep.PREFILL, code=how.module_code), deployment=how)


def exact(
    value: float | None, basis: str, outside: tuple[str, ...] = ()
) -> QuantityPrediction | None:
    """Return a quantity without an interval; None without a value."""
    return None if value is None else QuantityPrediction(value, None, None, basis, outside)


def predicted(
    run: ModelRun,
    title: str,
    rate: QuantityPrediction | None,
    memory: QuantityPrediction | None,
    energy: QuantityPrediction | None,
) -> PublishedPrediction:
    """Return quantities as a prediction of a run."""
    osl = run.osl if run.model.decoder is not None else 0
    return PublishedPrediction(
        run.model.name,
        run.target,
        NAME,
        title,
        run.batch,
        run.isl,
        osl,
        tokens_per_s=rate,
        memory_bytes=memory,
        energy_j_per_token=energy,
    )


def along_batch(
    run: ModelRun,
    answer: PublishedPrediction,
    predict: Callable[[ModelRun], PublishedPrediction],
    batches: Sequence[int] = BATCHES,
) -> Iterator[PublishedPrediction]:
    """Yield predictions at several batches and at that of the run, where there are any.

    Args:
        run: the model and how it is run.
        answer: prediction of the run itself.
        predict: predicts a run.
        batches: batches of the other predictions.
    """
    for batch in sorted({*batches, run.batch}):
        try:
            yield answer if batch == run.batch else predict(replace(run, batch=batch))
        except PerfcError:
            # a batch that does not fit leaves a gap in the line
            continue
