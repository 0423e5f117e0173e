"""``perfc plan``: find the fastest parallelism and checkpointing to train a model on N GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..shared.deployment import DeploymentOptions
from ..shared.examples import examples
from ..shared.step import show, step_of, step_options

if TYPE_CHECKING:
    from collections.abc import Mapping

DOCUMENT = ("plan", "perfc.distributed.plan:PlanView")
"""JSON document of the command, and the type that defines its schema."""
FINDINGS = 1


@click.command(
    "plan",
    epilog=examples(
        "plan llama-3.1-8b --gpus 64 -t dgx-h100 --global-batch 256 --seq 8192",
        "plan mixtral-8x7b --gpus 128 -t h100 --zero 1 --output-format json",
    ),
)
@click.argument("model", metavar="MODEL")
@click.option("--gpus", required=True, type=click.IntRange(1, 1 << 16), help="Number of GPUs.")
@click.option(
    "--global-batch", default=256, show_default=True, type=click.IntRange(1),
    help="Global batch size: samples per step on all GPUs.",
)  # fmt: skip
@step_options
def command(
    options: DeploymentOptions, parallel: Mapping[str, int | str], /, model: str, gpus: int,
    global_batch: int, micro_batch: int, trained_by: str, form: str, output: Path | None,
) -> None:  # fmt: skip
    """Search for the parallelism and checkpointing with the shortest training step of MODEL.

    MODEL is a config.json of a language model, a shipped name, or a graph, which only data
    parallelism divides. Given degrees are not searched. Exits with 1 if nothing fits.
    """
    from perfc.distributed.service import plan
    from perfc.distributed.views import plan_document

    how = step_of(options)
    result = plan(
        model, gpus, how.target, batch=global_batch, seq=how.seq, train=how.train,
        dtype=how.dtype, runtime=how.runtime, parallel=parallel, checkpointing=how.checkpointing,
        micro_batch=micro_batch, trained_by=trained_by, reserve=how.reserve,
    )  # fmt: skip
    show(result.document, result, plan_document(result), form, output)
    if result.best is None:
        raise SystemExit(FINDINGS)
