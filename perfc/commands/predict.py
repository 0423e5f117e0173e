"""``perfc predict``: a whole model from its graph, by weights trained on measured ones."""

from __future__ import annotations

from pathlib import Path

import click

from ._options import dim_option, parse_dims, read_model


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
@dim_option
@click.option(
    "--output-format", "form", type=click.Choice(["text", "json"]), default="text",
    show_default=True,
)  # fmt: skip
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
    dims: tuple[str, ...],
    form: str,
) -> None:
    """Predict a whole run of MODEL: time, memory or energy, as the weights were trained for.

    What lies outside of the rows trained on is called extrapolating, with a wider interval.
    """
    import json

    from perfc.analyzers.graph.estimate import estimate, lines
    from perfc.analyzers.graph.shipped import known_name, named, newest
    from perfc.analyzers.steps.setting import Precision, Setting
    from perfc.choice import member
    from perfc.ir.rewrite import with_defaults

    from ._graph import chosen_quantity

    if predictor and weights is not None:
        raise click.UsageError("give --predictor or --weights, not both")
    wanted = chosen_quantity(quantity)
    card = weights or (named(predictor, wanted) if predictor else None)
    chosen = member(Precision, precision, "--precision")
    setting = Setting(chosen, channels_last, compiled, training=training)
    setting = newest(card, known_name(target), setting, wanted, number(version))
    given = parse_dims(dims)
    module = with_defaults(read_model(model, given), given)
    result = estimate(module, card, target, setting, batch, given, quantity=wanted)
    if form == "json":
        numbers = {n: getattr(result, n) for n in ("value", "low", "high", "floor_s")}
        known = {n: v if v == v else None for n, v in numbers.items()}
        content = {
            "quantity": result.quantity.value, **known, "extrapolating": result.outside,
            "predictor": result.predictor, "batch": result.batch,
            "precision": result.setting.precision.value, "framework": result.setting.framework,
            "mode": result.setting.mode.value, "represent_s": result.represent_s,
            "predict_s": result.predict_s,
        }  # fmt: skip
        click.echo(json.dumps(content, indent=2))
    else:
        click.echo("\n".join(lines(result)))


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
