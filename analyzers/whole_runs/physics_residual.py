"""Whole-run predictor: sum of kernels with fitted residuals of graphs, at least the lower bound.

``T = max(floor, Σ launches · exp(g + m))``. A launch takes its roofline time at the rates of the
target, times the multiplier of its kind, times a factor of boosted trees that are fitted to sums
(`kernel_sums`). ``g`` is a forest over times, counts, bounds and features of the kernels, pooled
over the graph (`pooled`). ``m`` is the residual of the same graph in training (`memory`). Sums are
cross-fitted: graphs are divided into parts, each part has factors that were fitted to the others,
and the residual is fitted to sums with these factors. A prediction takes the mean factor of all
parts.

A machine enters only through the numbers of its target file, so a new machine needs only that
file. A few of its rows fit offsets per execution mode, per kind of launch and by its similarity to
training machines (`few_rows`). Intervals are split conformal, over an expected spread. Those of
unmeasured machines come from held-out machines (`machine_bands`), those of graphs without a similar
training graph (`similarity`) from held-out families.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfc.errors import PerfcError
from perfc.ir import entity

from ..artefacts.forest import ARRAYS, Forest
from ..features.classes import Array
from ..graph.predictor import GraphEstimates, GraphPredictor
from ..graph.rows import Measurements, Quantity
from ..intervals.conformal import LEAST_SPREAD, Band, Unseen, band, excess
from ..intervals.offsets import Offsets
from .few_rows import design, deviations
from .kernel_sums import KINDS, KindRates, RunConfiguration
from .learned import Learned, Trees
from .machine_bands import RunBands, from_few
from .memory import OffsetMemory
from .pooled import pooled_schema
from .similarity import SIMILAR, OperatorSimilarity

KEYS = {"unfamiliar": "kinless"}  # names of bands in files, if they differ from those of fields
MOST_SPREAD = 3.0
"""Maximum logarithm of the expected spread: a spread of e³ = 20 in logarithms is already no
prediction, and a larger one could only overflow."""
FAR = 1.0
"""Distance from the training range, in widths of it, from which an estimate extrapolates."""
MOST_WIDTH = 50.0
"""Maximum logarithm of upper end over estimate, which keeps the end finite."""
MOST_BEYOND = 3.0
"""Distance from the training range, in widths of it, beyond which intervals stop widening, at four
times the spread inside."""


@entity
class Detail:
    """Estimates before offsets of a machine, in the unit of the quantity.

    Args:
        value: estimates, ``[rows]``.
        features: pooled features, ``[rows, features]``.
        width: expected spread of the logarithm, ``[rows]``.
        beyond: distance of the features from the training range, ``[rows]``.
        distance: distance of the graph to the nearest training graph, ``[rows]``.
    """

    value: Array
    features: NDArray[np.float32]
    width: Array
    beyond: Array
    distance: Array


@entity
class HeldOutScores:
    """Scores of held-out rows.

    Args:
        score: ``log(measured / estimated)`` over the expected spread, ``[rows]``.
        distance: distance of each graph to the nearest training graph, ``[rows]``.
    """

    score: Array
    distance: Array

    def where(self, *, similar: bool) -> HeldOutScores:
        """Return the rows with a similar training graph, or the others."""
        chosen = (self.distance <= SIMILAR) == similar
        return HeldOutScores(self.score[chosen], self.distance[chosen])


class PhysicsResidual(GraphPredictor):
    """Predictor of a run as the sum of its kernels times a fitted residual of its graph.

    The variant ``without-memory`` leaves out the residual of the same graph in training.
    """

    name = "physics-residual"
    title = "kernels' physics summed, and a residual of graphs"
    reaches_machines = True
    reads_launches = True
    variants = ("without-memory",)

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.learned: Learned | None = None
        self.bands = RunBands()
        self.shift: Array | None = None  # offsets of the machines in `moved`, by `adapt`
        self.moved: frozenset[str] = frozenset()
        self.calibrated: HeldOutScores | None = None  # of the last `calibrate`

    def predict(self, data: Measurements) -> Array:
        """Return predictions with offsets, ``[rows]``; `estimates` applies the lower bound."""
        detail = self.detail(data)
        return self._shifted(data, detail)

    def detail(self, data: Measurements) -> Detail:
        """Return the estimates of rows before offsets of a machine."""
        if self.learned is None:
            raise PerfcError(f"{self.name} is not trained", hint="call fit first")
        if not len(data):
            empty = np.zeros(0)
            return Detail(empty, np.zeros((0, 0), np.float32), empty, empty, empty)
        learned = self.learned
        total, features = learned.features(data)
        residual = learned.residual(features)
        if not self.variant:
            residual += learned.memory(data)
        width = np.exp(np.clip(learned.spread(features), np.log(LEAST_SPREAD), MOST_SPREAD))
        # intervals widen with the distance from the training range
        beyond = excess(features, learned.low, learned.high)
        width *= 1 + np.minimum(beyond, MOST_BEYOND)
        value = total * np.exp(residual) * learned.unit
        return Detail(value, features, width, beyond, learned.similarity.distance(data))

    def _shifted(self, data: Measurements, detail: Detail) -> Array:
        """Return estimates with the offsets of adapted machines."""
        if self.shift is None:
            return detail.value
        is_adapted = np.array([r.target in self.moved for r in data.rows], np.bool_)
        if not is_adapted.any():
            return detail.value
        shift = design(data, detail.features, self._like(data, detail)) @ self.shift
        return np.asarray(detail.value * np.exp(np.where(is_adapted, shift, 0.0)))

    def _like(self, data: Measurements, detail: Detail) -> Array:
        """Return the logarithm of the predicted time on each training machine over the row's.

        ``[rows, machines]``.
        """
        assert self.learned is not None
        # sorted, so that a machine has the same column of `design` in every process
        predictions = [
            self.detail(data.of([replace(r, target=target) for r in data.rows])).value
            for target in sorted(self.learned.targets)
        ]
        return np.log(np.stack(predictions, axis=1) / detail.value[:, None])

    def adapt(self, few: Measurements) -> None:
        """Fit offsets to a few rows of a machine, with an interval from leaving each row out."""
        detail = self.detail(few)
        assert self.learned is not None
        table = design(few, detail.features, self._like(few, detail))
        self.moved = frozenset(few.targets)
        residual = np.log(few.values(self.quantity) / detail.value)
        prior = deviations(self.learned.modes, len(self.learned.targets))
        offsets = Offsets.learned(table, residual, prior)
        self.shift = offsets.mean
        self.bands.adapted = from_few(offsets.left / detail.width)

    def calibrate(self, validation: Measurements) -> None:
        """Calibrate the interval of training machines."""
        if not len(validation):
            return
        detail = self.detail(validation)
        residual = np.log(validation.values(self.quantity) / detail.value)
        self.calibrated = HeldOutScores(residual / detail.width, detail.distance)
        self.bands.seen = band(self.calibrated.score)

    def estimates(self, data: Measurements) -> GraphEstimates:
        """Return values and intervals; a time and its interval are at least the lower bound."""
        if self.learned is None:
            raise PerfcError(f"{self.name} is not trained", hint="call fit first")
        detail = self.detail(data)
        floor = np.array([r.floor_s for r in data.rows])
        if self.quantity is not Quantity.TIME:
            floor = np.zeros(len(data))
        # above 0, as callers divide by the value; 1e-12 (1 ps, if a time) is below any measurement
        value = np.maximum(self._shifted(data, detail), np.maximum(floor, 1e-12))
        trained = np.array([r.target in self.learned.targets for r in data.rows], np.bool_)
        moved = np.array([r.target in self.moved for r in data.rows], np.bool_)
        unfamiliar = detail.distance > SIMILAR
        low, high = self.bands.ends(detail.width, trained, moved, unfamiliar)
        low, high = value * np.exp(low), value * np.exp(np.minimum(high, MOST_WIDTH))
        far, unknown = detail.beyond > FAR, ~(trained | moved)
        has_unfamiliar = self.bands.unfamiliar is not None
        return GraphEstimates(
            value,
            np.maximum(low, floor),
            high,
            far,
            unknown,
            unfamiliar if has_unfamiliar else None,  # None: the intervals do not distinguish them
        )

    def arrays(self) -> Mapping[str, Array]:
        """Return the arrays to store: forests, multipliers and ranges of the features."""
        if self.learned is None:
            return {}
        arrays: dict[str, Any] = {
            "rates": self.learned.rates.table,
            "low": self.learned.low,
            "high": self.learned.high,
            "memory.keys": self.learned.memory.keys,
            "memory.offsets": self.learned.memory.offsets,
            # similarity, by its earlier name, which shipped files have
            **{f"kinship.{n}": a for n, a in self.learned.similarity.arrays().items()},
        }
        if self.shift is not None:
            arrays["shift"] = self.shift
        for name, trees in self._forests(self.learned).items():
            arrays |= {f"{name}.{n}": a for n, a in trees.forest.arrays().items()}
        return {n: np.asarray(a) for n, a in arrays.items()}

    @staticmethod
    def _forests(learned: Learned) -> Mapping[str, Trees]:
        """Return all forests by their names in files."""
        factors = {f"factor{i}": trees for i, trees in enumerate(learned.factors)}
        return {**factors, "residual": learned.residual, "spread": learned.spread}

    def meta(self) -> Mapping[str, Any]:
        """Return the metadata to store: names of features, constants of forests, intervals."""
        if self.learned is None:
            return {}
        learned = self.learned
        return {
            "launch_features": list(learned.factors[0].forest.names),
            "schema": pooled_schema(learned.factors[0].forest.names).digest,
            "unit": learned.unit,
            "known": [list(configuration) for configuration in learned.rates.known],
            "targets": sorted(learned.targets),
            "constants": {n: t.forest.base for n, t in self._forests(learned).items()},
            "operators": list(learned.similarity.words),
            "bands": {KEYS.get(n, n): asdict(b) for n, b in vars(self.bands).items() if b},
            "moved": sorted(self.moved),
        }

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
        """Restore the predictor from the values of `arrays` and `meta`."""
        names = tuple(map(str, meta["launch_features"]))
        schema = pooled_schema(names)
        if meta["schema"] != schema.digest:
            raise PerfcError(f"weights of {self.name} read other features", hint="train it again")

        def read(name: str, columns: tuple[str, ...]) -> Trees:
            """Return the forest that `arrays` and `meta` stored under a name."""
            forest = {n: arrays[f"{name}.{n}"] for n in ARRAYS}
            return Trees(Forest.from_arrays(columns, forest, float(meta["constants"][name])))

        parts = sorted(n for n in meta["constants"] if n.startswith("factor"))
        known = tuple(RunConfiguration(*map(str, configuration)) for configuration in meta["known"])
        table = np.asarray(arrays["rates"])
        # shapes are checked before anything is set: files may be of another version
        remembered: tuple[Any, Any] = arrays["memory.keys"], arrays["memory.offsets"]
        memory = OffsetMemory(*remembered)
        # deviations have one entry per column of `design`, as offsets have: only their shape counts
        unshifted = deviations((), len(meta["targets"]))
        shift = np.asarray(arrays.get("shift", unshifted), np.float64)
        fits = table.shape == (len(known), KINDS) and shift.shape == unshifted.shape
        shares = {n.partition(".")[2]: a for n, a in arrays.items() if n.startswith("kinship.")}
        similarity = OperatorSimilarity.restored(tuple(map(str, meta["operators"])), shares)
        has_ranges = arrays["low"].shape == arrays["high"].shape == (len(schema),)
        if not (parts and known and fits and has_ranges and memory.is_sound):
            raise PerfcError(f"weights of {self.name} of another shape", hint="train it again")
        self.learned = Learned(
            float(meta["unit"]),
            KindRates(known, table),
            tuple(read(n, names) for n in parts),
            read("residual", schema.columns),
            read("spread", schema.columns),
            np.asarray(arrays["low"]),
            np.asarray(arrays["high"]),
            frozenset(map(str, meta["targets"])),
            memory,
            similarity,
        )
        self.bands = bands_of(meta["bands"])
        self.moved = frozenset(map(str, meta["moved"]))
        if "shift" in arrays:
            self.shift = shift


def bands_of(numbers: Mapping[str, Mapping[str, Any]]) -> RunBands:
    """Return the intervals in a card's metadata."""

    def of(name: str) -> Band | None:
        """Return the interval of a name; None if the card has none."""
        return read_band(numbers[name]) if name in numbers else None

    bands = RunBands(read_band(numbers["seen"]), None, of("adapted"), of(KEYS["unfamiliar"]))
    if far := numbers.get("unseen"):
        bands.unseen = Unseen(float(far["error"]), read_band(far["band"]))
    return bands


def read_band(numbers: Mapping[str, Any]) -> Band:
    """Return one interval in a card's metadata."""
    return Band(float(numbers["low"]), float(numbers["high"]))


PREDICTOR = PhysicsResidual  # the name by which predictors of graphs are looked up in their module
