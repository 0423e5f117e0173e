"""ModelAnswers of one model: a row for each setting, also where the analysis fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from hashlib import file_digest
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from perfc.errors import PerfcError, reason_of
from perfc.machine import load_machine
from perfc.study.comparison import ModelSetting, Row
from perfc.study.comparison.data_form import NESTED, RowView
from perfc.study.expenses import Prices

from .jobs import BulkSetting, ModelJob

if TYPE_CHECKING:
    from perfc.api import Report

Answer = Mapping[str, Any]
"""One row of the result."""
COLUMNS = tuple(f for f in fields(RowView) if f.name not in (*NESTED, "in_time"))
"""Columns of an answer that are those of ``perfc compare``."""
HASHED_BYTES = 64 << 20
"""Largest file whose content is compared with that of other files."""
REMEMBERED = 4096
"""Number of models of equal content to look for."""
PRICES = Prices()
"""Prices of the dated tables."""


class ModelAnswers:
    """ModelAnswers jobs; models with the content of an earlier one have its answers.

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
        key = (content, *job.settings)
        if not content or key not in self.by_content:
            rows = list(self.analyzed(job))
            if len(self.by_content) >= REMEMBERED:
                self.by_content.pop(next(iter(self.by_content)))
            self.by_content[key] = rows
        else:
            rows = self.by_content[key]
        name = PurePath(job.path).name
        same = (identity(job, row["setting"]) | {"error": row["error"]} for row in rows)
        return [{**row, **mine, "model": name} for row, mine in zip(rows, same, strict=True)]

    def analyzed(self, job: ModelJob) -> Iterator[Answer]:
        """Yield one row per setting; the model is read once."""
        report: Report | None = None
        for name in job.settings:
            how = self.settings[name].deployment
            setting = ModelSetting(job.path, how)
            try:
                report = setting.report(load_machine(how.target), report)
                view = RowView.of(Row.of(report, PRICES, predict=self.predict), None)
            except Exception as error:  # a row for every failure
                yield {**identity(job, name), "error": reason(error)}
            else:
                yield {**identity(job, name), **{f.name: getattr(view, f.name) for f in COLUMNS}}


def content_of(job: ModelJob) -> str:
    """Return the digest of a file's content; "" if it is large or cannot be read."""
    if not 0 <= job.file_bytes <= HASHED_BYTES:
        return ""
    try:
        with open(job.path, "rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def identity(job: ModelJob, setting: str) -> dict[str, Any]:
    """Return the columns that identify a row."""
    return {
        "path": job.path, "setting": setting, "file_bytes": job.file_bytes,
        "modified_ns": job.modified_ns, "error": None,
    }  # fmt: skip


def failed(job: ModelJob, setting: str, error: str) -> Answer:
    """Return the row of a setting without an answer."""
    return {**identity(job, setting), "error": error}


def reason(error: Exception) -> str:
    """Return an error in one line; errors that are none of the user's name their type."""
    if isinstance(error, PerfcError):
        return str(error)
    if isinstance(error, MemoryError):
        return "needs more memory than --worker-memory allows"
    return f"internal error: {type(error).__name__}: {reason_of(error)}"
