"""Option ``--dask`` of commands with many independent settings, and where these run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from perfc.common.durations import seconds_of
from perfc.errors import ParseError

from .progress import ProgressLine

if TYPE_CHECKING:
    from perfc.study.tasks import Each, Runner

MOST_MESSAGES = 256
"""Maximum messages of an ordered run: small tasks are sent several at once."""
dask_option = click.option(
    "--dask",
    default="",
    metavar="ADDRESS",
    help="Run on the workers of a Dask scheduler, e.g. tcp://head:8786; they see the same files.",
)


@contextmanager
def workers(dask: str) -> Iterator[Each]:
    """Yield the function that applies a function to tasks: `map`, or a cluster with progress."""
    if not dask:
        yield map
        return
    from perfc.study.tasks import clustered

    with ProgressLine() as line:
        yield ordered(partial(clustered, address=dask), line.show)


def ordered(runner: Runner, on_done: Callable[[int, int], None]) -> Each:
    """Return a function as `map` that runs tasks elsewhere, and raises the error of any.

    Args:
        runner: yields the outcomes.
        on_done: called with the numbers of finished and of all tasks.
    """

    def each(function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterable[Any]:
        every, results = list(tasks), dict[int, Sequence[Any]]()
        size = max(1, len(every) // MOST_MESSAGES)
        parts = [(i, every[i : i + size]) for i in range(0, len(every), size)]
        on_done(0, len(every))
        done = 0
        for outcome in runner(partial(_answers, function), parts):
            if outcome.error is not None:
                raise outcome.error
            start, part = outcome.task
            results[start] = outcome.result or ()
            done += len(part)
            on_done(done, len(every))
        return [result for start, _ in parts for result in results[start]]

    return each


def _answers(function: Callable[[Any], Any], part: tuple[int, Sequence[Any]]) -> Sequence[Any]:
    """Return the results of consecutive tasks, which are sent together."""
    return [*map(function, part[1])]


def runner_of(dask: str, count: int, timeout: str, memory: str) -> Runner:
    """Return the cluster at an address, or else a pool of processes.

    Raises:
        ParseError: an invalid time or size.
    """
    from perfc.machine import Reserve
    from perfc.study.tasks import clustered, pooled

    if dask:
        return partial(clustered, address=dask)
    memory_bytes = Reserve.parse(memory, "--worker-memory").nbytes
    # 0 for a share of the memory, such as 5%, which a worker's limit cannot be
    if not memory_bytes:
        raise ParseError(f"{memory!r} is no size", where="--worker-memory", hint="as in 4GiB")
    time_s = seconds_of(timeout, "--timeout", is_limit=True)
    return partial(pooled, count=count, time_s=time_s, memory_bytes=memory_bytes)
