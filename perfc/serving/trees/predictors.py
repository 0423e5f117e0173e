"""Ways of predicting rows: trees of the thesis, the kernel sum, trees on what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from perfc.ir.record import frozen

from .boosted import FULL_GRID, SHORT_GRID, THESIS, Settings, Trees, best_of, grown
from .folds import LeftOut, folds_of
from .hardware import HARDWARE
from .kernel_sum import SHARES, KernelSum
from .model_features import MODEL
from .rows import COLUMNS, DEPLOYMENT, Target, TreeRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TOTALS = ("TM", "TP", "TM_mem")
RESIDUAL = ("BS", "SL", "QT", "TP", *HARDWARE[:4], *DEPLOYMENT)
"""What the error of a kernel sum may depend on; what tells one model from another is left out."""
RESIDUAL_SETTINGS = tuple(
    Settings(0.05, depth, 0.75, trees) for depth in (3, 5) for trees in (50, 200, 800)
)
MOST_INNER_FOLDS = 6


class Predictor(Protocol):
    """Learns rows of one target."""

    def fit(self, rows: Sequence[TreeRow], kind: LeftOut) -> None:
        """From rows, to be asked about what is left out in such a way."""

    def predict(self, rows: Sequence[TreeRow]) -> Array:
        """The target of each row, ``[rows]``; NaN where it has no answer."""


@frozen
class FeatureSet:
    """A line of the ablation of Table 6.6."""

    name: str
    columns: tuple[str, ...]

    @property
    def places(self) -> tuple[int, ...]:
        """In `COLUMNS`."""
        return tuple(COLUMNS.index(name) for name in self.columns)


WHOLE = FeatureSet("Table 6.3 and deployment", COLUMNS)
ABLATION = (
    FeatureSet("TM", ("BS", "SL", "TM")),
    FeatureSet("TM, TP, TM_mem", ("BS", "SL", *TOTALS)),
    FeatureSet("MF", MODEL),
    FeatureSet("TM + HF", ("BS", "SL", "TM", *HARDWARE)),
    FeatureSet("TM, TP, TM_mem + HF", ("BS", "SL", *TOTALS, *HARDWARE)),
    FeatureSet("MF + HF (Table 6.3)", (*MODEL, *HARDWARE)),
    WHOLE,
)


def table_of(rows: Sequence[TreeRow]) -> Array:
    """``[rows, COLUMNS]``."""
    import numpy as np

    return np.array([row.features for row in rows], np.float64).reshape(len(rows), len(COLUMNS))


def logs_of(rows: Sequence[TreeRow]) -> Array:
    """Logarithms of what was measured."""
    import numpy as np

    return np.log([row.value for row in rows])


class PlainTrees:
    """XGBoost on features alone, as chapter 6 has it.

    Args:
        features: that it reads.
        settings: of the trees; None to choose on a part of the rows that it learns.
        is_full: whether all of the thesis's grid is tried.
    """

    def __init__(
        self, features: FeatureSet = WHOLE, settings: Settings | None = None, is_full: bool = False
    ) -> None:
        self.features, self.settings = features, settings
        self.grid = FULL_GRID if is_full else SHORT_GRID
        self.trees: Trees | None = None

    def fit(self, rows: Sequence[TreeRow], kind: LeftOut) -> None:
        """Choose settings once, by rows left out in the same way, then grow on all."""
        import numpy as np

        table, logs, places = table_of(rows), logs_of(rows), self.features.places
        if self.settings is None:
            folds = np.array(_inner(rows, kind))
            is_test = folds == folds[0]
            can = 0 < is_test.sum() < len(rows)
            self.settings = best_of(table, logs, is_test, self.grid, places) if can else THESIS
        self.trees = grown(table, logs, self.settings, places)

    def predict(self, rows: Sequence[TreeRow]) -> Array:
        """The target of each row."""
        import numpy as np

        assert self.trees is not None
        found: Array = np.exp(self.trees(table_of(rows)))
        return found


class Sum:
    """The kernel sum, its host's law fitted to the rows."""

    def __init__(self) -> None:
        self.sum: KernelSum | None = None

    def fit(self, rows: Sequence[TreeRow], kind: LeftOut) -> None:
        """Fit the laws."""
        del kind
        self.sum = KernelSum(rows)

    def predict(self, rows: Sequence[TreeRow]) -> Array:
        """The target of each row."""
        import numpy as np

        assert self.sum is not None
        found: Array = np.exp(self.sum(rows))
        return found


