"""``perfc adapt``: correct predictions for a new machine by a few measured kernels."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("adapt")
@click.option("-t", "--target", required=True, help="Name or file of the machine's target.")
@click.option(
    "--from",
    "rows",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="ROWS",
    help="Measured kernels, 50 are plenty; without, the rates that calibrate measured.",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
    help="The target file to write; by default TARGET where that is a file.",
)  # fmt: skip
def command(target: str, rows: Path | None, output: Path | None) -> None:
    """Adapt the operator predictor to a machine that nobody measured before.

    ROWS is what `perfc measure --append` writes, or a .csv or .parquet table with the columns
    class, dtype, time_s and the parameters of the class. The corrections stand in the target file;
    the learning curve says whether more kernels are worth measuring.
    """
    from perfc.adapt import adapt_target

    if output is None and not Path(target).is_file():
        raise click.UsageError("TARGET is no file of yours: give --output")
    path = output or Path(target)
    done = adapt_target(target, rows, path)
    for point in done.curve:
        kernels = f"{point.count} kernel{'s' if point.count != 1 else ''}"
        click.echo(f"{kernels:>12} measured: {point.error:6.1%} error of the others")
    if done.curve and done.enough is None:
        click.echo("the error still falls: measure more kernels")
    elif done.curve:
        click.echo(f"{done.enough} kernels are enough: more took no tenth of the error away")
    for name, c in done.corrections.items():
        click.echo(
            f"{name:20} small x{c.small_ratio:.2f}, large x{c.large_ratio:.2f}, "
            f"then {c.low_ratio:.2f} to {c.high_ratio:.2f} of it"
        )
    click.echo(f"written: {path}")
