"""Predict runs by linear costs of launches, fitted for each machine, with a prior from the others.

A run's time is linear in its launches (`launch_columns`). Each condition (machine, way of running
and, where graphs were measured at several batches, batch) has separate weights, learned from its
rows alone. Weights of a new machine are drawn towards those of other machines as far as these agree
(`population`), and ten rows of the machine move them: HELP's setting (Lee et al., NeurIPS 2021),
without a network. Launches only add up, so that overlap is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from perfc.analyzers.graph.predictor import GraphEstimates, GraphPredictor, Say, TrainingBudget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.analyzers.intervals.conformal import Band, Unseen, band
from perfc.analyzers.whole_runs.kernel_sums import configuration_of
from perfc.analyzers.whole_runs.machine_bands import RunBands
from perfc.errors import PerfcError
from perfc_lab.splitting import at_several_batches

from .launch_columns import RUNS, LinearRuns, linear_runs
from .population import LEAST, Few, KnownCondition, Prior, learned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

LEAST_ROWS = 20
"""Minimum rows of a condition that is learned alone."""
FEW = (10, 32)
"""Numbers of known rows for which the error of adapted estimates is measured.

Each machine is left out in turn, except for this number of rows of one of its conditions.
"""
TRIED = 300
"""Maximum rows of a left-out condition that are estimated, which limits the time."""
NEW_SHARE = 0.05
"""Largest share of a run's roofline time in columns without trained runs; more extrapolates."""


@dataclass(frozen=True, order=True)
class Condition:
    """Machine and way of running that has separate weights.

    Args:
        target: name of the machine.
        precision: precision of the setting.
        framework: framework with its version.
        mode: execution mode.
        layout: layout of feature maps.
        batch: batch; 0 where graphs were measured at one batch each.
    """

    target: str
    precision: str
    framework: str
    mode: str
    layout: str
    batch: int

    def similarity(self, other: Condition) -> tuple[float, ...]:
        """Return the similarity to another, whatever the machine; more informative fields first."""
        # how often the smaller batch is doubled to reach the larger, rounded
        doubled = abs(self.batch.bit_length() - other.batch.bit_length())
        return (
            float(self.mode == other.mode),
            float(self.layout == other.layout),
            -float(doubled),
            float(self.precision == other.precision),
            float(self.framework == other.framework),
        )


@dataclass(frozen=True, eq=False)
class Estimated:
    """Estimates of rows.

    Args:
        value: estimated quantity, ``[rows]``.
        deviation: its relative deviation, ``[rows]``.
        band: `SEEN`, `UNSEEN` or `ADAPTED` by the row's machine, ``[rows]``.
        new: share of a run's roofline time in columns that no trained run has, ``[rows]``.
    """

    value: Array
    deviation: Array
    band: NDArray[np.int64]
    new: Array


SEEN, UNSEEN, ADAPTED = range(3)
"""Interval bands: of machines trained on, of other machines, of other machines with a few rows."""


