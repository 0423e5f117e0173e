"""Gradient boosting on totals of a graph: a baseline for predictors that read its structure.

`perfc train graph --predictor boosted-totals` trains it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from perfc.analyzers.graph.dataset import sheet
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.predictor import Say, TrainingBudget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.analyzers.graph.schema import Schema
from perfc.analyzers.steps.launch_kind import LaunchKind
from perfc.errors import PerfcError
from perfc_lab.training.xgboost_forest import ForestPredictor, forest_of

from ..training.libraries import xgboost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

SCALARS = Schema(
    "scalar totals",
    (
        "log_mac",
        "log_bytes",
        "log_parameters",
        "log_peak_bytes",
        "log_batch",
        "log_operators",
        "depth",
        "log_launches",
        "log_rate",
        "log_bandwidth",
        "log_l2",
        "sm_count",
        "channels_last",
        "compiled",
        "training",
        "version",
        "is_bf16",
        "is_mixed",
    ),
)
TOTALS = Schema(
    "totals",
    (
        *SCALARS.columns,
        "log_floor",
        "log_roofline",
        *(f"share_{k.name.lower()}" for k in LaunchKind),
        *(f"log_count_{k.name.lower()}" for k in LaunchKind),
    ),
)
ROUNDS = 2000
"""Maximum trees; validation rows stop earlier."""
PATIENCE = 50
"""Trees without progress on validation rows after which training stops."""
# XGBoost's settings: shallow trees at a small rate, on random parts of rows and columns, against
# overfitting
PARAMETERS: Mapping[str, float | int] = {
    "eta": 0.04,
    "max_depth": 6,
    "min_child_weight": 4,
    "subsample": 0.7,
    "colsample_bytree": 0.7,
}


class BoostedTotals(ForestPredictor):
    """Trees on the log of time over the sum of roofline times.

    The variant ``scalars`` has the totals that a model's card states (MACs, parameters, bytes) and
    predicts the log of the time over the roofline time of its MACs. Without a variant, the totals
    also have the share and count of each kind of launch.
    """

    name: ClassVar[str] = "boosted-totals"
    title: ClassVar[str] = "gradient boosting on graph totals"
    variants: ClassVar[tuple[str, ...]] = ("scalars",)

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.schema = SCALARS if variant else TOTALS

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Boost until the error on the validation architectures stops falling."""
        library = xgboost()
        values, scale = self.features(train)
        names = list(self.schema.columns)
        # trees correct the scale, so that they also extrapolate to larger models
        target = np.log(train.values(self.quantity) / scale)
        matrix = library.DMatrix(values, target, feature_names=names)
        held_out, held_out_scale = self.features(validation)
        held_out_target = np.log(validation.values(self.quantity) / held_out_scale)
        watched = library.DMatrix(held_out, held_out_target, feature_names=names)
        booster = library.train(
            {**PARAMETERS, "objective": "reg:absoluteerror", "seed": budget.seed, "nthread": 1},
            matrix,
            ROUNDS,
            evals=[(watched, "validation")],
            early_stopping_rounds=PATIENCE,
            verbose_eval=False,
        )
        # without the trees grown while waiting for progress
        best = booster[: booster.best_iteration + 1]
        self.forest = forest_of(best)
        say(f"{self.name}: {booster.best_iteration + 1} trees")

    def predict(self, data: Measurements) -> Array:
        """Return the quantity of each row: its scale times the factor of the trees."""
        if self.forest is None:
            raise PerfcError(f"{self.name} is not trained", hint="call fit first")
        values, scale = self.features(data)
        predicted: Array = scale * np.exp(self.forest(values))
        return predicted

    def features(self, data: Measurements) -> tuple[NDArray[np.float32], Array]:
        """Return ``[rows, features]`` and the scale of each row."""
        totals_of_rows = [totals(data.graph(row), row) for row in data.rows]
        columns = [[run[name] for name in self.schema.columns] for run in totals_of_rows]
        key = "mac_scale" if self.variant else "scale"
        values = np.array(columns, np.float32).reshape(len(totals_of_rows), len(self.schema))
        return values, np.array([run[key] for run in totals_of_rows], np.float64)


@lru_cache(65_536)  # several folds read the same rows
def totals(graph: ModelGraph, row: GraphRow) -> dict[str, float]:
    """Return the features of a run: sums over its kernels by name.

    ``scale`` and ``mac_scale`` are roofline times in seconds.
    """
    setting, machine = row.setting, sheet(row.target)
    columns = graph.kernels[setting.launch_key].columns.at(row.batch)
    whole = graph.ops.whole_at(row.batch)
    # of one launch of each kernel, and how often each kernel is launched
    amounts, launches = columns.amounts, columns.times
    nbytes = amounts["read_bytes"] + amounts["write_bytes"]
    rate = machine.matrix_flop_per_s(setting.precision.dtype)
    matrix_s = 2 * amounts["mac"] / rate
    # 2 µs a launch in addition to its work, so that tiny kernels count
    roofline_s = (np.maximum(matrix_s, nbytes / machine.device_bytes_per_s) + 2e-6) * launches
    total_s = float(roofline_s.sum())
    kinds = columns.kind.astype(int)
    shares = np.bincount(kinds, roofline_s, len(LaunchKind)) / max(total_s, 1e-12)
    counts = np.bincount(kinds, launches, len(LaunchKind))
    mac = float((amounts["mac"] * launches).sum())
    result = {
        "scale": total_s,
        # 100 µs more, so that the scale of tiny models is not 0
        "mac_scale": 2 * mac / rate + 1e-4,
        "log_mac": _log(mac),
        "log_bytes": _log(float((nbytes * launches).sum())),
        "log_parameters": _log(whole["parameters"]),
        "log_peak_bytes": _log(whole["peak_bytes"]),
        "log_batch": _log(row.batch),
        "log_operators": _log(len(graph.ops)),
        "depth": float(graph.depth),
        "log_launches": _log(float(launches.sum())),
        "log_rate": _log(rate),
        "log_bandwidth": _log(machine.device_bytes_per_s),
        "log_l2": _log(machine.l2_bytes),
        "sm_count": float(machine.sm_count),
        "channels_last": float(setting.channels_last),
        "compiled": float(setting.compiled),
        "training": float(setting.training),
        # 2.11 is above 2.9
        "version": setting.version[0] + setting.version[1] / 100,
        "is_bf16": float(setting.precision.dtype == "bf16"),
        "is_mixed": float(setting.precision.is_mixed),
        # in nanoseconds, as logarithms below 1 are cut off
        "log_floor": _log(row.floor_s * 1e9),
        "log_roofline": _log(total_s * 1e9),
    }
    for kind in LaunchKind:
        name = kind.name.lower()
        result[f"share_{name}"] = float(shares[kind.number])
        result[f"log_count_{name}"] = _log(float(counts[kind.number]))
    return result


def _log(number: float) -> float:
    """Return log₂ of a number, 0 below 1."""
    from math import log2

    return log2(max(number, 1.0))


PREDICTOR = BoostedTotals