class ResidualTrees:
    """Trees on the logarithm of what was measured over the kernel sum.

    Settings, and whether trees help at all, are chosen by rows that are left out of the rows it
    learns in the same way as those it is asked about.
    """

    def __init__(self) -> None:
        self.sum: KernelSum | None = None
        self.trees: Trees | None = None
        self.settings: Settings | None = None
        self.bias = 0.0

    def fit(self, rows: Sequence[TreeRow], kind: LeftOut) -> None:
        """Fit the laws, choose settings, grow."""
        import numpy as np

        logs, folds = logs_of(rows), np.array(_inner(rows, kind))
        names = list(dict.fromkeys(folds.tolist()))
        self.sum = KernelSum(rows)
        columns = self._columns(kind)
        # residuals of rows that the laws had, which are a little less than of others
        if len(names) > 1:
            self.settings = self._chosen(rows, logs, folds, names, columns)
        table = self.table(rows, self.sum)
        if self.settings is not None:
            self.trees = grown(table, logs - self.sum(rows), self.settings, columns)

    def _chosen(
        self, rows: Sequence[TreeRow], logs: Array, folds: NDArray[np.str_], names: list[str],
        columns: tuple[int, ...],
    ) -> Settings | None:  # fmt: skip
        """What has the least mean error; None for the sum alone."""
        import numpy as np

        errors: dict[Settings | None, list[Array]] = {s: [] for s in (None, *RESIDUAL_SETTINGS)}
        for name in names:
            taught = [row for row, fold in zip(rows, folds, strict=True) if fold != name]
            tested = [row for row, fold in zip(rows, folds, strict=True) if fold == name]
            base, is_test = KernelSum(taught), folds == name
            left = logs[~is_test] - base(taught)
            missed = logs[is_test] - base(tested)
            errors[None].append(np.abs(np.expm1(-missed)))
            seen, asked = self.table(taught, base), self.table(tested, base)
            for settings in RESIDUAL_SETTINGS:
                said = grown(seen, left, settings, columns)(asked)
                errors[settings].append(np.abs(np.expm1(said - missed)))
        means = {s: float(np.concatenate(e).mean()) for s, e in errors.items()}
        return min(means, key=lambda settings: means[settings])

    def table(self, rows: Sequence[TreeRow], base: KernelSum) -> Array:
        """``[rows, COLUMNS and SHARES]``."""
        import numpy as np

        return np.concatenate([table_of(rows), base.shares(rows)], axis=1)

    def _columns(self, kind: LeftOut) -> tuple[int, ...]:
        """All where models were seen; else none that tells a model."""
        shares = tuple(range(len(COLUMNS), len(COLUMNS) + len(SHARES)))
        names = COLUMNS if kind is LeftOut.RANDOM else RESIDUAL
        return (*(COLUMNS.index(name) for name in names), *shares)

    def predict(self, rows: Sequence[TreeRow]) -> Array:
        """The target of each row."""
        import numpy as np

        assert self.sum is not None
        said = self.sum(rows)
        if self.trees is not None:
            said = said + self.trees(self.table(rows, self.sum))
        found: Array = np.exp(said)
        return found


def _inner(rows: Sequence[TreeRow], kind: LeftOut) -> list[str]:
    """Folds of what is learned, as it is left out for the figures, six groups at most."""
    folds = folds_of(rows, kind, seed=1)
    names = {name: str(i % MOST_INNER_FOLDS) for i, name in enumerate(dict.fromkeys(folds))}
    return [names[fold] for fold in folds]


__all__ = ["ABLATION", "PlainTrees", "Predictor", "ResidualTrees", "Sum", "Target"]