class LaunchCosts(GraphPredictor):
    """Linear costs of launches with a prior from other machines."""

    name: ClassVar[str] = "launch-costs"
    title: ClassVar[str] = "costs of launches, machines as a population"

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.known: dict[Condition, KnownCondition] = {}
        self.has_batches = False
        self.active: Array | None = None  # 1 for columns that trained runs have
        # 1.645 deviations hold nine in ten of a normal distribution; `calibrate` replaces them
        self.bands = RunBands(Band(-1.645, 1.645))
        self.by_few: dict[int, Band | None] = {}  # bands by the number of known rows
        self.few: Few | None = None
        self.moved: tuple[Condition, ...] = ()  # conditions that `adapt` had rows of
        self.shown: dict[str, Array] = {}  # those rows, to be stored

    def condition(self, row: GraphRow) -> Condition:
        """Return the condition of a row."""
        batch = row.batch if self.has_batches else 0
        return Condition(*configuration_of(row), batch)

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Fit every condition alone, then the interval of machines left out in turn."""
        del validation
        self.has_batches = at_several_batches(train.rows)
        # rows that adapted an earlier training are forgotten
        self.few, self.moved, self.shown = None, (), {}
        runs = linear_runs(train)
        ratio = train.values(self.quantity) / runs.roofline_s
        self.active = (runs.table != 0).any(axis=0).astype(float)
        conditions = [self.condition(r) for r in train.rows]
        places = _places(conditions)
        if not any(len(rows) >= LEAST_ROWS for rows in places.values()):
            raise PerfcError(
                f"{self.name} has no machine and way of running with {LEAST_ROWS} rows",
                hint="give it more rows",
            )
        self.known = {
            c: learned(runs.table[rows], ratio[rows])
            for c, rows in sorted(places.items())
            if len(rows) >= LEAST_ROWS
        }
        say(f"{len(self.known)} conditions of {len(train.targets)} machines")
        far = self._left_out(runs, ratio, places, 0, budget.seed)
        self.bands = RunBands(self.bands.seen, Unseen(0.0, far) if far else None)
        self.by_few = {n: self._left_out(runs, ratio, places, n, budget.seed) for n in FEW}

    def _left_out(
        self,
        runs: LinearRuns,
        ratio: Array,
        places: Mapping[Condition, NDArray[np.int64]],
        count: int,
        seed: int,
    ) -> Band | None:
        """Return the band of errors on machines, each left out except for a few of its rows.

        Args:
            runs: runs of the training rows.
            ratio: measured quantity over the sum of roofline times.
            places: positions of the rows of each condition.
            count: number of known rows of the left-out condition; 0 for an unmeasured machine.
            seed: seed that chooses the known rows.
        """
        scores, weights = [], []
        for condition, rows in sorted(places.items()):
            prior = self.prior(condition)
            # at least as many rows are estimated as are known
            if prior is None or len(rows) < 2 * count:
                continue
            mixed = np.random.default_rng(seed).permutation(rows)
            few, rest = mixed[:count], mixed[count : count + TRIED]
            if count:
                # all rows are of one condition, 0
                adapted = Few.of(runs.table[few], ratio[few], np.zeros(count, np.int64), [prior])
                value, deviation = adapted(runs.table[rest], np.zeros(len(rest), np.int64), [])
            else:
                value, deviation = _expected(prior, runs.table[rest])
            scores.append(np.abs(np.log(ratio[rest] / value)) / deviation)
            # a condition has weight 1, whatever its rows
            weights.append(np.full(len(rest), 1 / len(rest)))
        if not scores:
            return None
        # scores with both signs, so that the band is symmetric
        symmetric = np.concatenate([*scores, *(-s for s in scores)])
        reach = band(symmetric, np.concatenate([*weights, *weights])).high
        return Band(-reach, reach)

    def prior(self, wanted: Condition) -> Prior | None:
        """Return the prior from other machines; None if there is no other."""
        others = {c: known for c, known in self.known.items() if c.target != wanted.target}
        return _nearest(wanted, others)

    def predict(self, data: Measurements) -> Array:
        """Return the quantity of every row, by weights that `adapt` may have moved."""
        return self.detail(data).value

    def detail(self, data: Measurements) -> Estimated:
        """Return the estimates with their deviations and bands."""
        if self.active is None:
            raise PerfcError(f"{self.name} is not trained", hint="call fit first")
        runs = linear_runs(data) if len(data) else LinearRuns(np.zeros((0, len(RUNS))), np.zeros(0))
        value, deviation = np.zeros(len(data)), np.zeros(len(data))
        which = np.full(len(data), SEEN)
        places = _places([self.condition(r) for r in data.rows])
        moved = {c.target for c in self.moved}
        for condition, rows in places.items():
            if condition.target in moved:
                continue
            if condition in self.known:
                known = self.known[condition]
                # a sum of fitted costs may fall to zero or below
                value[rows] = known.factor * np.maximum(runs.table[rows] @ known.weights, LEAST)
                deviation[rows] = known.noise
            else:
                value[rows], deviation[rows] = _expected(self._prior(condition), runs.table[rows])
                which[rows] = UNSEEN
        if moved:
            self._move(runs, places, value, deviation, which)
        # shares of the roofline in columns that no trained run has
        new = (runs.table * (self.active == 0)).sum(axis=1)
        return Estimated(value * runs.roofline_s, deviation, which, new)

    def _move(
        self,
        runs: LinearRuns,
        places: Mapping[Condition, NDArray[np.int64]],
        value: Array,
        deviation: Array,
        which: NDArray[np.int64],
    ) -> None:
        """Fill in ``value``, ``deviation`` and ``which`` for machines that `adapt` had rows of."""
        assert self.few is not None
        moved = {c.target for c in self.moved}
        chosen = [c for c in places if c.target in moved]
        if not chosen:
            return
        # conditions of the same machines without a known row follow those with known rows
        others = [c for c in chosen if c not in self.moved]
        every = (*self.moved, *others)
        rows = np.concatenate([places[c] for c in chosen])
        group = np.concatenate([np.full(len(places[c]), every.index(c)) for c in chosen])
        priors = [self._prior(c) for c in others]
        value[rows], deviation[rows] = self.few(runs.table[rows], group, priors)
        which[rows] = ADAPTED

    def _prior(self, condition: Condition) -> Prior:
        """Return the prior from other machines, else from the machine's other conditions."""
        prior = self.prior(condition) or _nearest(condition, self.known)
        assert prior is not None
        return prior

    def adapt(self, few: Measurements) -> None:
        """Move the weights of a machine by a few of its rows."""
        if self.active is None:
            raise PerfcError(f"{self.name} is not trained", hint="call fit first")
        if not len(few):
            return
        runs = linear_runs(few)
        conditions = [self.condition(r) for r in few.rows]
        self.moved = tuple(dict.fromkeys(conditions))
        group = np.array([self.moved.index(c) for c in conditions])
        self._learn(runs.table, few.values(self.quantity) / runs.roofline_s, group)

    def _learn(self, table: Array, ratio: Array, group: NDArray[np.int64]) -> None:
        """Fit the weights of the conditions ``moved`` to their rows, and choose their band."""
        self.shown = {"few_table": table, "few_ratio": ratio, "few_group": group.astype(float)}
        self.few = Few.of(table, ratio, group, [self._prior(c) for c in self.moved])
        per_condition = len(ratio) / len(self.moved)
        # the band of left-out machines with nearly as many known rows
        near = min(self.by_few, key=lambda n: abs(np.log(per_condition / n)), default=0)
        self.bands.adapted = self.by_few.get(near)

    def calibrate(self, validation: Measurements) -> None:
        """Set the band of machines that were trained on."""
        if not len(validation):
            return
        detail = self.detail(validation)
        is_seen = detail.band == SEEN
        if is_seen.any():
            errors = np.log(validation.values(self.quantity)[is_seen] / detail.value[is_seen])
            self.bands.seen = band(errors / detail.deviation[is_seen])

    def estimates(self, data: Measurements) -> GraphEstimates:
        """Return values and intervals, which are at least the lower bound where they are times."""
        detail = self.detail(data)
        is_time = self.quantity is Quantity.TIME
        floor = np.array([r.floor_s if is_time else 0.0 for r in data.rows])
        value = np.maximum(detail.value, np.maximum(floor, 1e-12))
        low, high = self.bands.ends(detail.deviation, detail.band == SEEN, detail.band == ADAPTED)
        return GraphEstimates(
            value,
            np.maximum(value * np.exp(low), floor),
            value * np.exp(np.minimum(high, 50.0)),  # a wider interval would overflow
            detail.new > NEW_SHARE,
            detail.band == UNSEEN,
        )

    def arrays(self) -> Mapping[str, Array]:
        """Return the weights of every condition, and which columns any had."""
        if self.active is None:
            return {}
        conditions = sorted(self.known)
        return {
            "active": self.active,
            "weights": np.array([self.known[c].weights for c in conditions]),
            "factor": np.array([self.known[c].factor for c in conditions]),
            "noise": np.array([self.known[c].noise for c in conditions]),
            **self.shown,
        }

    def meta(self) -> Mapping[str, Any]:
        """Return the schema, conditions and bands."""
        far = self.bands.unseen and self.bands.unseen.band
        bands = [b and [b.low, b.high] for b in (self.bands.seen, far)]
        conditions = [list(vars(c).values()) for c in sorted(self.known)]
        return {
            "schema": RUNS.digest,
            "has_batches": self.has_batches,
            "conditions": conditions,
            "moved": [list(vars(c).values()) for c in self.moved],
            "bands": bands,
            "apart": [[n, b and [b.low, b.high]] for n, b in self.by_few.items()],
        }

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
        """Restore the state that `arrays` and `meta` gave."""
        if meta["schema"] != RUNS.digest:
            raise PerfcError(f"weights of {self.name} read other columns", hint="train it again")
        conditions = _conditions(meta["conditions"])
        shape = (len(conditions), len(RUNS))
        if (
            not conditions
            or arrays["weights"].shape != shape
            or arrays["active"].shape != shape[1:]
        ):
            raise PerfcError(f"weights of {self.name} of another shape", hint="train it again")
        columns = zip(arrays["weights"], arrays["factor"], arrays["noise"], strict=True)
        self.known = {
            c: KnownCondition(w, float(f), float(n))
            for c, (w, f, n) in zip(conditions, columns, strict=True)
        }
        self.active = arrays["active"]
        self.has_batches = bool(meta["has_batches"])
        seen, far = map(_band, meta["bands"])
        self.bands = RunBands(seen or self.bands.seen, Unseen(0.0, far) if far else None)
        self.by_few = {int(n): _band(b) for n, b in meta["apart"]}
        self.moved = _conditions(meta["moved"])
        if self.moved:
            group = arrays["few_group"].astype(int)
            if arrays["few_table"].shape != (len(group), len(RUNS)):
                raise PerfcError(f"weights of {self.name} of another shape", hint="adapt it again")
            self._learn(arrays["few_table"], arrays["few_ratio"], group)


