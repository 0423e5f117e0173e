"""``perfc mig``: find the smallest MIG slice that meets a model's memory and latency."""

from __future__ import annotations

from pathlib import Path

import click

from perfc.common.durations import seconds_of
from perfc.errors import ParseError

from ..shared.prelude import (
    DeploymentOptions,
    color_option,
    grouped_command,
    model_options,
    present,
    result_options,
)
from ..shared.table import table_options
from ..shared.workers import dask_option, workers

FINDINGS = 1
"""Exit code if no slice is large and fast enough."""
DOCUMENTS = {"mig": "perfc.study.comparison.slices:Slicing"}
"""JSON document of the command, and the type that defines its schema."""


@grouped_command("mig")
@click.argument("model", type=click.Path())
@model_options
@table_options("mig")
@dask_option
@result_options
@color_option
def command(
    options: DeploymentOptions,
    model: str,
    slo: str | None,
    no_predict: bool,
    dask: str,
    form: str,
    output: Path | None,
) -> int:
    """Find the MIG slice for MODEL: `perfc mig model.onnx --target a100 --slo 10ms`.

    Prints one row per slice (multi-instance GPU): time, memory, and the throughput of a GPU full of
    such slices, with the slices that two published rules would choose. The exit code is 1 if no
    slice is enough. `-t a100/3g.40gb` selects a slice in other commands.
    """
    from perfc.study.comparison.slices import slicing

    from .compare import settings_of

    how = options.deployment()
    settings = list(settings_of(options, [options.named(model)]))
    # several runtimes or precisions make several settings
    if len(settings) > 1:
        raise ParseError("one way of running at a time", where="--runtime, --dtype")
    slo_s = None if slo is None else seconds_of(slo, "--slo", is_limit=True)
    with workers(dask) as each:
        result = slicing(
            settings[0],
            how.target,
            slo_s=slo_s,
            prices=options.prices,
            predict=not no_predict,
            each=each,
        )
    present(result, form, output)
    return 0 if result.smallest is not None else FINDINGS
