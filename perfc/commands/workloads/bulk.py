"""``perfc bulk``: answers for many models in Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.durations import seconds_of
from perfc.errors import ParseError

from ..shared.prelude import (
    DeploymentOptions,
    deployment_options,
    grouped_command,
)
from ..shared.progress import ProgressLine
from ..shared.table import table_options

if TYPE_CHECKING:
    from perfc.study.bulk.jobs import BulkSetting
    from perfc.study.bulk.run import BulkResult, Run

INCOMPLETE = 3
"""Exit code under ``--strict`` if a model has no answer."""
FAILED, ALL_FAILED = 1, 2
"""Exit codes if some models, or all, have no answer."""


@grouped_command("bulk")
@click.argument("models", metavar="MODELS...", nargs=-1, required=True)
@deployment_options
@table_options("bulk")
def command(
    options: DeploymentOptions,
    models: tuple[str, ...],
    folder: Path,
    shard: str,
    workers: int | None,
    timeout: str,
    worker_memory: str,
    dask: str,
    no_predict: bool,
    strict: bool,
) -> int:
    """Analyze many MODELS: `perfc bulk models -t a100,h100 --batch 1,8 -o out`.

    They are files, folders or patterns. --target, --runtime and --dtype take several names,
    --batch, --seq and --dim ranges. Each row has what `perfc compare` prints of one model in one
    setting, or the error. The same command continues an interrupted run, and adds models and
    settings to a finished one. Runs into one folder wait for each other. The exit code is 1 if a
    model failed, 2 if all did.
    """
    from perfc.common.plain_text import say
    from perfc.study.bulk.jobs import Shard
    from perfc.study.bulk.run import bulk

    settings = tuple(settings_of(options))
    part = Shard.parse(shard)
    with ProgressLine() as line:
        outcome = bulk(
            models,
            settings,
            folder,
            runner(
                settings, not no_predict, workers, timeout=timeout, memory=worker_memory, dask=dask
            ),
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
    from itertools import product

    from perfc.study.bulk.jobs import BulkSetting
    from perfc.study.sweep.axes import parse_axes

    from ..analysis.compare import several

    contents = options.contents
    axes = parse_axes(options.sizes) if options.sizes else ()
    runtimes, dtypes = (several(text) for text in map(options.fields.get, ("runtime", "dtype")))
    for values in product(*(axis.values for axis in axes)):
        dims = dict(zip((axis.name for axis in axes), values, strict=True))
        for runtime, dtype in product(runtimes, dtypes):
            typed = options.replaced(runtime=runtime, dtype=dtype)
            how = typed.deployment(dims=dims, is_several=True)
            words = [*(f"{k}={v}" for k, v in dims.items()), runtime or "", dtype or ""]
            for machine in options.machines(how.target):
                name = " ".join(filter(None, (machine.name, *words)))
                on_target = how.with_values({"target": str(machine.path)})
                yield BulkSetting(name, on_target, contents)


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


def runner(
    settings: Sequence[BulkSetting],
    predict: bool,
    workers: int | None,
    timeout: str,
    memory: str,
    dask: str,
) -> Run:
    """Return the function that answers jobs: a pool of processes, or a Dask cluster.

    Raises:
        PerfcError: an invalid time or size.
    """
    from functools import partial

    from perfc.kernels.backends.host import processors
    from perfc.machine import Reserve
    from perfc.study.bulk.pool import WorkerLimits, pooled

    if dask:
        from perfc.study.bulk.cluster import distributed

        return partial(distributed, address=dask, settings=settings, predict=predict)
    memory_bytes = Reserve.parse(memory, "--worker-memory").nbytes
    # 0 for a share of the memory, such as 5%, which a worker's limit cannot be
    if not memory_bytes:
        raise ParseError(f"{memory!r} is no size", where="--worker-memory", hint="as in 4GiB")
    limits = WorkerLimits(seconds_of(timeout, "--timeout", is_limit=True), memory_bytes)
    count = workers or len(processors())
    return partial(pooled, settings=settings, predict=predict, count=count, limits=limits)


def summary(outcome: BulkResult) -> str:
    """Return the result in one line."""
    from perfc.view.report.units import plural

    analyzed = f"{plural(outcome.analyzed, 'model')} in {outcome.time_s:.1f} s"
    speed = f" ({outcome.models_per_s:.1f}/s)" if outcome.analyzed else ""
    failed = f", {outcome.failed:,} failed" if outcome.failed else ""
    return f"{analyzed}{speed}{failed}; {plural(outcome.rows, 'row')} in {outcome.file}"
