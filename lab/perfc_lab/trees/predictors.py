"""Predictors of rows: trees of the thesis, the kernel sum, and trees on residuals of the sum.

`experiment` compares them; `shipped.weights` ships plain trees.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from perfc.ir.record import frozen

from .boosted import FULL_GRID, SHORT_GRID, THESIS, BoostedForest, ForestSettings, best_of, grown
from .cache import NOTHING, NumberCache, digest_of
from .folds import HeldOutKind, folds_of
from .hardware import HARDWARE
from .kernel_sum import SHARES, KernelSum, NoSum
from .likeness import AspectSums, Likeness
from .model_features import MODEL
from .rows import COLUMNS, Target, TreeRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TOTALS = ("TM", "TP", "TM_mem")
"""Multiply-accumulates, parameters and bytes of a model."""
RESIDUAL = (
    "BS",
    "QT",
    "tensor",
    "expert",
    "runtime",
    "version",
    "drafted",
    "workers told",
    "cache bits",
)
"""Features of the error of a kernel sum on unseen models and machines: none that identifies a model
or machine, and no lengths of prompts and answers, as few models have several settings."""
MOST_INNER_FOLDS = 3
"""Maximum folds inside the training rows, by which candidates are scored on held-out rows."""
MOST_TOGETHER = 12
"""Maximum members of an ensemble; a member that is chosen several times counts as often."""
MOST_CHOICE_ROWS = 500
"""Maximum rows for choosing settings of the plain trees: all rows take an hour for the grid."""


class TreePredictor(Protocol):
    """Predictor of one target, learned from rows."""

    def fit(self, rows: Sequence[TreeRow], kind: HeldOutKind) -> None:
        """Fit to rows; ``kind`` says what is new in the rows to predict."""

    def predict(self, rows: Sequence[TreeRow]) -> Array:
        """Return the target of each row, ``[rows]``; NaN for a row that it cannot predict."""


@frozen
class FeatureSet:
    """A line of the ablation of Table 6.6."""

    name: str
    columns: tuple[str, ...]

    @property
    def places(self) -> tuple[int, ...]:
        """Return the positions of the columns in `COLUMNS`."""
        return tuple(COLUMNS.index(name) for name in self.columns)


# all features
WHOLE = FeatureSet("Table 6.3 and deployment", COLUMNS)
# sets of features of Table 6.6, and all features
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
    """Return the features of rows, ``[rows, COLUMNS]``."""
    import numpy as np

    return np.array([row.features for row in rows], np.float64).reshape(len(rows), len(COLUMNS))


def logs_of(rows: Sequence[TreeRow]) -> Array:
    """Return the logarithms of the measured values, ``[rows]``."""
    import numpy as np

    return np.log([row.value for row in rows])


class PlainTrees:
    """XGBoost on features alone, as in chapter 6.

    Args:
        features: features that the trees read.
        settings: settings of the trees; None to choose them by folds of the training rows.
        is_full: whether all of the thesis's grid is tried.
    """

    def __init__(
        self,
        features: FeatureSet = WHOLE,
        settings: ForestSettings | None = None,
        is_full: bool = False,
    ) -> None:
        self.features, self.settings = features, settings
        self.grid = FULL_GRID if is_full else SHORT_GRID
        self.trees: BoostedForest | None = None

    def fit(self, rows: Sequence[TreeRow], kind: HeldOutKind) -> None:
        """Train on all rows, with the given settings or with chosen ones."""
        settings = self.settings or self.choose(rows, kind)
        self.trees = grown(table_of(rows), logs_of(rows), settings, self.features.places)

    def choose(
        self, rows: Sequence[TreeRow], kind: HeldOutKind, cache: NumberCache = NOTHING
    ) -> ForestSettings:
        """Choose settings from the grid by cross-validation with folds of the same kind.

        At most `MOST_CHOICE_ROWS` rows are used, drawn at random.
        """
        import numpy as np

        if len(rows) > MOST_CHOICE_ROWS:
            rows = random.Random(0).sample(rows, MOST_CHOICE_ROWS)
        folds = np.array(inner_folds(rows, kind))
        names = list(dict.fromkeys(folds.tolist()))
        if len(names) < 2:
            return THESIS
        # of random folds one suffices, as all are similar; models and machines differ
        tests = [folds == name for name in (names[:1] if kind is HeldOutKind.RANDOM else names)]
        table, logs = table_of(rows), logs_of(rows)
        key = ("trees", kind.value, self.features.name, digest_of(rows))
        return best_of(table, logs, tests, self.grid, self.features.places, cache, key)

    def predict(self, rows: Sequence[TreeRow]) -> Array:
        """Return the target of each row."""
        import numpy as np

        assert self.trees is not None
        predicted: Array = np.exp(self.trees(table_of(rows)))
        return predicted


class CalibratedSum:
    """The kernel sum with its host overhead fitted to the rows."""

    def __init__(self) -> None:
        self.sum: KernelSum | None = None

    def fit(self, rows: Sequence[TreeRow], kind: HeldOutKind) -> None:
        """Fit the laws of hosts and boards, whatever is held out."""
        del kind
        self.sum = KernelSum(rows)

    def predict(self, rows: Sequence[TreeRow]) -> Array:
        """Return the target of each row."""
        import numpy as np

        assert self.sum is not None
        predicted: Array = np.exp(self.sum(rows))
        return predicted


class Base(Enum):
    """Kernel sums that trees may correct, with the data and ``keeps_up`` of `KernelSum`."""

    WAITING = "fitted laws; an unknown number of prefill workers is one"
    KEEPING_UP = "fitted laws; an unknown number of prefill workers keeps up with decode"
    BARE = "kernels alone; an unknown number of prefill workers keeps up with decode"
    NOTHING = "no kernels: trees predict the whole time"

    __hash__ = object.__hash__  # faster than Enum's hash of the name

    def of(self, rows: Sequence[TreeRow]) -> KernelSum | NoSum:
        """Return the sum, fitted to rows unless it is `BARE`."""
        if self is Base.NOTHING:
            return NoSum()
        train = () if self is Base.BARE else rows
        return KernelSum(train, keeps_up=self is not Base.WAITING)


@frozen
class ResidualForest:
    """A kernel sum with a model of its residuals, the logarithms of measured time over the sum.

    Args:
        base: the sum.
        settings: settings of the model, of trees or a Gaussian process; None for the sum alone.
        share: factor of predicted residuals, at most 1 (shrinkage towards the sum).
    """

    base: Base
    settings: ForestSettings | AspectSums | None = None
    share: float = 1.0


# trees for squared and for absolute errors, of which the second follow outliers less
FLAT, ABSOLUTE = (
    ForestSettings(0.1, 3, 0.75, 100),
    ForestSettings(0.1, 5, 0.75, 100, is_absolute=True),
)
CANDIDATES = (
    ResidualForest(Base.WAITING),
    ResidualForest(Base.KEEPING_UP),
    *(
        ResidualForest(base, settings, share)
        for base in (Base.KEEPING_UP, Base.BARE)
        for settings in (FLAT, ABSOLUTE)
        for share in (0.5, 1.0)
    ),
)
"""Candidates for any kind of fold; half of a correction suits models unlike all training models."""
FINE = (
    *(
        ResidualForest(base, settings)
        for base in (Base.KEEPING_UP, Base.BARE, Base.NOTHING)
        for settings in (
            ForestSettings(0.1, 8, 0.75, 500),
            ForestSettings(0.1, 14, 0.8, 300, parallel_trees=4, node_columns=0.4),
            ForestSettings(0.05, 6, 0.75, 600, parallel_trees=4, node_columns=0.4),
            ForestSettings(0.03, 8, 0.7, 800, node_columns=0.3),
        )
    ),
    *(ResidualForest(Base.KEEPING_UP, terms) for terms in AspectSums),
)
"""Further candidates for random folds, whose tested models have training rows.

