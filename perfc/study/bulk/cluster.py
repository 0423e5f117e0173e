"""Run bulk jobs on a Dask cluster, in place of the pool of local processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from typing import Any

from perfc.common.extras import install
from perfc.errors import MissingExtraError, ModelError, reason_of

from .answers import Answer, ModelAnswers, identity
from .jobs import BulkSetting, ModelJob

IN_FLIGHT_PER_THREAD = 4
"""Models sent ahead to each thread of the cluster."""
RETRIES = 3
"""Attempts after a worker was lost."""


def distributed(
    jobs: Iterable[ModelJob], address: str, settings: Sequence[BulkSetting], *, predict: bool
) -> Iterator[tuple[ModelJob, list[Answer]]]:
    """Yield each job with its rows, in the order in which the cluster finishes them.

    Workers that end are replaced by others: Dask runs their models again.

    Args:
        jobs: models to answer; read as the cluster becomes free.
        address: address of the scheduler.
        settings: all settings of the run.
        predict: predict times; otherwise use measured rates.

    Raises:
        MissingExtraError: without ``dask.distributed``.
        ModelError: the scheduler cannot be reached.
    """
    try:
        dask: Any = import_module("distributed")
    except ImportError:
        hint = install("dask")
        raise MissingExtraError("--dask needs distributed", hint=hint, where="bulk") from None
    try:
        client = dask.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        what = f"no Dask scheduler answers: {reason_of(error)}"
        raise ModelError(what, hint="as in tcp://head:8786", where=address) from None
    with client:
        waiting, sent = iter(jobs), dict[str, ModelJob]()
        all_settings = tuple(settings)

        def submit(job: ModelJob) -> Any:
            future = client.submit(
                answered,
                job,
                all_settings,
                predict,
                pure=False,
                retries=RETRIES,
                # by its key a finished future finds its job
                key=f"perfc-{job.path}",
            )
            sent[future.key] = job
            return future

        threads = max(1, sum(client.nthreads().values()))
        first = [submit(job) for job in islice(waiting, threads * IN_FLIGHT_PER_THREAD)]
        completed = dask.as_completed(first)
        for future in completed:
            job = sent.pop(future.key)
            yield job, rows_of(future, job)
            # a model is sent for each one that came back, so that few are in memory
            following = next(waiting, None)
            if following is not None:
                completed.add(submit(following))


def rows_of(future: Any, job: ModelJob) -> list[Answer]:
    """Return the rows of a finished job; rows of a failure if the cluster gave up."""
    error = future.exception() if future.status == "error" else None
    if error is None and future.status == "finished":
        return list(future.result())
    why = f"the cluster gave up: {reason_of(error) if error else future.status}"
    return [identity(job, setting, why) for setting in job.settings]


def answered(job: ModelJob, settings: tuple[BulkSetting, ...], predict: bool) -> list[Answer]:
    """Return the rows of a job; this runs on a worker of the cluster."""
    # Dask reuses worker processes, also for runs with other settings
    key = repr((settings, predict))
    if key not in _ANSWERS:
        _ANSWERS[key] = ModelAnswers(settings, predict=predict)
    return _ANSWERS[key].of(job)


_ANSWERS: dict[str, ModelAnswers] = {}
"""ModelAnswers of a worker's process by settings; they remember models of equal content."""
