"""Experiments on NeuSight's operators, one eager call each, with machines or shapes held out.

Each constant that is an `OperatorExperiment` is trained by `perfc train op` and scored by `perfc
eval op`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...data.rows import Rows
from ...tables.neusight import PUBLISHED_TEST
from ...tables.operand_layout import OTHER_LAYOUT
from ..calibration.calibrate import Calibrating
from ..evaluate import RowSlice, everything
from ..fit import Recipe
from . import OperatorExperiment
from .slices import EAGER, both, positive, without

if TYPE_CHECKING:
    from numpy.typing import NDArray

GOAL = 0.12
"""Goal of the mean error, below that of the paper."""
# smaller forests, with equal weights of machines, for trainings that leave a machine out
LEFT_OUT: Mapping[str, float | int] = {
    "trees": 100,
    "depth": 5,
    "least_weight": 20.0,
    "balance": 1.0,
    "max_rows": 30_000,
    "subsample": 0.7,
}
RECIPE = Recipe(
    trees=250, least_weight=5.0, objective="reg:absoluteerror", left_out=LEFT_OUT, general=True
)
"""Recipe of all classes but products. The loss is of absolute errors, as a few per cent of rows are
wrong by factors, from busy hosts. ``general``: a first forest, grown like those for machines left
out, predicts machines without rows by itself."""
LEVELLED = replace(RECIPE, left_out={**LEFT_OUT, "trees": 60, "depth": 3, "levels": 2})
"""Recipe of products. Machines were measured at different shapes, so that ``levels`` subtracts what
all rows of a machine have in common before trees grow. The physical scale explains most of the
time, and a deep forest learns the machines that it knows: of three sizes, 60 trees of depth 3 had
the least error on machines left out (lab/notes/eager_kernels.md)."""


class Products(OperatorExperiment):
    """Experiment on products; rows with another layout of operands are only tested."""

    def taught(self, blocks: list[Rows]) -> list[Rows]:
        """Return the rows whose kernel read operands in the layout of the class, as users do."""
        return [part for b in blocks if len(part := b.take(~OTHER(b)))]


PUBLISHED, OTHER = positive(PUBLISHED_TEST), positive(OTHER_LAYOUT)
"""Masks of rows of NeuSight's test folder, which its published figures are of, and of rows whose
kernel read operands in another layout than the operator has."""


def is_linear(rows: Rows) -> NDArray[np.bool_]:
    """Return the mask of linear layers, whose weight is stored transposed."""
    return everything(rows) & ("transposed" in rows.columns)


# published test rows of the two operators of products
LINEAR_TEST, BATCHED_TEST = both(PUBLISHED, is_linear), both(PUBLISHED, without(is_linear))
LIBRARY = without(EAGER)
"""Mask of calls of a library back to back, which hide their launches."""


def slices(anchor: str, goal: float | None = GOAL) -> tuple[RowSlice, ...]:
    """Return the slices that are scored: the published test rows, with a goal, and all rows.

    ``anchor`` is NeuSight's published error.
    """
    return (RowSlice("published test rows", PUBLISHED, goal, anchor), RowSlice("all", everything))


def one_call(
    class_name: str, title: str, group: tuple[str, ...], anchor: str, calibrating: Calibrating
) -> OperatorExperiment:
    """Return an experiment on a class of kernels that only NeuSight has rows of."""
    return OperatorExperiment(
        name=class_name,
        title=f"{title}, one eager call in FP32",
        class_name=class_name,
        sources=("neusight",),
        group=group,
        recipe=RECIPE,
        every_fold=True,
        calibrating=calibrating,
        # only machines left out have goals
        shapes=slices("", None),
        machines=slices(anchor),
    )


# shape parameters of classes that work by rows; and a calibration by all ten folds, not by four
ROWS, TEN_TURNS = ("rows", "cols"), Calibrating(turns=10)
ELEMENTWISE = one_call(
    "elementwise", "Element-wise kernels", ("elements",), "NeuSight 19.3 %", Calibrating()
)
SOFTMAX = one_call("softmax", "Softmax", ROWS, "NeuSight 13.9 %", TEN_TURNS)
NORMALIZATION = one_call("normalization", "Layer normalisation", ROWS, "NeuSight 56.7 %", TEN_TURNS)
# slices of products by the way of calling and the operator
KINDS = (
    RowSlice("batched", both(EAGER, without(is_linear))),
    RowSlice("linear", both(EAGER, is_linear)),
    RowSlice("back to back", LIBRARY),
)
MATMUL = Products(
    name="matmul_f32",
    title="Matrix products in FP32 without TF32: one eager call; cuBLAS back to back",
    class_name="matmul_f32",
    sources=("neusight", "deepbench"),
    group=("n", "k"),
    recipe=LEVELLED,
    every_fold=True,
    shapes=KINDS,
    machines=(
        RowSlice("batched, published test rows", BATCHED_TEST, GOAL, "NeuSight 13.8 %"),
        RowSlice("linear, published test rows", LINEAR_TEST, GOAL, "NeuSight 13.9 %"),
        RowSlice("linear, published, stored as the class says", both(LINEAR_TEST, without(OTHER))),
        RowSlice("linear, published, stored otherwise", both(LINEAR_TEST, OTHER)),
        *KINDS,
    ),
)
# slices by the way of calling
CALLS = (RowSlice("one eager call", EAGER), RowSlice("back to back", LIBRARY))
CONVOLUTION = OperatorExperiment(
    name="convolution",
    title="Convolutions: 3×3 in FP32, one eager call; cuDNN back to back, FP32, FP16 and int8",
    class_name="convolution",
    sources=("neusight", "deepbench"),
    group=("in_channels", "out_channels", "in_h"),
    recipe=RECIPE,
    every_fold=True,
    calibrating=Calibrating(turns=10, turns_left_out=10),
    shapes=CALLS,
    machines=CALLS,
)
