"""``perfc eval``: the scoreboard of the predictors, every figure from held-out rows."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("eval")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    required=True,
    help="Folder of the measured tables, as `perfc data fetch` writes it.",
)
@click.option(
    "--output-format",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
)
@click.option("--plot", type=click.Path(path_type=Path), help="Write a chart of the errors (SVG).")
@click.option("--record", is_flag=True, help="Write the figures into the cards of the weights.")
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    data: Path,
    output_format: str,
    plot: Path | None,
    record: bool,
) -> None:
    """Train the predictors NAME without the rows they are tested on, and test them.

    Exits with 1 if a figure misses its goal.
    """
    from perfc.analyzers.training.experiments import chosen
    from perfc.analyzers.training.scoreboard import into_cards, write_plot, written

    found = {
        experiment: list(experiment.evaluate(data, lambda line: click.echo(line, err=True)))
        for experiment in chosen(names)
    }
    click.echo(written(found, output_format), nl=False)
    if plot is not None:
        write_plot(found, plot)
    if record:
        into_cards(found)
    if not all(figure.met for figures in found.values() for figure in figures):
        ctx.exit(1)
