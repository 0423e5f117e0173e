"""Run bulk jobs in a pool of processes that survives the models that end a worker.

A model that takes too long, needs too much memory or crashes the interpreter costs its own answer
only: the worker is replaced, and the row says why.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from perfc.ir import frozen

from .answers import Answer, ModelAnswers, identity
from .jobs import BulkSetting, ModelJob

RECYCLED_AFTER = 2_000
"""Models after which a worker is replaced, so that caches of the process stay small."""
CONTEXT = get_context("spawn")
"""A forked process would inherit locks and threads of its parent."""


@frozen
class WorkerLimits:
    """Limits of a worker; a model that exceeds one gets a row with the reason.

    Args:
        time_s: longest time for one model.
        memory_bytes: largest address space of a worker.
    """

    time_s: float
    memory_bytes: int


@dataclass
class PoolWorker:
    """A process that answers one job at a time.

    Args:
        settings: all settings of the run.
        predict: predict times.
        limits: limits of the worker.
        job: job in progress; None if the worker is free.
        deadline_s: time by `time.monotonic` at which the job is late.
    """

    settings: Sequence[BulkSetting]
    predict: bool
    limits: WorkerLimits
    job: ModelJob | None = None
    deadline_s: float = 0.0
    process: SpawnProcess = field(init=False)
    connection: Connection = field(init=False)

    def __post_init__(self) -> None:
        """Start the process."""
        self.start()

    def start(self) -> None:
        """Start a process."""
        self.connection, worker_end = CONTEXT.Pipe()
        arguments = (worker_end, self.settings, self.predict, self.limits.memory_bytes)
        self.process = CONTEXT.Process(target=serve, args=arguments, daemon=True)
        self.process.start()
        # now only the child holds its end of the pipe, so that `recv` here fails when it ends
        worker_end.close()

    def give(self, job: ModelJob) -> None:
        """Send a job."""
        self.job, self.deadline_s = job, time.monotonic() + self.limits.time_s
        # a process that has ended is noticed when its answers are read
        with suppress(OSError):
            self.connection.send(job)

    def answers(self) -> list[Answer]:
        """Return the rows of the finished job; rows of a failure if the process has ended."""
        job, self.job = self.job, None
        assert job is not None
        try:
            rows: list[Answer] = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(5)  # seconds; the exit code is known only then
            code = self.process.exitcode or 0
            # a negative code is the signal that ended the process
            ending = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            return self.failed_rows(job, f"the worker was ended {ending}")
        return rows

    def failed_rows(self, job: ModelJob, reason: str) -> list[Answer]:
        """Replace the process and return rows with a reason."""
        self.restart()
        return [identity(job, setting, reason) for setting in job.settings]

    def is_late(self, now_s: float) -> bool:
        """Return True if the job takes too long."""
        return self.job is not None and now_s > self.deadline_s

    def late_rows(self) -> list[Answer]:
        """End the process of a job that takes too long; return its rows."""
        job, self.job = self.job, None
        assert job is not None
        return self.failed_rows(job, f"took longer than {self.limits.time_s:g} s")

    def restart(self) -> None:
        """Replace the process."""
        self.stop()
        self.start()

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def serve(
    connection: Connection, settings: Sequence[BulkSetting], predict: bool, memory_bytes: int
) -> None:
    """Answer jobs until the other end closes; this is the main function of a worker."""
    # Ctrl-C reaches the whole group: the parent ends the workers once it has written its answers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_memory(memory_bytes)
    answers = ModelAnswers(settings, predict=predict)
    with suppress(EOFError, OSError):
        while True:
            connection.send(answers.of(connection.recv()))


def limit_memory(memory_bytes: int) -> None:
    """Limit the address space of this process, where the system can."""
    try:
        import resource
    except ImportError:
        return  # Windows
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def pooled(
    jobs: Iterable[ModelJob],
    settings: Sequence[BulkSetting],
    *,
    predict: bool,
    count: int,
    limits: WorkerLimits,
) -> Iterator[tuple[ModelJob, list[Answer]]]:
    """Yield each job with its rows, in the order in which they finish.

    Args:
        jobs: models to answer; read as workers become free.
        settings: all settings of the run.
        predict: predict times; otherwise use measured rates.
        count: number of processes.
        limits: limits of each.
    """
    waiting, workers = iter(jobs), list[PoolWorker]()
    served = dict[int, int]()  # jobs by the identity of the worker
    try:
        while True:
            for worker in [w for w in workers if w.job is None]:
                job = next(waiting, None)
                if job is not None:
                    worker.give(job)
            # processes start only as there are jobs for them
            while len(workers) < count and (job := next(waiting, None)) is not None:
                workers.append(PoolWorker(settings, predict, limits))
                workers[-1].give(job)
            busy = {w.connection: w for w in workers if w.job is not None}
            if not busy:
                return
            # wait for an answer, but no longer than to the next deadline
            deadline_in_s = min(worker.deadline_s for worker in busy.values()) - time.monotonic()
            for connection in wait(list(busy), timeout=max(0.0, deadline_in_s)):
                worker = busy[connection]  # type: ignore[index]
                job = worker.job
                assert job is not None
                yield job, worker.answers()
                served[id(worker)] = served.get(id(worker), 0) + 1
                if served[id(worker)] % RECYCLED_AFTER == 0:
                    worker.restart()
            now_s = time.monotonic()
            for worker in [w for w in workers if w.is_late(now_s)]:
                job = worker.job
                assert job is not None
                yield job, worker.late_rows()
    finally:
        for worker in workers:
            worker.stop()
