"""``perfc plan``: find the fastest parallelism to train a model, or its scaling curve."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from perfc.errors import ParseError

from ..shared.prelude import DeploymentOptions, grouped_command, present
from ..shared.table import table_options
from ..shared.workers import dask_option, workers
from ._step import step_of, step_options

DOCUMENTS = {
    "plan": "perfc.distributed.plan:TrainingPlan",
    "scale": "perfc.distributed.scale:ScalingCurve",
}
"""JSON documents of the command, and the types that define their schemas."""
FINDINGS = 1
"""Exit code if nothing fits in the memory of the devices."""
GLOBAL_BATCH = 256
"""Default global batch size of a plan."""
MOST_GPUS = 1 << 16
"""Maximum devices of a plan, as of every degree of parallelism (`MOST_RANKS`)."""
OF_A_STEP = ("seq", "train", "dtype", "runtime", "reserve", "lora_rank")
"""Fields of a deployment that plans and curves read."""


@grouped_command("plan")
@click.argument("model", metavar="MODEL")
@table_options("plan")
@dask_option
@step_options
def command(
    options: DeploymentOptions,
    parallel: Mapping[str, int | str],
    /,
    model: str,
    gpus: str,
    global_batch: int | None,
    is_curve: bool,
    strong: bool,
    micro_batch: int,
    trained_by: str,
    dask: str,
    form: str,
    output: Path | None,
) -> None:
    """Search for the parallelism and checkpointing with the shortest training step of MODEL.

    MODEL is a config.json of a language model, a shipped name, or a graph, which only data
    parallelism divides. Given degrees are not searched. Without --micro-batch, --curve uses the
    largest that fits. Exits with 1 if nothing fits.
    """
    from perfc.distributed.service import plan, scale

    how, given = step_of(options), options.named(model)
    common: dict[str, Any] = {name: getattr(how, name) for name in OF_A_STEP}
    common |= {"parallel": parallel, "micro_batch": micro_batch, "trained_by": trained_by}
    if is_curve:
        curve = scale(
            given,
            how.target,
            gpus=numbers(gpus),
            batch=global_batch or 0,
            is_weak=not strong,
            # a curve has one policy, whereas a plan without one searches all
            checkpointing=how.checkpointing or "none",
            **common,
        )
        present(curve, form, output)
        fits = any(p.cost is not None and p.cost.fits for p in curve.points)
    else:
        batch = GLOBAL_BATCH if global_batch is None else global_batch
        count = one_number(gpus, strong=strong)
        with workers(dask) as each:
            common |= {"batch": batch, "checkpointing": how.checkpointing, "each": each}
            best = plan(given, count, how.target, **common)
        present(best, form, output)
        fits = best.best is not None
    if not fits:
        raise click.exceptions.Exit(FINDINGS)


def one_number(text: str, *, strong: bool) -> int:
    """Parse the number of GPUs of a plan.

    Raises:
        click.UsageError: no number, several, or an option of curves.
    """
    if strong:
        raise click.UsageError("--strong needs --curve")
    if "," in text:
        raise click.UsageError("--gpus: several numbers of GPUs need --curve")
    ctx = click.get_current_context()
    option = next(p for p in ctx.command.params if p.name == "gpus")
    if not text:
        raise click.MissingParameter(ctx=ctx, param=option)
    return int(click.IntRange(1, MOST_GPUS)(text, option, ctx) or 0)  # never None: text is given


def numbers(text: str) -> tuple[int, ...]:
    """Parse ``8,64`` into numbers.

    Raises:
        ParseError: not numbers.
    """
    parts = [p.strip() for p in text.split(",") if p.strip()]
    # six digits are enough for any cluster; of a longer number the first six are above the limit
    # too, and converting all its digits would be slow
    if len(parts) > 64 or not all(p.isascii() and p.isdigit() and int(p[:6]) > 0 for p in parts):
        raise ParseError(
            f"{text[:32]!r} are no numbers of devices", where="--gpus", hint="8,64,512"
        )
    return tuple(int(p[:6]) for p in parts)
