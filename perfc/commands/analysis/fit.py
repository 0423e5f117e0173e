"""``perfc fit``: find the largest batch that fits in device memory, and what would free memory."""

from __future__ import annotations

from pathlib import Path

import click

from perfc.common.plain_text import say
from perfc.errors import ParseError

from ..shared.prelude import (
    AUTO,
    DeploymentOptions,
    color_option,
    grouped_command,
    model_options,
    present,
    result_options,
)
from ..shared.table import table_options

FINDINGS = 1
"""Exit code if the model does not fit in memory."""
DOCUMENTS = {"fit": "perfc.study.fit.search:Fit"}
"""JSON document of the command, and the type that defines its schema."""


@grouped_command("fit")
@click.argument("model", type=click.Path())
@model_options
@table_options("fit")
@result_options
@color_option
def command(
    options: DeploymentOptions,
    model: str,
    gpus: int,
    no_predict: bool,
    form: str,
    output: Path | None,
) -> int:
    """Fit MODEL into device memory: `perfc fit model.onnx -t a100-40gb --train adamw --batch auto`.

    Prints memory under the runtime's allocator, the largest batch that fits, and what a change
    would save in memory and cost in time. Without --batch, or with `--batch auto`, everything
    refers to the largest batch. The exit code is 1 if the run does not fit.
    """
    from perfc.study.fit import fitted

    requested = options.fields["batch"]
    # a size given by --dim may be that of the batch
    is_auto = requested in (None, AUTO) and not options.dims
    options = options.replaced(batch=None if requested == AUTO else requested)
    report = options.report(model)
    try:
        result = fitted(report, is_auto=is_auto, gpus=gpus, predict=not no_predict)
    except ParseError as error:
        # no batch to vary: an error if the user wants it varied, else the batch of the model counts
        if requested == AUTO:
            raise
        say(f"note: {error.message}; this is of the batch that it has", is_error=True)
        result = fitted(report, is_auto=False, gpus=gpus, predict=not no_predict)
    present(result, form, output)
    return 0 if result.fits else FINDINGS
