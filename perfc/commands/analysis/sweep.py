"""``perfc sweep``: times over a range of sizes, and where the bottleneck changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from perfc.common.durations import seconds_of
from perfc.common.plain_text import say

from ..shared.prelude import (
    DeploymentOptions,
    grouped_command,
    model_options,
    present,
    result_options,
)
from ..shared.table import table_options
from ..shared.workers import dask_option, workers

DOCUMENTS = {"sweep": "perfc.study.sweep.results:Sweep"}
"""JSON document of the command, and the type that defines its schema."""


@grouped_command("sweep")
@click.argument("model", type=click.Path())
@table_options("sweep")
@dask_option
@result_options
@model_options
def command(
    options: DeploymentOptions,
    model: str,
    top: int,
    slo: str | None,
    no_predict: bool,
    dask: str,
    form: str,
    output: Path | None,
) -> None:
    """Sweep sizes of MODEL: `perfc sweep model.onnx --batch 1:256 --target a100,h100`.

    A range is 1:256, 1:256:8, 1:256:*2, 128,512,2048 or one number; --seq and --dim NAME=RANGE
    take ranges too. The analysis runs once; each point evaluates its formulas and predicts as
    `perfc analyze` does. Several targets take commas between.
    """
    from perfc.study.sweep import sweep
    from perfc.study.sweep.axes import parse_axes
    from perfc.study.sweep.text import within

    if not options.sizes:
        raise click.UsageError("give a range: --batch 1:256, --seq 128,512 or --dim NAME=1:256")
    axes = parse_axes(options.sizes)
    # --target may name several machines
    how = options.deployment(dims={a.name: a.values[0] for a in axes}, is_several=True)
    machines = options.machines(how.target)
    # one analysis, at the first point and on the first machine: its formulas are evaluated at
    # the other points and on the other machines
    report = options.report(model, replace(how, target=str(machines[0].path)))
    with workers(dask) as each:
        result = sweep(report, axes, machines, top=top, predict=not no_predict, each=each)
    # in other formats than text, standard output has the document alone
    for line in within(result, seconds_of(slo, "--slo", is_limit=True)) if slo else ():
        say(line, is_error=form != "text")
    present(result, form, output)
