"""Return the rows of one model: one for each setting, also where the analysis fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from perfc.api import Report
from perfc.common.whole_file import file_digest
from perfc.deployment.prices import Prices
from perfc.errors import PerfcError, reason_of
from perfc.machine import load_machine
from perfc.study.comparison import ModelSetting, Row
from perfc.study.comparison.fields import ROW, types

from .jobs import BulkSetting, ModelJob

if TYPE_CHECKING:
    from ..tasks import Runner

Answer = Mapping[str, Any]
"""One row of the result."""
COLUMNS = {name: kind for name, kind in types().items() if name != "in_time"}
"""Columns of an answer that are those of ``perfc compare``, with their types."""
HASHED_BYTES = 64 << 20
"""Largest file whose content is compared with that of other files, as it is read once more."""
REMEMBERED = 4096
"""Maximum number of models whose rows are remembered for files of equal content."""
PRICES = Prices()
"""Prices of the dated tables."""


class ModelAnswers:
    """Answers jobs; a model with the content of an earlier one gets the same answers.

    Args:
        settings: all settings of the run.
        predict: predict times; otherwise use measured rates.
    """

    def __init__(self, settings: Sequence[BulkSetting], *, predict: bool) -> None:
        self.settings = {setting.name: setting for setting in settings}
        self.predict = predict
        self.by_content: dict[tuple[str, ...], list[Answer]] = {}

    def of(self, job: ModelJob) -> list[Answer]:
        """Return one row per setting of a job."""
        content = content_of(job)
        rows = self.by_content.get((content, *job.settings))
        if rows is None:
            rows = list(self.analyzed(job))
            if content:
                # the oldest goes first: dicts are in the order of insertion
                if len(self.by_content) >= REMEMBERED:
                    self.by_content.pop(next(iter(self.by_content)))
                self.by_content[content, *job.settings] = rows
        return [{**row, **identity(job, row["setting"], row["error"])} for row in rows]

    def analyzed(self, job: ModelJob) -> Iterator[Answer]:
        """Yield one row per setting; the model is read once."""
        report: Report | None = None
        for name in job.settings:
            deployment = self.settings[name].deployment
            setting = ModelSetting(job.path, deployment, self.settings[name].values)
            try:
                # the first analysis is reused: later settings only deploy it again
                report = setting.report(load_machine(deployment.target), report)
                data = ROW.data(Row.of(report, PRICES, predict=self.predict))
            except Exception as error:  # a row for every failure
                yield identity(job, name, reason(error))
            else:
                yield {name: data[name] for name in COLUMNS} | identity(job, name)


def answered(
    jobs: Iterable[ModelJob], runner: Runner, settings: Sequence[BulkSetting], *, predict: bool
) -> Iterator[tuple[ModelJob, list[Answer]]]:
    """Yield each job with its rows, in the order in which they finish.

    Args:
        jobs: models to answer.
        runner: runs the jobs.
        settings: all settings of the run.
        predict: predict times; otherwise use measured rates.
    """
    for outcome in runner(partial(rows_of, tuple(settings), predict), jobs):
        job, error = outcome.task, outcome.error
        failed: list[Answer] = [identity(job, name, str(error)) for name in job.settings]
        yield job, failed if outcome.result is None else outcome.result


def rows_of(settings: tuple[BulkSetting, ...], predict: bool, job: ModelJob) -> list[Answer]:
    """Return the rows of a job; this runs in a process of the runner."""
    # processes are used again, on a cluster also for runs with other settings
    key = repr((settings, predict))
    if key not in _ANSWERS:
        _ANSWERS[key] = ModelAnswers(settings, predict=predict)
    return _ANSWERS[key].of(job)


_ANSWERS: dict[str, ModelAnswers] = {}
"""Answers of this process by settings; they remember models of equal content."""


def content_of(job: ModelJob) -> str:
    """Return the digest of a file's content; "" if it is large or cannot be read."""
    if not 0 <= job.file_bytes <= HASHED_BYTES:
        return ""
    try:
        return file_digest(Path(job.path))
    except OSError:
        return ""


def identity(job: ModelJob, setting: str, error: str | None = None) -> dict[str, Any]:
    """Return the columns that identify a row; alone they are the row of a failure."""
    return {
        "path": job.path,
        "setting": setting,
        "model": PurePath(job.path).name,
        "file_bytes": job.file_bytes,
        "modified_ns": job.modified_ns,
        "error": error,
    }


def reason(error: Exception) -> str:
    """Return an error in one line; errors that are none of the user's name their type."""
    if isinstance(error, PerfcError):
        return str(error)
    if isinstance(error, MemoryError):
        return "needs more memory than --worker-memory allows"
    return f"internal error: {type(error).__name__}: {reason_of(error)}"