Larger trees can learn models by heart, and Gaussian processes predict a row from others of its
setting.
"""


class ResidualTrees:
    """Ensemble of trees and Gaussian processes on residuals of the kernel sum.

    The members for each table are chosen from `CANDIDATES` by folds of the training rows, which are
    of the tested kind. If models or machines are held out, each model of a table has the same
    weight, as one served model has half of all rows.
    """

    def __init__(self) -> None:
        self.chosen: dict[str, tuple[ResidualForest, ...]] = {}
        self.sums: dict[Base, KernelSum | NoSum] = {}
        self.learned: dict[tuple[Base, ForestSettings | AspectSums], BoostedForest | Likeness] = {}
        self.columns: tuple[int, ...] = ()
        self.kind = HeldOutKind.RANDOM

    def fit(self, rows: Sequence[TreeRow], kind: HeldOutKind) -> None:
        """Choose an ensemble for each table, then train its members on all rows."""
        import numpy as np

        self.kind = kind
        candidates = (*CANDIDATES, *FINE) if kind is HeldOutKind.RANDOM else CANDIDATES
        # memory is computed, not summed from kernels, so that all bases are equal
        if rows[0].target is Target.MEMORY:
            candidates = tuple(c for c in candidates if c.base is Base.KEEPING_UP)
        # `_table` has the shares of the sum behind the features
        shares = tuple(range(len(COLUMNS), len(COLUMNS) + len(SHARES)))
        names = COLUMNS if kind is HeldOutKind.RANDOM else RESIDUAL
        self.columns = (*(COLUMNS.index(name) for name in names), *shares)
        folds = np.array(inner_folds(rows, kind))
        # errors of every candidate on each row, by a training without the row's fold
        unseen = np.zeros((len(rows), len(candidates)))
        for fold in dict.fromkeys(folds.tolist()):
            training = [row for row, name in zip(rows, folds, strict=True) if name != fold]
            tested = [row for row, name in zip(rows, folds, strict=True) if name == fold]
            if training:
                self._learn(training, candidates)
                logs = np.stack([self._answer(c, tested) for c in candidates], axis=1)
                unseen[folds == fold] = logs - logs_of(tested)[:, None]
        self._choose(rows, candidates, unseen)
        # the trainings above left rows out; the chosen candidates learn from all rows
        self._learn(rows, self._answering())

    def _choose(
        self, rows: Sequence[TreeRow], candidates: Sequence[ResidualForest], unseen: Array
    ) -> None:
        """Choose the ensemble of least mean error for each table, and one for other tables.

        ``unseen`` has the errors of each candidate on rows that it was not trained on.
        """
        sources = ["", *dict.fromkeys(row.source for row in rows)]
        for source in sources:
            # the empty name is all tables together, for rows of a table that was not trained on
            places = [i for i, row in enumerate(rows) if source in ("", row.source)]
            self.chosen[source] = tuple(candidates[i] for i in together(unseen[places]))

    def _answering(self) -> tuple[ResidualForest, ...]:
        """Return all members of the chosen ensembles, each once."""
        return tuple(dict.fromkeys(chain.from_iterable(self.chosen.values())))

    def _learn(self, rows: Sequence[TreeRow], candidates: Sequence[ResidualForest]) -> None:
        """Fit the sums of some candidates, and the trees or processes that correct them."""
        self.sums = {base: base.of(rows) for base in dict.fromkeys(c.base for c in candidates)}
        self.learned = {}
        logs, weights = logs_of(rows), self._weights(rows)
        for base, kernel_sum in self.sums.items():
            table, residuals = self._table(rows, base), logs - kernel_sum(rows)
            for s in dict.fromkeys(c.settings for c in candidates if c.base is base):
                match s:
                    case ForestSettings():
                        self.learned[base, s] = grown(table, residuals, s, self.columns, weights)
                    case AspectSums():
                        self.learned[base, s] = Likeness.fitted(s, rows, table, residuals)

    def _weights(self, rows: Sequence[TreeRow]) -> Array | None:
        """Return the weights of rows; None, for equal weights, on random folds."""
        return None if self.kind is HeldOutKind.RANDOM else weights_of(rows)

    def _table(self, rows: Sequence[TreeRow], base: Base) -> Array:
        """Return the features of rows and their shares of a sum, ``[rows, COLUMNS and SHARES]``."""
        import numpy as np

        return np.concatenate([table_of(rows), self.sums[base].shares(rows)], axis=1)

    def _answer(self, candidate: ResidualForest, rows: Sequence[TreeRow]) -> Array:
        """Return the logarithms that a candidate predicts."""
        sums, settings = self.sums[candidate.base](rows), candidate.settings
        if settings is None:
            return sums
        learned, table = self.learned[candidate.base, settings], self._table(rows, candidate.base)
        residuals = learned(table) if isinstance(learned, BoostedForest) else learned(rows, table)
        return sums + candidate.share * residuals

    def predict(self, rows: Sequence[TreeRow]) -> Array:
        """Return the target of each row."""
        import numpy as np

        answers = {c: self._answer(c, rows) for c in self._answering()}
        ensembles = [self.chosen.get(row.source, self.chosen[""]) for row in rows]
        predicted = [math.fsum(answers[c][i] for c in e) / len(e) for i, e in enumerate(ensembles)]
        values: Array = np.exp(predicted)
        return values


def together(errors: Array) -> list[int]:
    """Return the indices of an ensemble of candidates, repeated as often as each counts.

    Greedy: each round adds the candidate that makes the mean relative error least, possibly again
    (Caruana et al., Ensemble selection from libraries of models, 2004).

    Args:
        errors: errors of the logarithm, ``[rows, candidates]``.

    >>> import numpy as np
    >>> together(np.array([[0.1, -0.1, 0.5], [-0.2, 0.2, 0.5]]))
    [0, 1]
    """
    import numpy as np

    chosen: list[int] = []
    total, least = np.zeros((len(errors), 1)), math.inf
    best: list[int] = []
    for count in range(1, MOST_TOGETHER + 1):
        means = np.abs(np.expm1((total + errors) / count)).mean(axis=0)
        index = int(means.argmin())
        chosen.append(index)
        total = total + errors[:, index : index + 1]
        # the error may rise and fall again: the best of all rounds counts
        if means[index] < least:
            least, best = float(means[index]), list(chosen)
    return best


def weights_of(rows: Sequence[TreeRow]) -> Array:
    """Return weights with mean 1, ``[rows]``, under which all models of a table count equally."""
    import numpy as np

    counts = Counter((row.source, row.model) for row in rows)
    inverse = np.array([1.0 / counts[row.source, row.model] for row in rows])
    weights: Array = inverse / inverse.mean()
    return weights


def inner_folds(rows: Sequence[TreeRow], kind: HeldOutKind) -> list[str]:
    """Return the fold of each training row, of the tested kind; at most `MOST_INNER_FOLDS`."""
    # the seed differs from that of the outer folds; more folds are joined in turn
    folds = folds_of(rows, kind, seed=1)
    names = {name: str(i % MOST_INNER_FOLDS) for i, name in enumerate(dict.fromkeys(folds))}
    return [names[fold] for fold in folds]


__all__ = ["ABLATION", "CalibratedSum", "PlainTrees", "ResidualTrees", "Target", "TreePredictor"]
