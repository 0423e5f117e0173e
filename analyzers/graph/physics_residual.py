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
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from perfc.errors import PerfcError

from ..conformal import COVERAGE, LEAST_SPREAD, UNMEASURED_WIDENING, Band, band, excess
from ..forest import ARRAYS, Forest
from ..steps.setting import Mode, Precision
from ..training.sums import SumRecipe
from .few_rows import Shift
from .kernel_sums import KINDS, KindRates
from .pooled import SHARES_START, pooled_schema
from .predictor import Budget, GraphEstimates, GraphPredictor, Say
from .residual_fit import RECIPE, Learned, Trees, fitted
from .rows import Measurements, Quantity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..classes import Array

APART = SumRecipe(trees=60, depth=6, learning_rate=0.3, knee=0.1)
"""For machines left out in turn, whose errors calibrate those that nobody measured."""
MOST_SPREAD = 3.0
FAR = 1.0
MOST_BEYOND = 3.0
"""Sides of the box of trained features beyond which an interval widens no further."""
LOG_BATCHES = 8.0
"""Doublings of the batch over which an offset may grow by as much as any other."""


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
            column = learned.residual.forest.names.index("log_plain_per_sum")
            residual = features[:, column].astype(np.float64)
        width = np.exp(np.clip(learned.spread(features), np.log(LEAST_SPREAD), MOST_SPREAD))
        beyond = excess(features, learned.low, learned.high)
        width *= 1 + np.minimum(beyond, MOST_BEYOND)
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
        # so few rows that a corrected quantile would be their largest
        reach = float(np.quantile(np.abs(left / found.width), COVERAGE))
        self.bands.adapted = Band(-reach, reach)

    def calibrate(self, validation: Measurements) -> None:
        """The band of machines trained on."""
        import numpy as np

        if not len(validation):
            return
        found = self.detail(validation)
        wrong = np.log(validation.values(self.quantity) / found.value)
        self.bands.seen = band(wrong / found.width)

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
        bands = [self.band_of(r.target) for r in data.rows]
        low = value * np.exp(found.width * np.array([min(b.low, 0.0) for b in bands]))
        high = value * np.exp(np.minimum(found.width * [max(b.high, 0.0) for b in bands], 50.0))
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

    def arrays(self) -> Mapping[str, Array]:
        """Forests, multipliers, the box of the features."""
        import numpy as np

        if self.learned is None:
            return {}
        found: dict[str, Array] = {
            "rates": self.learned.rates.table, "low": self.learned.low, "high": self.learned.high,
        }  # fmt: skip
        for name, trees in self._forests(self.learned).items():
            found |= {f"{name}.{n}": a for n, a in trees.forest.arrays().items()}
        return {n: np.asarray(a) for n, a in found.items()}

    @staticmethod
    def _forests(learned: Learned) -> Mapping[str, Trees]:
        factors = {f"factor{i}": one for i, one in enumerate(learned.factors)}
        return {**factors, "residual": learned.residual, "spread": learned.spread}

    def meta(self) -> Mapping[str, Any]:
        """Names of features, constants of forests, bands."""
        if self.learned is None:
            return {}
        learned = self.learned
        bands = {n: b for n, b in vars(self.bands).items() if b is not None}
        return {
            "launch_features": list(learned.factors[0].forest.names),
            "schema": pooled_schema(learned.factors[0].forest.names).digest,
            "unit": learned.unit,
            "known": [list(kin) for kin in learned.rates.known],
            "targets": sorted(learned.targets),
            "constants": {n: t.forest.base for n, t in self._forests(learned).items()},
            "bands": {n: [b.low, b.high] for n, b in bands.items() if n != "adapted"},
        }

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
        """What `arrays` and `meta` gave."""
        import numpy as np

        names = tuple(map(str, meta["launch_features"]))
        schema = pooled_schema(names)
        if meta["schema"] != schema.digest:
            raise PerfcError(f"weights of {self.name} read other features", hint="train it anew")

        def read(name: str, columns: tuple[str, ...]) -> Trees:
            own = {n: arrays[f"{name}.{n}"] for n in ARRAYS}
            return Trees(Forest.from_arrays(columns, own, float(meta["constants"][name])))

        parts = sorted(n for n in meta["constants"] if n.startswith("factor"))
        known = tuple((str(a), str(b), str(c)) for a, b, c in meta["known"])
        table = np.asarray(arrays["rates"])
        if table.shape != (len(known), KINDS) or len(arrays["low"]) != len(schema):
            raise PerfcError(f"weights of {self.name} of another shape", hint="train it anew")
        self.learned = Learned(
            float(meta["unit"]),
            KindRates(known, table),
            tuple(read(n, names) for n in parts),
            read("residual", schema.columns),
            read("spread", schema.columns),
            np.asarray(arrays["low"]),
            np.asarray(arrays["high"]),
            frozenset(map(str, meta["targets"])),
        )
        self.bands = Bands(**{n: Band(float(a), float(b)) for n, (a, b) in meta["bands"].items()})


def design(data: Measurements, features: NDArray[np.float32]) -> Array:
    """What offsets multiply: one, batches, ways of running, and shares of kinds of launches."""
    import numpy as np

    settings = [r.setting for r in data.rows]
    columns = [np.ones(len(data)), np.log2([r.batch for r in data.rows]) / LOG_BATCHES]
    columns += [np.array([float(s.mode is m) for s in settings]) for m in Mode]
    columns += [np.array([float(s.precision is p) for s in settings]) for p in Precision]
    columns += [np.array([float(s.version >= (2, 9)) for s in settings])]
    shares = features[:, SHARES_START : SHARES_START + KINDS].astype(np.float64)
    return np.column_stack([*columns, shares])


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
        scores.append(wrong / found.width)
        weights.append(np.full(len(wrong), 1 / len(wrong)))
        say(f"without {target}: {np.abs(np.expm1(-wrong)).mean():.1%}")
    # machines err as a whole, and nothing says in which direction the next one will
    both = np.abs(np.concatenate(scores))
    reach = band(np.concatenate([both, -both]), np.concatenate([*weights, *weights])).high
    return Band(-reach, reach)


PREDICTOR = PhysicsResidual
