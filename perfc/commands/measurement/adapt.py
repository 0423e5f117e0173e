"""``perfc adapt``: adapt predictors to a new machine from a few measured kernels or runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.plain_text import say

from ..shared.help import grouped_command
from ..shared.output import output_format
from ..shared.table import table_options

if TYPE_CHECKING:
    from perfc.analyzers.graph.rows import Measurements
    from perfc.analyzers.intervals.adapt import Adaptation


@grouped_command("adapt")
@table_options("adapt")
def command(
    target: str,
    rows: Path | None,
    graphs: Path | None,
    dataset: str,
    predictor: str,
    output: Path | None,
) -> None:
    """Adapt predictors to a new machine from measured kernels or runs.

    ROWS is a file of `perfc measure --target TARGET --append`, with kernels or whole runs, or a
    profiler's trace with shapes. Kernels can also be a .csv or .parquet table with the columns
    class, dtype, time_s and the parameters of the class, except for CPUs. Corrections are written
    to the target file; the learning curve shows whether more measurements would help.

    Whole runs are a table with the columns model and time_s, and optionally batch, dims, runtime,
    version, precision and target. Models are NAME.onnx.gz in models/ next to it. The whole-model
    predictor is fitted to the runs on TARGET, as with --graphs. `perfc analyze --predictor`
    accepts the written card.
    """
    from perfc.analyzers.whole_runs import adapted
    from perfc.measuring.adapt import adapt_target, is_runs

    if graphs is not None:
        if rows is not None:
            raise click.UsageError("give --from or --graphs, not both")
        whole_models(target, adapted.runs_in(graphs, dataset), predictor, output or Path("weights"))
        return
    if rows is not None and is_runs(rows):
        # a target file has this suffix; runs change weights, which are several files
        if output is not None and output.suffix == ".toml":
            raise click.UsageError("whole runs move weights: --output is their folder")
        runs = adapted.measured_runs(rows, target)
        for line in runs.left_out:
            say(f"left out {line}", is_error=True)
        whole_models(target, runs, predictor, output or Path("weights"))
        if runs.left_out:
            click.get_current_context().exit(1)
        return
    # without --output, a file of the user is overwritten; a shipped target is not
    if output is None and not Path(target).is_file():
        raise click.UsageError("TARGET is no file of yours: give --output")
    path = output or Path(target)
    output_format(None, path, ("target",))  # rejects an output that is no target file
    report(adapt_target(target, rows, path))
    say(f"written: {path}")


def report(done: Adaptation) -> None:
    """Print the learning curve of corrections, and the factors of each correction."""
    from perfc.view.report.units import plural

    for point in done.curve:
        kernels = plural(point.count, "kernel")
        say(f"{kernels:>12} measured: {point.error:6.1%} error of the others")
    if done.curve and done.enough is None:
        say("the error still falls: measure more kernels")
    elif done.curve:
        enough = plural(done.enough or 0, "kernel")
        say(f"enough: {enough}, more took no tenth of the error away")
    for name, c in done.corrections.items():
        say(
            f"{name:20} small x{c.small_ratio:.2f}, large x{c.large_ratio:.2f}, "
            f"then {c.low_ratio:.2f} to {c.high_ratio:.2f} of it"
        )
    for name in done.refused:
        say(f"{name}: not corrected, kernels left out would be predicted worse")


def whole_models(target: str, runs: Measurements, predictor: str, output: Path) -> None:
    """Adapt whole-model weights and print the gain expected from more rows."""
    from perfc.analyzers.whole_runs.adapted import write_adapted
    from perfc.view.report.units import plural

    curve, card = write_adapted(target, runs, predictor, output)
    for count, error in curve:
        measured = plural(count, "run")
        say(f"{measured:>12} measured: {error:6.1%} error of the others")
    say(f"written: {card}")
