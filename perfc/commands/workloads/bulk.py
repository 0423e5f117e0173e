"""``perfc bulk``: answers for many models in Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..shared.prelude import (
    DeploymentOptions,
    deployment_options,
    grouped_command,
)
from ..shared.progress import ProgressLine
from ..shared.table import table_options
from ..shared.workers import dask_option, runner_of

if TYPE_CHECKING:
    from perfc.study.bulk.jobs import BulkSetting
    from perfc.study.bulk.run import BulkResult

INCOMPLETE = 3
"""Exit code under ``--strict`` if a model has no answer."""
FAILED, ALL_FAILED = 1, 2
"""Exit codes if some models, or all, have no answer."""


@grouped_command("bulk")
@click.argument("models", metavar="MODELS...", nargs=-1, required=True)
@deployment_options
@table_options("bulk")
@dask_option
def command(
    options: DeploymentOptions,
    models: tuple[str, ...],
    folder: Path,
    shard: str,
    workers: int | None,
    timeout: str,
    worker_memory: str,
    no_predict: bool,
    strict: bool,
    dask: str,
) -> int:
    """Analyze many MODELS: `perfc bulk models -t a100,h100 --batch 1,8 -o out`.

    They are files, folders or patterns. --target, --runtime and --dtype take several names,
    --batch, --seq and --dim ranges. Each row has what `perfc compare` prints of one model in one
    setting, or the error. The same command continues an interrupted run, and adds models and
    settings to a finished one. Runs into one folder wait for each other. The exit code is 1 if a
    model failed, 2 if all did.
    """
    from perfc.common.plain_text import say
    from perfc.kernels.backends.host import processors
    from perfc.study.bulk.answers import answered
    from perfc.study.bulk.jobs import Shard
    from perfc.study.bulk.run import bulk

    settings = tuple(settings_of(options))
    part = Shard.parse(shard)
    runner = runner_of(dask, workers or len(processors()), timeout, worker_memory)
    with ProgressLine() as line:
        outcome = bulk(
            models,
            settings,
            folder,
            partial(answered, runner=runner, settings=settings, predict=not no_predict),
            shard=part,
            options=shared_options(options, not no_predict),
            on_model=line.show,
        )
    for path, reason in outcome.failures:
        say(f"error: {reason if path in reason else f'{path}: {reason}'}", is_error=True)
    say(summary(outcome))
    if strict and outcome.failed:
        return INCOMPLETE
    return 0 if not outcome.failed else FAILED if outcome.has_answers else ALL_FAILED


def settings_of(options: DeploymentOptions) -> Iterator[BulkSetting]:
    """Yield every combination of sizes, runtimes, precisions and targets.

    Raises:
        PerfcError: an invalid option or an unknown target.
    """
    from perfc.study.bulk.jobs import BulkSetting

    contents = options.contents
    for dims, way in options.sized_ways():
        how = way.deployment(dims=dims, is_several=True)
        chosen = (way.fields["runtime"], way.fields["dtype"])
        words = [*(f"{k}={v}" for k, v in dims.items()), *filter(None, chosen)]
        for machine in options.machines(how.target):
            on_target = how.with_values({"target": str(machine.path)})
            yield BulkSetting(" ".join((machine.name, *words)), on_target, contents)


def shared_options(options: DeploymentOptions, predict: bool) -> dict[str, str]:
    """Return what all rows of a folder have in common: options that no setting names."""
    from perfc.common.version import __version__

    # rows name their target, runtime and type; a deployment needs a target, so that here it has the
    # same target for every folder
    plain = options.replaced(target=None, runtime=None, dtype=None)
    how = plain.deployment(dims={}, is_several=True).with_values({"target": "a100"})
    return {
        "version": __version__,
        "deployment": repr(how),
        "value": repr(options.contents),
        "predictions": str(predict),
    }


def summary(outcome: BulkResult) -> str:
    """Return the result in one line."""
    from perfc.view.report.units import plural

    analyzed = f"{plural(outcome.analyzed, 'model')} in {outcome.time_s:.1f} s"
    speed = f" ({outcome.models_per_s:.1f}/s)" if outcome.analyzed else ""
    failed = f", {outcome.failed:,} failed" if outcome.failed else ""
    return f"{analyzed}{speed}{failed}; {plural(outcome.rows, 'row')} in {outcome.file}"
