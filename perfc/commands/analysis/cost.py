"""``perfc cost``: time, energy, carbon and price of many runs on each machine."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import click

from perfc.common.choice import member

from ..shared import names as _names
from ..shared.prelude import (
    DeploymentOptions,
    Names,
    color_option,
    examples,
    format_options,
    grouped_command,
    model_options,
    show_result,
)

DOCUMENT = ("cost", "perfc.study.comparison.bills:CostsView")
"""JSON document of the command, and the type that defines its schema."""


@grouped_command(
    "cost",
    epilog=examples(
        "cost model.onnx -t a100,h100 --items 1e9 --region france",
        "cost model.onnx -t a100/3g.40gb --steps 450000 --terms spot",
    ),
)
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=click.Path())
@model_options
@click.option(
    "--steps",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="Number of runs or training steps.",
)
@click.option(
    "--items",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="Number of images, tokens or runs (default: 1,000,000).",
)
@click.option(
    "--osl",
    type=click.IntRange(1),
    metavar="N",
    help="Output tokens of a request to a language model (default: as for perfc llm).",
)
@click.option(
    "--region",
    type=Names(_names.regions),
    default="world",
    show_default=True,
    metavar="NAME",
    help="Power grid: a region from the tables, or grams of CO2 per kWh.",
)
@click.option(
    "--terms",
    type=Names(_names.terms),
    default="on-demand",
    show_default=True,
    metavar="NAME",
    help="Rental terms: on-demand, spot or reserved.",
)
@click.option("--cloud", default="", metavar="NAME", help="Cloud provider (default: any).")
@click.option(
    "--pue",
    type=click.FloatRange(1, 5),
    metavar="X",
    help="Power usage effectiveness of the data center (default: from the table).",
)
@click.option(
    "--host-power", type=click.FloatRange(0, 1e5), metavar="W", help="Host power per GPU in watts."
)
@click.option(
    "--power-limit",
    type=click.FloatRange(1, 1e5),
    metavar="W",
    help="Power limit per GPU in watts, below its default: slower, with less energy.",
)
@click.option("--no-predict", is_flag=True, help="Sustained times only, no predictions.")
@format_options("text", "json", "markdown")
@color_option
def command(
    options: DeploymentOptions,
    models: tuple[str, ...],
    steps: float | None,
    items: float | None,
    osl: int | None,
    region: str,
    terms: str,
    cloud: str,
    pue: float | None,
    host_power: float | None,
    power_limit: float | None,
    no_predict: bool,
    form: str,
    output: Path | None,
) -> int:
    """Price many runs of MODELs: `perfc cost model.onnx -t a100,h100 --items 1e9 --region france`.

    Prints time, energy, CO2 and cost of all runs on each machine, with 90 % intervals, and the
    price of each known offer. A language model that generates has the prices of input and output
    tokens of `perfc llm`, with --batch users and prompts of --seq tokens. Prices of perfc.toml
    ([prices]) override those of target files, which override the dated tables.
    """
    from perfc.study.comparison import Order, compare
    from perfc.study.comparison.bill_views import document
    from perfc.study.comparison.bills import SCHEMA, BilledAmount, CostsView, costs
    from perfc.study.comparison.tokens import by_tokens
    from perfc.study.expenses import HOST, Host, Prices, RentalTerms, region_named

    from .compare import machines_of, settings_of

    if steps is not None and items is not None:
        raise click.UsageError("--steps and --items say the same: give one of them")
    where = region_named(region)
    prices = replace(
        Prices.read(options.file), terms=member(RentalTerms, terms, "--terms"), cloud=cloud
    )
    host = HOST
    if host_power is not None:
        host = Host(host_power, host_power, host_power, "as given")
    settings = list(settings_of(options, [options.named(m) for m in models]))
    machines = machines_of(options, settings)
    comparison = compare(
        settings, machines, order=Order.GIVEN, prices=prices, region=where, predict=not no_predict
    )
    if steps is None:
        comparison = by_tokens(comparison, settings, machines, prices, osl)
    result = costs(
        comparison,
        machines,
        BilledAmount(steps, items),
        prices,
        host=host,
        pue=pue,
        power_limit_w=math.inf if power_limit is None else power_limit,
    )
    show_result(SCHEMA, CostsView.of(result), document(result), form, output)
    return 0
