"""Answer all models of a shard and write the rows to its Parquet file.

``perfc bulk`` calls `bulk` with `answers.answered` on a pool or a cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from perfc.ir import frozen

from .answers import Answer
from .jobs import BulkSetting, ModelJob, Shard, jobs, model_paths
from .table import ShardTable, locked

PART_MODELS, PART_S = 500, 10.0
"""Models or seconds after which results are written, so that a lost process loses few of them."""
Run = Callable[[Iterable[ModelJob]], Iterator[tuple[ModelJob, list[Answer]]]]
"""Function that answers jobs, in any order."""


@frozen
class BulkResult:
    """Result of a bulk run.

    Args:
        file: file of the shard.
        models: number of models of the shard.
        analyzed: number of models analyzed in this run.
        failures: path and reason of each failure of these models, in this run or an earlier one.
        has_answers: whether a model has an answer.
        rows: number of rows of the file.
        time_s: duration of this run.
    """

    file: Path
    models: int
    analyzed: int
    failures: tuple[tuple[str, str], ...]
    has_answers: bool
    rows: int
    time_s: float

    @property
    def models_per_s(self) -> float:
        """Return the models per second of this run."""
        return self.analyzed / self.time_s if self.time_s else 0.0

    @property
    def failed(self) -> int:
        """Return the number of models with a failure."""
        return len({path for path, _ in self.failures})


def bulk(
    patterns: Sequence[str],
    settings: Sequence[BulkSetting],
    folder: Path,
    run: Run,
    *,
    shard: Shard,
    options: Mapping[str, str],
    on_model: Callable[[int, int], None],
) -> BulkResult:
    """Answer every model of a shard that has no answer yet; return what was done.

    Args:
        patterns: files of models, or patterns of them.
        settings: settings to analyze each model in.
        folder: folder of the result.
        run: answers the jobs.
        shard: the part of the models.
        options: what must be equal for all rows of the folder.
        on_model: called with the number of finished and of all models to analyze.

    Raises:
        PerfcError: no such models, or a folder that cannot be written or has other rows.
    """
    begin_s = time.monotonic()
    paths = [path for path in model_paths(patterns) if shard.has(path)]
    with locked(folder, shard):
        table = ShardTable(folder, shard, options)
        # models whose file changed since their answer are answered again
        todo = list(jobs(paths, settings, table.done()))
        written(table, run(todo), lambda count: on_model(count, len(todo)))
        # an interrupted run may have left parts
        has_parts = todo or table.part_files()
        rows = table.merge() if has_parts else sum(b.num_rows for b in table.batches())
        # rows of this run's models and settings alone: the folder may have others
        errors = table.errors(set(paths), {setting.name for setting in settings})
        failures = dict.fromkeys((path, text) for path, text in errors if text is not None)
        has_answers = any(text is None for _, text in errors)
    seconds = time.monotonic() - begin_s
    file, count = table.file, len(paths)
    return BulkResult(file, count, len(todo), tuple(failures), has_answers, rows, seconds)


def written(
    table: ShardTable,
    answers: Iterator[tuple[ModelJob, list[Answer]]],
    on_model: Callable[[int], None],
) -> None:
    """Write answers as parts, also when interrupted."""
    waiting: list[Answer] = []
    last_write_s, waiting_models = time.monotonic(), 0
    on_model(0)
    try:
        for count, (_, rows) in enumerate(answers, 1):
            waiting += rows
            waiting_models += 1
            if waiting_models >= PART_MODELS or time.monotonic() - last_write_s > PART_S:
                table.add(waiting)
                waiting, waiting_models, last_write_s = [], 0, time.monotonic()
            on_model(count)
    # also on Ctrl-C or an error: finished answers are never lost
    finally:
        table.add(waiting)
