"""Ours: kernels' physics summed, what graphs add to the sum, never below the floor.

``T = max(floor, Σ launches · exp(g))``: a launch takes its roofline time at the rates of the
machine's file, times the multiplier of its kind, times a factor of boosted trees that are learned
through the sums (`kernel_sums`); ``g`` is a forest over what the kernels' seconds, counts, bounds
and features are over the whole graph (`pooled`). Sums are cross-fitted: the residual is learned
from graphs that the factors were not, and a prediction is the mean of all parts. A machine enters
only through numbers of its file, so an unseen one is a TOML; a few of its rows move an offset, one
of each way of running and one of each kind of launch (Bayesian linear regression, Lindley & Smith
1972). Intervals are split conformal, over an expected spread (`perfc.analyzers.conformal`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from perfc.errors import PerfcError

from ..conformal import LEAST_SPREAD, UNMEASURED_WIDENING, Band, band, excess
from ..forest import Forest
from ..steps.predict import walked
from ..training.architectures import family, fold_of
from ..training.sums import SumRecipe
from .few_rows import Shift
from .kernel_sums import KindRates, Pruned, RunTable, grown, tabulated_runs
from .pooled import pooled, pooled_schema
from .predictor import Budget, GraphEstimates, GraphPredictor, Say
from .rows import Measurements, Quantity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..classes import Array

PARTS = 3
RECIPE = SumRecipe(trees=250, depth=7, knee=0.1)
APART = SumRecipe(trees=60, depth=6, learning_rate=0.3, knee=0.1)
"""For machines left out in turn, whose errors calibrate those that nobody measured."""
TRAINING_WEIGHT = 3.0
"""Of a training step, of which far fewer are measured."""
RESIDUAL: Mapping[str, object] = {
    "max_depth": 8, "eta": 0.05, "min_child_weight": 10.0, "subsample": 0.7, "lambda": 5.0,
    "colsample_bytree": 0.4, "objective": "reg:absoluteerror", "tree_method": "hist",
    "nthread": 1, "max_bin": 64,
}  # fmt: skip
ROUNDS, PATIENCE = 500, 40
UNWATCHED = 100
"""Trees where no rows are kept for stopping early."""
SPREAD: Mapping[str, object] = {
    "max_depth": 4, "eta": 0.1, "min_child_weight": 20.0, "colsample_bytree": 0.5,
    "tree_method": "hist", "nthread": 1, "max_bin": 64,
}  # fmt: skip
SPREAD_ROUNDS = 60
MOST_SPREAD = 3.0
FAR = 1.0


@dataclass(eq=False)
class Trees:
    """A forest, and the booster it was read from where it was trained here, which is faster."""

    forest: Forest
    booster: Any = None

    @classmethod
    def of(cls, booster: Any) -> Trees:
        """Of what was trained."""
        return cls(Forest.from_xgboost(booster), booster)

    def __call__(self, values: NDArray[np.float32]) -> Array:
        import numpy as np

        if self.booster is None or len(values) < 10_000:
            return walked(self.forest, values)
        import xgboost

        matrix = xgboost.DMatrix(values, feature_names=list(self.forest.names))
        return np.asarray(self.booster.predict(matrix, output_margin=True), np.float64)


@dataclass(frozen=True, eq=False)
class Learned:
    """Everything that was learned.

    Args:
        unit: of the quantity, a second's worth; 1 for times.
        rates: multipliers of kinds.
        factors: of launches, one for each part.
        residual: of graphs.
        spread: logarithm of the expected error.
        low: least of each pooled feature.
        high: largest.
        targets: machines it was learned on.
    """

    unit: float
    rates: KindRates
    factors: tuple[Trees, ...]
    residual: Trees
    spread: Trees
    low: Array
    high: Array
    targets: frozenset[str]

    def sums(self, pruned: Pruned) -> Array:
        """Seconds by kind with the mean factor of all parts, ``[runs, kinds]``."""
        factors = [one(pruned.stack.values) for one in self.factors]
        return pruned.seconds(sum(factors) / len(factors))

    def features(self, data: Measurements) -> tuple[Array, NDArray[np.float32]]:
        """Sum of every run, and its pooled features."""
        import numpy as np

        runs = tabulated_runs(data, np.ones(len(data)))
        by_kinds = self.sums(Pruned.of(runs.stack, self.rates))
        plain = runs.stack.total(self.rates.scaled(runs.stack))
        return by_kinds.sum(axis=1), pooled(data, runs, by_kinds, plain)


@dataclass(frozen=True, eq=False)
class Detail:
    """Estimates before they are corrected: in the unit of the quantity, with what spreads them."""

    value: Array
    features: NDArray[np.float32]
    width: Array
    beyond: Array


@dataclass(eq=False)
class Bands:
    """Conformal bands: of machines trained on, of others, of one that a few rows are known of."""

    seen: Band = field(default_factory=lambda: Band(-2.0, 2.0))
    unseen: Band | None = None
    adapted: Band | None = None


class PhysicsResidual(GraphPredictor):
    """Sums of kernels, and what graphs add.

    The variant ``sum`` leaves the residual of graphs out, ``plain`` the trees of launches too.
    """

    name: ClassVar[str] = "physics-residual"
    title: ClassVar[str] = "kernels' physics summed, and a residual of graphs"
    variants: ClassVar[tuple[str, ...]] = ("sum", "plain")

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.learned: Learned | None = None
        self.bands = Bands()
        self.shift: Shift | None = None
        self.moved: frozenset[str] = frozenset()

    def fit(self, train: Measurements, validation: Measurements, budget: Budget, say: Say) -> None:
        """Multipliers, factors by parts, then the residual; stops by the validation rows."""
        self.learned = fitted(train, validation, self.quantity, budget, RECIPE, say)
        self.shift, self.moved = None, frozenset()
        self.bands = Bands()
        if len(train.targets) > 1:
            self.bands.unseen = _apart(train, self.quantity, budget, say)

    def predict(self, data: Measurements) -> Array:
        """Sum, residual and shift; the floor is kept by `estimates`."""
        found = self.detail(data)
        return self._shifted(data, found)

    def detail(self, data: Measurements) -> Detail:
        """What is known of rows before a shift."""
        import numpy as np

        if self.learned is None:
            raise PerfcError(f"{self.name} is not trained", hint="call fit first")
        if not len(data):
            empty = np.zeros(0)
            return Detail(empty, np.zeros((0, 0), np.float32), empty, empty)
        learned = self.learned
        total, features = learned.features(data)
        residual = np.zeros(len(total)) if self.variant else learned.residual(features)
        if self.variant == "plain":
            column = len_before(features, "log_plain_per_sum", learned)
            residual = features[:, column].astype(np.float64)
        width = np.exp(np.clip(learned.spread(features), np.log(LEAST_SPREAD), MOST_SPREAD))
        beyond = excess(features, learned.low, learned.high)
        return Detail(total * np.exp(residual) * learned.unit, features, width, beyond)

    def _shifted(self, data: Measurements, found: Detail) -> Array:
        import numpy as np

        if self.shift is None:
            return found.value
        mine = np.array([r.target in self.moved for r in data.rows], np.bool_)
        shift = self.shift(design(data, found.features))
        return np.asarray(found.value * np.exp(np.where(mine, shift, 0.0)))

    def adapt(self, few: Measurements) -> None:
        """Move offsets by a few rows of a machine, and calibrate by each as if it were new."""
        import numpy as np

        found = self.detail(few)
        table = design(few, found.features)
        self.moved = frozenset(few.targets)
        residual = np.log(few.values(self.quantity) / found.value)
        self.shift, left = Shift.learned(table, residual)
        self.bands.adapted = band(left / found.width)

    def calibrate(self, validation: Measurements) -> None:
        """The band of machines trained on."""
        import numpy as np

        if not len(validation):
            return
        found = self.detail(validation)
        wrong = np.log(validation.values(self.quantity) / found.value)
        self.bands.seen = band(wrong / (found.width * (1 + found.beyond)))

    def estimates(self, data: Measurements) -> GraphEstimates:
        """Value and interval; both at least the floor where it is a time."""
        import numpy as np

        if self.learned is None:
            raise PerfcError(f"{self.name} is not trained", hint="call fit first")
        found = self.detail(data)
        floor = np.array([r.floor_s for r in data.rows])
        if self.quantity is not Quantity.TIME:
            floor = np.zeros(len(data))
        value = np.maximum(self._shifted(data, found), np.maximum(floor, 1e-12))
        width = found.width * (1 + found.beyond)
        bands = [self.band_of(r.target) for r in data.rows]
        low = value * np.exp(width * np.array([min(b.low, 0.0) for b in bands]))
        high = value * np.exp(np.minimum(width * [max(b.high, 0.0) for b in bands], 50.0))
        known = np.array([r.target in self.learned.targets | self.moved for r in data.rows])
        return GraphEstimates(
            value, np.maximum(low, floor), high, (found.beyond > FAR) | ~known.astype(np.bool_)
        )

    def band_of(self, target: str) -> Band:
        """The band of a machine."""
        assert self.learned is not None
        if target in self.moved and self.bands.adapted is not None:
            return self.bands.adapted
        if target in self.learned.targets:
            return self.bands.seen
        return self.bands.unseen or self.bands.seen.widened(UNMEASURED_WIDENING)


def len_before(features: NDArray[np.float32], name: str, learned: Learned) -> int:
    """Column of a pooled feature."""
    del features
    return learned.residual.forest.names.index(name)


def design(data: Measurements, features: NDArray[np.float32]) -> Array:
    """What offsets multiply: one, ways of running, versions, and shares of kinds of launches."""
    import numpy as np

    from ..steps.setting import Mode, Precision
    from .kernel_sums import KINDS

    start = 10
    settings = [r.setting for r in data.rows]
    columns = [np.ones(len(data))]
    columns += [np.array([float(s.mode is m) for s in settings]) for m in Mode]
    columns += [np.array([float(s.precision is p) for s in settings]) for p in Precision]
    columns += [np.array([float(s.version >= (2, 9)) for s in settings])]
    shares = features[:, start : start + KINDS].astype(np.float64)
    return np.column_stack([*columns, shares])


def fitted(
    train: Measurements,
    validation: Measurements,
    quantity: Quantity,
    budget: Budget,
    recipe: SumRecipe,
    say: Say,
    parts: int = PARTS,
) -> Learned:
    """Learn from rows; a smaller recipe with one part for machines left out."""
    import numpy as np

    runs = tabulated_runs(train, train.values(quantity))
    unit = 1.0
    if quantity is not Quantity.TIME:
        unit = float(np.median(runs.stack.time_s / runs.stack.total(runs.stack.scale_s)))
        stack = replace(runs.stack, time_s=runs.stack.time_s / unit)
        runs = RunTable(stack, runs.times)
    stack = runs.stack
    rates = KindRates.learned(stack, recipe)
    pruned = Pruned.of(stack, rates)
    weight = np.array([TRAINING_WEIGHT if r.setting.training else 1.0 for r in train.rows])
    fold = _folds(train, validation, parts, budget.seed)
    factors: list[Trees] = []
    log_factor = np.zeros(len(pruned.stack.row))
    for one in range(parts):
        out = fold == one
        booster = grown(pruned.take(~out), weight[~out], replace(recipe, seed=budget.seed + one))
        factors.append(Trees.of(booster))
        mine = out[pruned.stack.row]
        log_factor[mine] = factors[-1](pruned.stack.values[mine])
        say(f"factors of launches, part {one + 1} of {parts}")
    by_kinds = pruned.seconds(log_factor)
    values = pooled(train, runs, by_kinds, stack.total(rates.scaled(stack)))
    wrong = np.log(stack.time_s / by_kinds.sum(axis=1))
    names = pooled_schema(stack.names).columns
    draft = Learned(
        unit, rates, tuple(factors), None, None, values.min(axis=0).astype(np.float64),  # type: ignore[arg-type]
        values.max(axis=0).astype(np.float64), frozenset(train.targets),
    )  # fmt: skip
    watched: tuple[NDArray[np.float32], Array] | None = None
    if len(validation):
        total, held = draft.features(validation)
        watched = held, np.log(validation.values(quantity) / unit / total)
    residual, rounds = _residual(values, wrong, weight, names, budget.seed, watched, UNWATCHED)
    left = np.zeros(len(wrong))
    for one in range(parts):
        out = fold == one
        part, _ = _residual(
            values[~out], wrong[~out], weight[~out], names, budget.seed, None, rounds
        )
        left[out] = wrong[out] - part(values[out])
    say(f"residual of graphs: {rounds} trees, {np.abs(np.expm1(left)).mean():.1%} across parts")
    return replace(draft, residual=residual, spread=_spread(values, left, names, budget.seed))


def _folds(train: Measurements, validation: Measurements, parts: int, seed: int) -> Array:
    """By family where validation shares none with what is trained on, else by architecture."""
    import numpy as np

    held = {family(a) for a in validation.architectures}
    apart = held and not held & {family(a) for a in train.architectures}
    groups = [family(r.architecture) if apart else r.architecture for r in train.rows]
    dealt = fold_of(groups, parts, seed)
    return np.array([dealt[g] for g in groups])


def _residual(
    values: NDArray[np.float32],
    wrong: Array,
    weight: Array,
    names: tuple[str, ...],
    seed: int,
    held: tuple[NDArray[np.float32], Array] | None,
    rounds: int,
) -> tuple[Trees, int]:
    import xgboost

    matrix = xgboost.DMatrix(values, wrong, weight=weight, feature_names=list(names))
    options = {**RESIDUAL, "seed": seed}
    if held is None:
        return Trees.of(xgboost.train(options, matrix, rounds)), rounds
    watched = xgboost.DMatrix(*held, feature_names=list(names))
    found = xgboost.train(
        options, matrix, ROUNDS, evals=[(watched, "validation")],
        early_stopping_rounds=PATIENCE, verbose_eval=False,
    )  # fmt: skip
    best = found.best_iteration + 1
    return Trees.of(found[:best]), best


def _spread(values: NDArray[np.float32], left: Array, names: tuple[str, ...], seed: int) -> Trees:
    import numpy as np
    import xgboost

    matrix = xgboost.DMatrix(values, np.log(np.abs(left) + 1e-3), feature_names=list(names))
    return Trees.of(xgboost.train({**SPREAD, "seed": seed}, matrix, SPREAD_ROUNDS))


def _apart(train: Measurements, quantity: Quantity, budget: Budget, say: Say) -> Band:
    """The band of machines left out one at a time, each counting the same."""
    import numpy as np

    scores, weights = [], []
    for target in train.targets:
        others = train.where(lambda r, t=target: r.target != t)  # type: ignore[misc]
        mine = train.where(lambda r, t=target: r.target == t)  # type: ignore[misc]
        one = PhysicsResidual(quantity=quantity)
        one.learned = fitted(others, train.of(()), quantity, budget, APART, lambda _: None, 2)
        found = one.detail(mine)
        wrong = np.log(mine.values(quantity) / found.value)
        scores.append(wrong / (found.width * (1 + found.beyond)))
        weights.append(np.full(len(wrong), 1 / len(wrong)))
        say(f"without {target}: {np.abs(np.expm1(-wrong)).mean():.1%}")
    return band(np.concatenate(scores), np.concatenate(weights))


PREDICTOR = PhysicsResidual
