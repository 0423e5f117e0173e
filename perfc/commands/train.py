"""``perfc train``: train the predictors that ship, from measured rows."""

from __future__ import annotations

from pathlib import Path

import click


@click.group("train")
def command() -> None:
    """Train predictors; their weights and cards are written in one step each."""


@command.command("op")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    required=True,
    help="Folder of the measured tables, as `perfc data fetch` writes it.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Folder of the weights; those that perfc reads by default.",
)
@click.option("--force", is_flag=True, help="Replace weights of another schema.")
def op(names: tuple[str, ...], data: Path, output: Path | None, force: bool) -> None:
    """Train the operator predictors NAME, all by default, on every row of their tables."""
    from perfc.analyzers.artefact import SHIPPED, save
    from perfc.analyzers.training.experiments import chosen

    folder = output or SHIPPED
    for experiment in chosen(names):
        artefact = experiment.train(data, lambda line: click.echo(line, err=True))
        click.echo(save(artefact, folder, overwrite=force))
