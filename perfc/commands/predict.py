"""``perfc predict``: a whole model from its graph, by weights trained on measured ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ._options import dim_option, parse_dims, read_model
from ._output import emit, format_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfc.analyzers.whole_runs.estimate import Estimate


@click.command("predict")
@click.argument("model", type=click.Path(dir_okay=False))
@click.option(
    "--predictor", metavar="NAME", default="",
    help="Weights that come with perfc; by default those that know the machine.",
)  # fmt: skip
@click.option(
    "--weights", type=click.Path(path_type=Path, dir_okay=False),
    help="Card of other weights, as `perfc train graph` writes it.",
)  # fmt: skip
@click.option("-t", "--target", required=True, help="Name or file of the machine.")
@click.option(
    "--batch", type=click.IntRange(1, 1_000_000), help="1, or what the model is fixed to."
)
@click.option("--precision", default="amp f16", show_default=True)
@click.option("--channels-last", is_flag=True, help="Feature maps as NHWC.")
@click.option("--compiled", is_flag=True, help="torch.compile.")
@click.option("--training", is_flag=True, help="A whole training step.")
@click.option("--torch", "version", help="Version; by default the newest measured on the machine.")
@click.option("--quantity", default="time_s", show_default=True, help="What is predicted.")
@click.option(
    "--steps", type=click.IntRange(1), help="Of a whole training: its time, and its price."
)
@click.option("--hourly-price", type=click.FloatRange(0.0), help="Of the machine, in any currency.")
@dim_option
@format_options("text", "json")
def command(
    model: str,
    predictor: str,
    weights: Path | None,
    target: str,
    batch: int | None,
    precision: str,
    channels_last: bool,
    compiled: bool,
    training: bool,
    version: str | None,
    quantity: str,
    steps: int | None,
    hourly_price: float | None,
    dims: tuple[str, ...],
    form: str,
    output: Path | None,
) -> None:
    """Predict a whole run of MODEL: time, memory or energy, as the weights were trained for.

    What lies outside of the rows trained on is called extrapolating, with a wider interval.
    """
    from perfc.analyzers.steps.setting import Setting, precision_of
    from perfc.analyzers.whole_runs.estimate import at_sizes, estimate
    from perfc.analyzers.whole_runs.shipped import known_name, named, newest
    from perfc.api import located
    from perfc.ir.rewrite import with_defaults
    from perfc.report.json_form import strict

    from ._graph import chosen_quantity

    if predictor and weights is not None:
        raise click.UsageError("give --predictor or --weights, not both")
    if hourly_price is not None and steps is None:
        raise click.UsageError("a price is one of --steps")
    wanted = chosen_quantity(quantity)
    card = weights or (named(predictor, wanted) if predictor else None)
    chosen = precision_of(precision, "--precision")
    setting = Setting(chosen, channels_last, compiled, training=training)
    setting = newest(card, known_name(target), setting, wanted, number(version))
    given = parse_dims(dims)
    with located(model):
        module = at_sizes(with_defaults(read_model(model, given), given), batch, given)
    result = estimate(module, card, target, setting, batch, given, quantity=wanted)
    more = further(result, known_name(target), steps, hourly_price)
    if form == "json":
        numbers = {n: getattr(result, n) for n in ("value", "low", "high", "floor_s")}
        known = {n: v if v == v else None for n, v in numbers.items()}
        content = {
            "quantity": result.quantity.value, **known, "extrapolating": result.outside,
            "predictor": result.predictor, "batch": result.batch,
            "precision": result.setting.precision.value, "framework": result.setting.framework,
            "mode": result.setting.mode.value, "represent_s": result.represent_s,
            "predict_s": result.predict_s, **more,
        }  # fmt: skip
        emit(strict(content, indent=2) + "\n", output)
    else:
        emit("\n".join([*lines(result), *map(said, more.items())]) + "\n", output)


def lines(found: Estimate) -> Sequence[str]:
    """An estimate as a person reads it."""
    from perfc.analyzers.graph.rows import Quantity
    from perfc.report.units import Unit, quantity

    units = {Quantity.MEMORY: Unit.BYTE, Quantity.ENERGY: Unit.JOULE, Quantity.POWER: Unit.WATT}
    unit = units.get(found.quantity, Unit.SECOND)
    value, low, high = (quantity(x, unit) for x in (found.value, found.low, found.high))
    interval = f", nine in ten within {low} to {high}" if found.low == found.low else ""
    floor = [f"floor {quantity(found.floor_s, Unit.SECOND)}"] if unit is Unit.SECOND else []
    setting, card = found.setting, found.card
    return (
        f"{value}{interval}",
        *(f"extrapolating: {reason}" for reason in found.outside),
        *floor,
        f"batch {found.batch}, {setting.precision.value}, {setting.framework}, "
        f"{setting.mode.value}",
        f"{found.predictor}, {card.rows:,} rows of {card.dataset}: {card.split}; "
        f"{1e3 * found.represent_s:.0f} ms to represent, {1e3 * found.predict_s:.1f} ms to predict",
    )


def further(
    result: Estimate, target: str, steps: int | None, hourly_price: float | None
) -> dict[str, float | str]:
    """What follows from an estimate: of a step's time a whole training, of memory a slice."""
    from perfc.analyzers.graph.rows import Quantity
    from perfc.analyzers.papers.mig import mig_profile, profiles
    from perfc.analyzers.papers.training_run import TrainingRun

    found: dict[str, float | str] = {}
    match result.quantity:
        case Quantity.TIME if steps is not None:
            whole = TrainingRun(result.value, steps, hourly_price)
            found["steps_s"] = whole.time_s
            if whole.price is not None:
                found["price"] = whole.price
        case Quantity.MEMORY if profiles(target):
            profile = mig_profile(result.value, profiles(target))
            found["mig_profile"] = profile.name if profile else "none"
        case _:
            pass
    return found


def said(item: tuple[str, float | str]) -> str:
    """One of `further` as a person reads it."""
    name, value = item
    match name, value:
        case "steps_s", float():
            return f"all steps {value / 3600:.4g} h"
        case "price", float():
            return f"price {value:.2f}"
        case _:
            return f"smallest slice that holds it: {value}"


def number(version: str | None) -> tuple[int, int] | None:
    """``2.9`` or ``2.9.1`` as major and minor.

    Raises:
        ParseError: neither.
    """
    import re

    from perfc.errors import ParseError

    if version is None:
        return None
    found = re.fullmatch(r"(\d{1,3})\.(\d{1,3})(\..*)?", version)
    if found is None:
        raise ParseError(f"{version!r} is no version", where="--torch", hint="as in 2.9")
    return int(found[1]), int(found[2])
