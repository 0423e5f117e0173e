"""Ways of predicting rows: trees of the thesis, the kernel sum, trees on what it leaves."""

from __future__ import annotations

from collections import Counter
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
RESIDUAL = ("BS", "QT", "PF32", "PB_HBM", *DEPLOYMENT)
"""What the error of a kernel sum may depend on; what tells one model from another is left out."""
MOST_INNER_FOLDS = 3


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
        """Grow on all rows; settings are chosen first where none are given."""
        settings = self.settings or self.choose(rows, kind)
        self.trees = grown(table_of(rows), logs_of(rows), settings, self.features.places)

    def choose(self, rows: Sequence[TreeRow], kind: LeftOut) -> Settings:
        """Of the grid, by a part of the rows that is left out in the same way."""
        import numpy as np

        folds = np.array(inner_folds(rows, kind))
        is_test = folds == folds[0]
        if not 0 < is_test.sum() < len(rows):
            return THESIS
        table, logs = table_of(rows), logs_of(rows)
        return best_of(table, logs, is_test, self.grid, self.features.places)

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


@frozen
class Residual:
    """One way of correcting a kernel sum.

    Args:
        is_taught: whether the sum has hosts' laws that were fitted to the rows.
        settings: of the trees on what it leaves; None for the sum alone.
    """

    is_taught: bool
    settings: Settings | None


CANDIDATES = (
    Residual(True, None),
    Residual(True, Settings(0.05, 3, 0.75, 200)),
    *(
        Residual(is_taught, settings)
        for is_taught in (True, False)
        for settings in (
            Settings(0.05, 5, 0.75, 200), Settings(0.05, 5, 0.75, 200, is_absolute=True),
        )
    ),
)  # fmt: skip
FINE = (Residual(True, Settings(0.1, 8, 0.75, 500)),)
"""Further ones where the tested models are among those that were learned."""


class ResidualTrees:
    """Trees on the logarithm of what was measured over the kernel sum.

    Which of `CANDIDATES` answers for a table is chosen by rows that are left out of those it learns
    in the same way as those it is asked about. Each model of a table counts alike, as one served
    model has half of all rows.
    """

    def __init__(self) -> None:
        self.chosen: dict[str, Residual] = {}
        self.sums: dict[bool, KernelSum] = {}
        self.grown: dict[Residual, Trees] = {}
        self.columns: tuple[int, ...] = ()

    def fit(self, rows: Sequence[TreeRow], kind: LeftOut) -> None:
        """Choose for each table, then fit laws and grow on all rows."""
        import numpy as np

        candidates = (*CANDIDATES, *FINE) if kind is LeftOut.RANDOM else CANDIDATES
        if rows[0].target is Target.MEMORY:
            candidates = tuple(c for c in candidates if c.is_taught)
        shares = tuple(range(len(COLUMNS), len(COLUMNS) + len(SHARES)))
        names = COLUMNS if kind is LeftOut.RANDOM else RESIDUAL
        self.columns = (*(COLUMNS.index(name) for name in names), *shares)
        folds = np.array(inner_folds(rows, kind))
        errors = np.zeros((len(rows), len(candidates)))
        for fold in dict.fromkeys(folds.tolist()):
            taught = [row for row, name in zip(rows, folds, strict=True) if name != fold]
            asked = [row for row, name in zip(rows, folds, strict=True) if name == fold]
            if taught:
                self._learn(taught, candidates)
                said = np.stack([self._answer(c, asked) for c in candidates], axis=1)
                errors[folds == fold] = np.abs(np.expm1(said - logs_of(asked)[:, None]))
        self._choose(rows, candidates, errors)
        self._learn(rows, tuple(dict.fromkeys(self.chosen.values())))

    def _choose(
        self, rows: Sequence[TreeRow], candidates: Sequence[Residual], errors: Array
    ) -> None:
        """The least mean error of each table; of all rows for tables that are not among them."""
        sources = ["", *dict.fromkeys(row.source for row in rows)]
        for source in sources:
            places = [i for i, row in enumerate(rows) if source in ("", row.source)]
            self.chosen[source] = candidates[int(errors[places].mean(axis=0).argmin())]

    def _learn(self, rows: Sequence[TreeRow], candidates: Sequence[Residual]) -> None:
        """Sums, and the trees of some candidates."""
        self.sums = {taught: KernelSum(rows if taught else ()) for taught in (True, False)}
        self.grown = {}
        logs, weights = logs_of(rows), weights_of(rows)
        for base in dict.fromkeys(c.is_taught for c in candidates):
            table, left = self._table(rows, base), logs - self.sums[base](rows)
            for c in candidates:
                if c.is_taught is base and c.settings is not None:
                    self.grown[c] = grown(table, left, c.settings, self.columns, weights)

    def _table(self, rows: Sequence[TreeRow], is_taught: bool) -> Array:
        """``[rows, COLUMNS and SHARES]``."""
        import numpy as np

        return np.concatenate([table_of(rows), self.sums[is_taught].shares(rows)], axis=1)

    def _answer(self, candidate: Residual, rows: Sequence[TreeRow]) -> Array:
        said = self.sums[candidate.is_taught](rows)
        trees = self.grown.get(candidate)
        return said if trees is None else said + trees(self._table(rows, candidate.is_taught))

    def predict(self, rows: Sequence[TreeRow]) -> Array:
        """The target of each row."""
        import numpy as np

        found = np.zeros(len(rows))
        answers = {c: self._answer(c, rows) for c in dict.fromkeys(self.chosen.values())}
        for i, row in enumerate(rows):
            found[i] = answers[self.chosen.get(row.source, self.chosen[""])][i]
        said: Array = np.exp(found)
        return said


def weights_of(rows: Sequence[TreeRow]) -> Array:
    """``[rows]``: each model of a table counts alike, 1 in the mean."""
    import numpy as np

    counts = Counter((row.source, row.model) for row in rows)
    found = np.array([1.0 / counts[row.source, row.model] for row in rows])
    weights: Array = found / found.mean()
    return weights


def inner_folds(rows: Sequence[TreeRow], kind: LeftOut) -> list[str]:
    """Folds of what is learned, as it is left out for the figures, three groups at most."""
    folds = folds_of(rows, kind, seed=1)
    names = {name: str(i % MOST_INNER_FOLDS) for i, name in enumerate(dict.fromkeys(folds))}
    return [names[fold] for fold in folds]


__all__ = ["ABLATION", "PlainTrees", "Predictor", "ResidualTrees", "Sum", "Target"]
