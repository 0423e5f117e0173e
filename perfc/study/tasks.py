"""Answer independent tasks in processes of this machine, or on the workers of a Dask cluster.

A task that ends its process, or takes too long or too much memory, costs its own answer only.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, TimeoutError, wait
from contextlib import suppress
from functools import partial
from itertools import islice
from multiprocessing import get_context
from typing import Any, Generic, TypeVar

from perfc.common.extras import required
from perfc.errors import ModelError, reason_of
from perfc.ir import frozen

T = TypeVar("T")
R = TypeVar("R")
RECYCLED_AFTER = 2_000
"""Tasks after which a process of the pool is replaced, so that its caches stay small."""
AHEAD = 4
"""Tasks sent ahead to each process; more would be held in memory."""


@frozen
class Outcome(Generic[T, R]):
    """A finished task.

    Args:
        task: the task.
        result: its result; None after an error.
        error: error of the task, or a `ModelError` that says how its process ended.
    """

    task: T
    result: R | None
    error: BaseException | None = None


Runner = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Outcome[Any, Any]]]
"""Function that yields the outcome of a function for each task, in any order."""
Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Function that applies a function to each task in order, as `map` does in this process."""


def pooled(
    function: Callable[[T], R], tasks: Iterable[T], *, count: int, time_s: float, memory_bytes: int
) -> Iterator[Outcome[T, R]]:
    """Yield the outcomes of tasks in a pool of processes, as they finish.

    Args:
        function: function of a module, or a partial of one, which processes import.
        tasks: tasks, read as processes become free.
        count: number of processes.
        time_s: longest time of one task.
        memory_bytes: largest address space of a process.

    Raises:
        MissingExtraError: without ``pebble``.
    """
    pebble = required("pebble", "a pool of processes needs pebble", "data")
    with pebble.ProcessPool(
        max_workers=count,
        max_tasks=RECYCLED_AFTER,
        initializer=_limited,
        initargs=(memory_bytes,),
        # a forked process would inherit locks and threads of its parent
        context=get_context("spawn"),
    ) as pool:
        submit = partial(pool.schedule, function, timeout=time_s)
        try:
            for outcome in _finished(lambda task: submit((task,)), tasks, count * AHEAD):
                why = _ending(outcome.error, time_s)
                yield Outcome(outcome.task, None, ModelError(why)) if why else outcome
        finally:
            # without this, tasks in flight would be waited for
            pool.stop()


def _ending(error: BaseException | None, time_s: float) -> str:
    """Return how the process of a task ended; "" if it did not."""
    if isinstance(error, TimeoutError):
        return f"took longer than {time_s:g} s"
    code = getattr(error, "exitcode", None)
    if code is None:
        return ""
    # a negative code is the signal that ended the process
    ending = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    return f"the worker was ended {ending}"


def clustered(
    function: Callable[[T], R], tasks: Iterable[T], *, address: str
) -> Iterator[Outcome[T, R]]:
    """Yield the outcomes of tasks on a Dask cluster, as they finish.

    Tasks of a worker that ends run again on others, as often as Dask allows it.

    Args:
        function: as for `pooled`.
        tasks: tasks, read as the cluster becomes free; they name files that the workers see.
        address: address of the scheduler.

    Raises:
        MissingExtraError: without ``distributed``.
        ModelError: the scheduler cannot be reached.
    """
    dask = required("distributed", "--dask needs distributed", "dask")
    try:
        client = dask.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        what = f"no Dask scheduler answers: {reason_of(error)}"
        raise ModelError(what, hint="as in tcp://head:8786", where=address) from None
    with client, client.get_executor(pure=False) as executor:
        ahead = max(1, sum(client.nthreads().values())) * AHEAD
        for outcome in _finished(partial(executor.submit, function), tasks, ahead):
            failure = outcome.error
            if isinstance(failure, dask.KilledWorker | CancelledError):
                failure = ModelError(f"the cluster gave up: {reason_of(failure)}")
            yield Outcome(outcome.task, outcome.result, failure)


def _finished(
    submit: Callable[[T], Future[R]], tasks: Iterable[T], ahead: int
) -> Iterator[Outcome[T, R]]:
    """Yield the outcomes of tasks as they finish; at most ``ahead`` are in flight."""
    waiting, sent = iter(tasks), dict[Future[R], T]()
    while True:
        sent |= {submit(task): task for task in islice(waiting, ahead - len(sent))}
        if not sent:
            return
        for future in wait(sent, return_when=FIRST_COMPLETED).done:
            error = None if future.cancelled() else future.exception()
            is_done = error is None and not future.cancelled()
            result = future.result() if is_done else None
            yield Outcome(sent.pop(future), result, None if is_done else error or CancelledError())


def _limited(memory_bytes: int) -> None:
    """Limit the address space of this process, where the system can."""
    # Ctrl-C reaches the whole group: the parent ends the pool once it has written its answers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        import resource
    except ImportError:
        return  # Windows
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
