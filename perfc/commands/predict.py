"""``perfc predict``: a whole model from its graph, by weights trained on measured ones."""

from __future__ import annotations

from pathlib import Path

import click

from ._options import dim_option, parse_dims, read_model


@click.command("predict")
@click.argument("model", type=click.Path(dir_okay=False))
@click.option(
    "--weights", type=click.Path(path_type=Path, dir_okay=False), required=True,
    help="Card of the weights, as `perfc train graph` writes it.",
)  # fmt: skip
@click.option("-t", "--target", required=True, help="Name or file of the machine.")
@click.option("--batch", default=1, show_default=True, type=click.IntRange(1, 1_000_000))
@click.option("--precision", default="amp f16", show_default=True)
@click.option("--channels-last", is_flag=True, help="Feature maps as NHWC.")
@click.option("--compiled", is_flag=True, help="torch.compile.")
@click.option("--training", is_flag=True, help="A whole training step.")
@click.option("--torch", "version", default="2.9", show_default=True, help="Version.")
@dim_option
@click.option(
    "--output-format", "form", type=click.Choice(["text", "json"]), default="text",
    show_default=True,
)  # fmt: skip
def command(
    model: str,
    weights: Path,
    target: str,
    batch: int,
    precision: str,
    channels_last: bool,
    compiled: bool,
    training: bool,
    version: str,
    dims: tuple[str, ...],
    form: str,
) -> None:
    """Predict a whole run of MODEL: time, memory or energy, as the weights were trained for.

    What lies outside of the rows trained on is called extrapolating, with a wider interval.
    """
    import json
    import re

    from perfc.analyzers.graph.estimate import estimate, lines
    from perfc.analyzers.steps.setting import Precision, Setting
    from perfc.errors import ParseError
    from perfc.ir.rewrite import with_defaults

    from ._graph import member

    found = re.fullmatch(r"(\d{1,3})\.(\d{1,3})(\..*)?", version)
    if found is None:
        raise ParseError(f"{version!r} is no version", where="--torch", hint="as in 2.9")
    chosen = member(Precision, precision, "--precision")
    number = (int(found[1]), int(found[2]))
    setting = Setting(chosen, channels_last, compiled, number, training)
    given = parse_dims(dims)
    module = with_defaults(read_model(model, given), given)
    result = estimate(module, weights, target, setting, batch, given)
    if form == "json":
        numbers = {n: getattr(result, n) for n in ("value", "low", "high", "floor_s")}
        known = {n: v if v == v else None for n, v in numbers.items()}
        content = {
            "quantity": result.quantity.value, **known, "extrapolating": result.outside,
            "predictor": result.card.predictor, "represent_s": result.represent_s,
            "predict_s": result.predict_s,
        }  # fmt: skip
        click.echo(json.dumps(content, indent=2))
    else:
        click.echo("\n".join(lines(result)))
