"""NeuSight's operators, one eager call each: machines nobody measured, then unseen shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.features.rows import Protocol, Rows

from ...tables.neusight import PUBLISHED_TEST
from ...tables.operand_layout import OTHER_LAYOUT
from ..calibration.calibrate import Calibrating
from ..evaluate import RowSlice, everything
from ..fit import Recipe
from . import OperatorExperiment

if TYPE_CHECKING:
    from numpy.typing import NDArray

GOAL = 0.12
APART: Mapping[str, float | int] = {
    "trees": 100, "depth": 5, "least_weight": 20.0, "balance": 1.0, "max_rows": 30_000,
    "subsample": 0.7,
}  # fmt: skip
RECIPE = Recipe(
    trees=250, least_weight=5.0, objective="reg:absoluteerror", apart=APART, general=True
)
"""Absolute errors, since a few per cent of rows are several times off: hosts that were busy."""
LEVELLED = replace(RECIPE, apart={**APART, "trees": 60, "depth": 3, "levels": 2})
"""For products: machines were measured at different shapes, and the scale says most."""


class Products(OperatorExperiment):
    """Products; those whose kernel read operands stored otherwise are tested alone."""

    def taught(self, blocks: list[Rows]) -> list[Rows]:
        """Those read as the class says: a user's operands are stored so."""
        return [part for b in blocks if len(part := b.take(~other_layout(b)))]


def published(rows: Rows) -> NDArray[np.bool_]:
    """Rows of NeuSight's own test folder, those its figures are of."""
    found: NDArray[np.bool_] = everything(rows) & (rows.columns.get(PUBLISHED_TEST, 0) > 0)
    return found


def other_layout(rows: Rows) -> NDArray[np.bool_]:
    """Rows whose kernel read operands stored otherwise than the operator's."""
    found: NDArray[np.bool_] = everything(rows) & (rows.columns.get(OTHER_LAYOUT, 0) > 0)
    return found


def eager(rows: Rows) -> NDArray[np.bool_]:
    """One call of a framework."""
    return everything(rows) & (rows.protocol is Protocol.EAGER)


def back_to_back(rows: Rows) -> NDArray[np.bool_]:
    """Calls of a library, their launches hidden."""
    return ~eager(rows)


def product(*, stored: bool, test: bool) -> Callable[[Rows], NDArray[np.bool_]]:
    """Linear layers, whose weight is stored transposed, or batched products."""

    def chosen(rows: Rows) -> NDArray[np.bool_]:
        which = published(rows) if test else eager(rows)
        return which & (("transposed" in rows.columns) is stored)

    return chosen


def as_stated(rows: Rows) -> NDArray[np.bool_]:
    """Published rows of linear layers whose kernel read operands as linear layers store them."""
    return product(stored=True, test=True)(rows) & ~other_layout(rows)


def otherwise(rows: Rows) -> NDArray[np.bool_]:
    """Those whose kernel did not; they are never trained on."""
    return product(stored=True, test=True)(rows) & other_layout(rows)


def slices(anchor: str, goal: float | None = GOAL) -> tuple[RowSlice, ...]:
    """The published test rows, which carry the goal, and all."""
    return (RowSlice("published test rows", published, goal, anchor), RowSlice("all", everything))


def one_call(
    class_name: str, title: str, group: tuple[str, ...], anchor: str, calibrating: Calibrating
) -> OperatorExperiment:
    """An experiment on NeuSight's rows alone, which the class names."""
    return OperatorExperiment(
        name=class_name,
        title=f"{title}, one eager call in FP32",
        class_name=class_name,
        sources=("neusight",),
        group=group,
        recipe=RECIPE,
        every_fold=True,
        calibrating=calibrating,
        shapes=slices("", None),
        machines=slices(anchor),
    )


ROWS, TEN_TURNS = ("rows", "cols"), Calibrating(turns=10)
ELEMENTWISE = one_call(
    "elementwise", "Element-wise kernels", ("elements",), "NeuSight 19.3 %", Calibrating()
)
SOFTMAX = one_call("softmax", "Softmax", ROWS, "NeuSight 13.9 %", TEN_TURNS)
NORMALIZATION = one_call("normalization", "Layer normalisation", ROWS, "NeuSight 56.7 %", TEN_TURNS)
MATMUL = Products(
    name="matmul_f32",
    title="Matrix products in FP32 without TF32: one eager call; cuBLAS back to back",
    class_name="matmul_f32",
    sources=("neusight", "deepbench"),
    group=("n", "k"),
    recipe=LEVELLED,
    every_fold=True,
    shapes=(
        RowSlice("batched", product(stored=False, test=False)),
        RowSlice("linear", product(stored=True, test=False)),
        RowSlice("back to back", back_to_back),
    ),
    machines=(
        RowSlice(
            "batched, published test rows",
            product(stored=False, test=True),
            GOAL,
            "NeuSight 13.8 %",
        ),
        RowSlice(
            "linear, published test rows", product(stored=True, test=True), GOAL, "NeuSight 13.9 %"
        ),
        RowSlice("linear, published, stored as the class says", as_stated),
        RowSlice("linear, published, stored otherwise", otherwise),
        RowSlice("batched", product(stored=False, test=False)),
        RowSlice("linear", product(stored=True, test=False)),
        RowSlice("back to back", back_to_back),
    ),
)
CONVOLUTION = OperatorExperiment(
    name="convolution",
    title="Convolutions: 3×3 in FP32, one eager call; cuDNN back to back, FP32, FP16 and int8",
    class_name="convolution",
    sources=("neusight", "deepbench"),
    group=("in_channels", "out_channels", "in_h"),
    recipe=RECIPE,
    every_fold=True,
    calibrating=Calibrating(turns=10, turns_apart=10),
    shapes=(RowSlice("one eager call", eager), RowSlice("back to back", back_to_back)),
    machines=(RowSlice("one eager call", eager), RowSlice("back to back", back_to_back)),
)
