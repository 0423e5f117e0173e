"""``perfc compare``: compare machines, runtimes and precisions side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.durations import seconds_of

from ..shared import names as _names
from ..shared.prelude import (
    DeploymentOptions,
    color_option,
    grouped_command,
    model_options,
    names_in,
    present,
    result_options,
)
from ..shared.table import table_options
from ..shared.workers import dask_option, workers
from ._bill import BillOptions, bill_options, billed

if TYPE_CHECKING:
    from perfc.frontend.reading.module_name import NamedModule
    from perfc.machine import Machine
    from perfc.study.comparison import Comparison, ModelSetting

FINDINGS = 1
"""Exit code if no row meets the SLO."""
ALL = "all"
"""Value of ``--predictor`` that stands for every predictor."""
DOCUMENTS = {
    "compare": "perfc.study.comparison.rows:Comparison",
    "cost": "perfc.study.comparison.bills:Costs",
}
"""JSON documents of the command, and the types that define their schemas."""


@grouped_command("compare")
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=click.Path())
@model_options
@table_options("compare")
@bill_options
@dask_option
@result_options
@color_option
def command(
    options: DeploymentOptions,
    models: tuple[str, ...],
    sort: str,
    slo: str | None,
    region: str | None,
    predictors: str,
    no_predict: bool,
    bill: BillOptions,
    dask: str,
    form: str,
    output: Path | None,
) -> int:
    """Compare targets for MODELs: `perfc compare model.onnx -t a100,h100,l4,t4 --batch 8`.

    Prints one row per machine: predicted time with its interval, throughput, energy, and whether
    the model fits in memory. --runtime and --dtype also accept comma-separated names, and `-t all`
    is every target. With --slo the exit code is 1 if no row meets it. Prices are those of
    perfc.toml ([prices]) or a target file ([price]), else of dated tables.

    --price, and any option of a bill, prints time, energy, CO2 and price of all runs, with 90 %
    intervals, and the price of each known offer. A language model that generates has the prices of
    input and output tokens of `perfc llm`, with --batch users and prompts of --seq tokens.
    """
    if bill.is_wanted:
        if slo or sort != "time":
            raise click.UsageError("--slo and --sort need rows of machines: leave out --price")
        settings = list(settings_of(options, [options.named(m) for m in models], predictors))
        machines = machines_of(options, settings)
        predict = not no_predict
        with workers(dask) as each:
            result = billed(options, settings, machines, bill, region, predict=predict, each=each)
        present(result, form, output)
        return 0
    comparison = compared(
        options,
        models,
        sort=sort,
        slo=slo,
        region=region,
        predict=not no_predict,
        predictors=predictors,
        dask=dask,
    )
    present(comparison, form, output)
    return 0 if comparison.holds else FINDINGS


def compared(
    options: DeploymentOptions,
    models: Sequence[str | bytes | NamedModule],
    *,
    sort: str = "time",
    slo: str | None = None,
    region: str | None = None,
    predict: bool = True,
    predictors: str = "",
    dask: str = "",
) -> Comparison:
    """Return the requested comparison.

    Raises:
        PerfcError: an unreadable model, an invalid option or an unknown target.
    """
    from perfc.common.choice import member
    from perfc.deployment.prices import region_named
    from perfc.study.comparison import Order, compare

    order: Order = member(Order, sort, "--sort")
    slo_s = None if slo is None else seconds_of(slo, "--slo", is_limit=True)
    models = [options.named(m) if isinstance(m, str) else m for m in models]
    settings = list(settings_of(options, models, predictors))
    machines = machines_of(options, settings)
    # read for the note alone: `compare` reads each model by itself
    if options.has_named_axes:
        from perfc.deployment.reading import read

        for model in models:
            options.note_axes(read(model, settings[0].deployment.dims, options.contents)[0])
    where = None if region is None else region_named(region)
    with workers(dask) as each:
        return compare(
            settings,
            machines,
            order=order,
            slo_s=slo_s,
            prices=options.prices,
            region=where,
            predict=predict,
            # a predictor that does not cover a model is an error only if it was named
            skip=predictors == ALL,
            each=each,
        )


def settings_of(
    options: DeploymentOptions, models: Sequence[str | bytes | NamedModule], predictors: str = ""
) -> Iterator[ModelSetting]:
    """Yield each model with each named predictor, runtime and precision."""
    from perfc.passes.runtimes import TRAINING_DEFAULT
    from perfc.study.comparison import ModelSetting

    contents = options.contents
    every = ["", *_names.predictors()] if predictors == ALL else names_in(predictors) or [""]
    for model, predictor, way in product(models, every, options.ways()):
        # cards of predictors are fitted to runs of PyTorch, so a named one implies its runtime
        runtime = way.fields["runtime"] or (TRAINING_DEFAULT if predictors else None)
        typed = way.replaced(runtime=runtime)
        yield ModelSetting(model, typed.deployment(is_several=True), contents, predictor)


def machines_of(
    options: DeploymentOptions, settings: Sequence[ModelSetting]
) -> tuple[Machine, ...]:
    """Return the named targets, or the default ones."""
    from perfc.study.comparison import USUAL

    named = settings[0].deployment.target if options.is_stated("target") else ",".join(USUAL)
    return options.machines(named)