def _conditions(rows: Sequence[Sequence[Any]]) -> tuple[Condition, ...]:
    """Return the conditions that `meta` gave as lists of their fields."""
    return tuple(
        Condition(str(target), str(precision), str(framework), str(mode), str(layout), int(batch))
        for target, precision, framework, mode, layout, batch in rows
    )


def _band(ends: Sequence[float] | None) -> Band | None:
    """Return the band that `meta` gave as its two ends."""
    return None if ends is None else Band(float(ends[0]), float(ends[1]))


def _places(conditions: Sequence[Condition]) -> Mapping[Condition, NDArray[np.int64]]:
    """Return the positions of the rows of each condition."""
    places: dict[Condition, list[int]] = {}
    for i, condition in enumerate(conditions):
        places.setdefault(condition, []).append(i)
    return {c: np.array(rows) for c, rows in places.items()}


def _nearest(wanted: Condition, known: Mapping[Condition, KnownCondition]) -> Prior | None:
    """Return the prior by the most similar conditions; None without any."""
    if not known:
        return None
    best = max(wanted.similarity(c) for c in known)
    return Prior.of([other for c, other in known.items() if wanted.similarity(c) == best])


def _expected(prior: Prior, table: Array) -> tuple[Array, Array]:
    """Return the prior's estimate, divided by the scale, and its relative deviation."""
    mean = np.maximum(table @ prior.mean, LEAST)
    # noise of one run, and how much the other machines differ in the columns that the run has
    variance = prior.noise**2 + ((table @ prior.spread) ** 2).sum(axis=1) / mean**2
    return prior.factor * mean, np.sqrt(variance)


PREDICTOR = LaunchCosts
