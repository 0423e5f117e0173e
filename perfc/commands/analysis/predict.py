"""``perfc predict``: predict a whole run in a few lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..shared import names as _names
from ..shared.prelude import (
    DeploymentOptions,
    Names,
    emit,
    examples,
    format_options,
    grouped_command,
    model_options,
    read_model,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfc.api import Model
    from perfc.study.whole import WholeRun

DOCUMENT = ("predict", "perfc.study.whole:WholeRunView")
"""JSON document of the command, and the type that defines its schema."""


@grouped_command(
    "predict",
    epilog=examples(
        "predict model.onnx -t rtx4090 --batch 8",
        "predict model.onnx -t a100 --train adamw --steps 1000",
    ),
)
@click.argument("model", type=click.Path(dir_okay=False))
@click.option(
    "--predictor",
    type=Names(_names.predictors),
    metavar="NAME",
    default="",
    help="Predictor of the whole run, as of `perfc analyze`.",
)
@click.option(
    "--weights",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Card of other weights, written by `perfc train graph`.",
)
@model_options
@click.option("--quantity", default="time_s", show_default=True, help="Quantity to predict.")
@click.option(
    "--steps", type=click.IntRange(1), help="Training steps, to predict total time and price."
)
@click.option(
    "--hourly-price",
    type=click.FloatRange(0.0),
    help="Price of the machine per hour, in any currency.",
)
@format_options("text", "json")
def command(
    options: DeploymentOptions,
    /,
    model: str,
    predictor: str,
    weights: Path | None,
    quantity: str,
    steps: int | None,
    hourly_price: float | None,
    form: str,
    output: Path | None,
) -> None:
    """Predict a whole run of MODEL in a few lines, and price the steps of a training.

    The time is the one that `perfc analyze` reports for the same options. Memory, energy and power
    need --weights trained on them.
    """
    from perfc.analyzers.graph.rows import Quantity
    from perfc.analyzers.whole_runs.shipped import known_name
    from perfc.common.choice import member
    from perfc.deployment.reading import located
    from perfc.study.whole import SCHEMA, WholeRunView, predict_as
    from perfc.view.report.formats.json_form import document_text

    if predictor and weights is not None:
        raise click.UsageError("give --predictor or --weights, not both")
    if hourly_price is not None and steps is None:
        raise click.UsageError("a price is one of --steps")
    wanted = member(Quantity, quantity, "--quantity")
    how = options.deployment(is_whole=True)
    with located(model):
        source: Model = (given := options.named(model))
        if (is_ir := model == "-" or model.endswith(".pir")) or options.has_named_axes:
            module = read_model(given, dict(how.dims), options.contents)
            options.note_axes(module)
            source = module if is_ir else given
        result = predict_as(
            source,
            how,
            values=options.contents,
            predictor=str(weights or predictor),
            quantity=wanted.value,
        )
    more = further(result, known_name(how.target), steps, hourly_price)
    if form == "json":
        view = WholeRunView.of(result, more)
        emit(document_text(SCHEMA, view), output)
    else:
        emit("\n".join([*lines(result), *map(said, more.items())]) + "\n", output)


def lines(run: WholeRun) -> Sequence[str]:
    """Return a prediction as lines of text."""
    from perfc.view.report.units import LOWER_BOUND, Unit, time_text

    is_time = run.unit is Unit.SECOND
    floor = [f"{LOWER_BOUND} {time_text(run.floor_s)}"] if is_time else []
    return run.answer, *run.further, *floor, *run.doubts, run.how, run.basis


def further(
    result: WholeRun, target: str, steps: int | None, hourly_price: float | None
) -> dict[str, float | str]:
    """Derive total training time and price from a step, or the MIG profile from memory."""
    from perfc.analyzers.graph.rows import Quantity
    from perfc.analyzers.whole_runs.training_run import TrainingRun
    from perfc.machine.mig import mig_profile, profiles

    extra: dict[str, float | str] = {}
    if result.quantity is Quantity.TIME and steps is not None:
        whole = TrainingRun(result.value, steps, hourly_price)
        extra["steps_s"] = whole.time_s
        if whole.price is not None:
            extra["price"] = whole.price
    quantities = {**result.other_quantities, result.quantity.value: result.value}
    memory_bytes = quantities.get(Quantity.MEMORY.value)
    if memory_bytes is not None and profiles(target):
        profile = mig_profile(memory_bytes, target)
        extra["mig_profile"] = profile.name if profile else "none"
    return extra


def said(item: tuple[str, float | str]) -> str:
    """Format an item of `further` as text."""
    name, value = item
    match name, value:
        case "steps_s", float():
            return f"all steps {value / 3600:.4g} h"
        case "price", float():
            return f"price {value:.2f}"
        case _:
            return f"smallest slice that holds it: {value}"
