"""Report on a bulk run: what limits the models, which are fastest, and which stand out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import median

from perfc.common.extras import require_pyarrow
from perfc.errors import ModelError
from perfc.view.report.formats.document import Column, Document, Note, Section, Table, tabulate
from perfc.view.report.units import Unit, plural

from .table import metadata_of

SHOWN = 10
"""Models shown in a table."""
FAR = 3.5
"""Deviations from the median beyond which a model stands out (Iglewicz and Hoaglin, 1993)."""
NORMAL = 1.4826
"""Standard deviations of a normal distribution in its median absolute deviation."""
READ = ("path", "setting", "error", "time_s", "floor_s", "limited_by", "fits")
"""Columns of the result that the report needs."""


@dataclass
class SettingRows:
    """Rows of one setting, as columns of equal length.

    Args:
        paths: files of the models.
        times_s: predicted times.
        floors_s: lower bounds.
        limits: number of rows by the limit that takes most of their time.
        too_large: number of rows that do not fit in memory.
    """

    paths: list[str] = field(default_factory=list)
    times_s: list[float] = field(default_factory=list)
    floors_s: list[float] = field(default_factory=list)
    limits: Counter[str] = field(default_factory=Counter)
    too_large: int = 0


@dataclass
class Zoo:
    """All rows of a folder.

    Args:
        settings: answered rows by setting.
        failures: number of rows by the reason of their failure.
    """

    settings: dict[str, SettingRows] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)

    @classmethod
    def read(cls, folder: Path) -> Zoo:
        """Read the finished shards of a folder.

        Raises:
            MissingExtraError: without pyarrow.
            ModelError: no finished shard, or a file that is no result of ``perfc bulk``.
        """
        require_pyarrow("bulk report")
        from pyarrow import parquet

        files = sorted(folder.glob("shard-*-of-*.parquet"))
        if not files:
            hint = "a finished `perfc bulk MODELS -o FOLDER` writes them"
            raise ModelError("has no finished shard", hint=hint, where=str(folder))
        zoo = cls()
        for file in files:
            metadata_of(file)  # raises for a file of another program
            for batch in parquet.ParquetFile(file).iter_batches(columns=list(READ)):
                for row in zip(*(batch.column(n).to_pylist() for n in READ), strict=True):
                    zoo.add(*row)
        return zoo

    def add(
        self,
        path: str,
        setting: str,
        error: str | None,
        time_s: float,
        floor_s: float,
        limited_by: str | None,
        fits: bool | None,
    ) -> None:
        """Add one row."""
        if error is not None:
            # without the path, equal reasons of several models count as one
            self.failures[error.removeprefix(f"{path}: ")] += 1
            return
        rows = self.settings.setdefault(setting, SettingRows())
        rows.paths.append(path)
        rows.times_s.append(time_s)
        rows.floors_s.append(floor_s)
        rows.limits[limited_by or "unknown"] += 1
        rows.too_large += fits is False


def document(folder: Path, zoo: Zoo) -> Document:
    """Return the report of a folder."""
    models = {path for rows in zoo.settings.values() for path in rows.paths}
    title = f"{plural(len(models), 'model')} in {plural(len(zoo.settings), 'setting')}: {folder}"
    sections = [
        Section("settings", "settings", (settings_table(zoo),)),
        Section("limits", "what limits the models", (limits_table(zoo),)),
        Section("ranking", "fastest and slowest models", tuple(rankings(zoo))),
        Section("outliers", "models that stand out", tuple(outlier_parts(zoo))),
    ]
    if zoo.failures:
        sections.append(Section("failures", "models without an answer", (failure_table(zoo),)))
    return Document(title, tuple(sections))


def settings_table(zoo: Zoo) -> Table:
    """Return one row per setting: number of models, and quantiles of their times."""
    columns = (  # of pairs of a setting and its rows
        Column("setting", is_name=True, cell=itemgetter(0)),
        Column("models", cell=lambda s: str(len(s[1].paths))),
        Column("p10_s", "10 %", Unit.SECOND, cell=partial(quantile, share=0.1)),
        Column("median_s", "median", Unit.SECOND, cell=lambda s: median(s[1].times_s)),
        Column("p90_s", "90 %", Unit.SECOND, cell=partial(quantile, share=0.9)),
        Column("over_floor", "time/bound", cell=lambda s: f"{median(ratios(s[1])):.2f}"),
        Column("too_large", "do not fit", cell=lambda s: str(s[1].too_large)),
    )
    return tabulate(columns, sorted(zoo.settings.items()))


def limits_table(zoo: Zoo) -> Table:
    """Return the share of the models that each limit takes most time of, by setting."""
    names = Counter[str]()
    for rows in zoo.settings.values():
        names.update(rows.limits)
    columns = (
        Column("setting", is_name=True, cell=itemgetter(0)),
        *(Column(n, cell=partial(limited, limit=n)) for n, _ in names.most_common()),
    )
    return tabulate(columns, sorted(zoo.settings.items()))


def limited(setting: tuple[str, SettingRows], limit: str) -> str:
    """Return the share of the models of a setting that a limit takes most time of."""
    _, rows = setting
    return f"{rows.limits[limit] / len(rows.paths):.0%}"


def rankings(zoo: Zoo) -> Iterator[Note | Table]:
    """Yield the fastest and slowest models of each setting."""
    columns = (
        Column("model", is_name=True, cell=itemgetter(0)),
        Column("time_s", "time", Unit.SECOND, cell=itemgetter(1)),
        Column("floor_s", "bound", Unit.SECOND, cell=itemgetter(2)),
    )
    for setting, rows in sorted(zoo.settings.items()):
        order = sorted(zip(rows.paths, rows.times_s, rows.floors_s, strict=True), key=itemgetter(1))
        # the fastest and the slowest of few models would overlap: all are shown
        few = len(order) <= 2 * SHOWN
        yield Note(f"{setting}: {'all' if few else f'the {SHOWN} fastest and slowest'}")
        yield tabulate(columns, order if few else [*order[:SHOWN], *order[-SHOWN:]])


def outlier_parts(zoo: Zoo) -> Iterator[Note | Table]:
    """Yield models whose time is unusually long for their lower bound."""
    columns = (  # of score, setting, model, ratio and median ratio
        Column("model", is_name=True, cell=itemgetter(2)),
        Column("setting", cell=itemgetter(1)),
        Column("over_floor", "time/bound", cell=lambda r: f"{r[3]:.2f}"),
        Column("usual", "median", cell=lambda r: f"{r[4]:.2f}"),
    )
    rows = sorted(
        (
            (score, setting, path, ratio, median_ratio)
            for setting, rows in zoo.settings.items()
            for score, path, ratio, median_ratio in outliers(rows)
        ),
        reverse=True,
    )
    yield Note(
        "Ratio of predicted time to lower bound, against the median of the setting: "
        f"{plural(len(rows), 'row')} more than {FAR} deviations above."
    )
    if rows:
        yield tabulate(columns, rows[: 2 * SHOWN])


def outliers(rows: SettingRows) -> Iterator[tuple[float, str, float, float]]:
    """Yield score, model, ratio to the lower bound and median ratio of unusually slow models.

    Logarithms, because ratios are skewed; the median absolute deviation, because outliers would
    widen a standard deviation.
    """
    values = [math.log(ratio) for ratio in ratios(rows)]
    middle = median(values)
    spread = NORMAL * median(abs(value - middle) for value in values)
    for path, value in zip(rows.paths, values, strict=True):
        # no spread: most models have the same ratio, and none stands out
        if spread > 0 and (value - middle) / spread > FAR:
            yield (value - middle) / spread, path, math.exp(value), math.exp(middle)


def failure_table(zoo: Zoo) -> Table:
    """Return the reasons of failures, the most frequent first."""
    columns = (
        Column("reason", is_name=True, wraps=True, cell=itemgetter(0)),
        Column("rows", cell=lambda r: str(r[1])),
    )
    return tabulate(columns, zoo.failures.most_common(2 * SHOWN))


def ratios(rows: SettingRows) -> list[float]:
    """Return the ratio of time to lower bound of every row; 1 without one of them."""
    pairs: Iterable[tuple[float, float]] = zip(rows.times_s, rows.floors_s, strict=True)
    return [time_s / floor_s if time_s > 0 and floor_s > 0 else 1.0 for time_s, floor_s in pairs]


def quantile(setting: tuple[str, SettingRows], share: float) -> float:
    """Return a quantile of the times of a setting."""
    # by nearest rank, so that the quantile is the time of a model
    ordered = sorted(setting[1].times_s)
    return ordered[round(share * (len(ordered) - 1))]
