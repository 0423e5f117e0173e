"""Interface of whole-model predictors: train on rows, predict rows, adapt to a new machine.

Each predictor is one file of a package (`SHIPPED`, or a package of a plug-in) that sets
``PREDICTOR`` to a subclass of `GraphPredictor`.
"""

from __future__ import annotations

import importlib
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from perfc.common import plugins
from perfc.common.plugins import LAB_HINT
from perfc.errors import MissingExtraError, PerfcError
from perfc.ir import cached_entity, record

from ..intervals.conformal import band
from .rows import Measurements, Quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

Say = Callable[[str], None]
LEAST_FACTOR, MOST_FACTOR = 0.05, 0.95
"""Quantiles of errors at the ends of a 90 % interval."""
LEAST_ROWS = 20
"""Least held-out rows for a separate interval of a machine: of 20 rows, 5 % are one row beyond each
end."""


@record
class TrainingBudget:
    """Limits and options of training.

    Args:
        seed: random seed of the whole training.
        limit_s: seconds of processor time; the best state until then is the result.
        folder: folder of checkpoints and logs, from which training continues; None for none.
        scale: share of the paper's hidden size and epochs, for machines with little time.
        epochs: maximum epochs of a network; None for those of its recipe.
        is_faithful: True to train networks by the papers' recipes, False by shorter ones.
        unlabelled: folder of graphs without measurements, as `perfc data build graphs` writes it;
            None for none.
        pretrained: folder of pretrained weights, as `perfc train gnn-llm` writes it; None for none.
        progress: called after every epoch with the completed share of the training and a message.
    """

    seed: int = 0
    limit_s: float = 420.0
    folder: Path | None = None
    scale: float = 1.0
    progress: Callable[[float, str], None] | None = None
    is_faithful: bool = False
    unlabelled: Path | None = None
    epochs: int | None = None
    pretrained: Path | None = None


@cached_entity
class GraphEstimates:
    """Estimates and 90 % prediction intervals, one number for each row.

    Args:
        value: estimate in the unit of the quantity.
        low: lower end of the interval; NaN if the predictor gives none.
        high: upper end of the interval.
        far: True if the graph is far from all training graphs.
        unknown: True if no training row was measured on the machine.
        unfamiliar: True if no training graph consists of similar blocks, which widens the interval;
            None if the predictor does not distinguish such graphs.
    """

    value: Array
    low: Array
    high: Array
    far: NDArray[np.bool_]
    unknown: NDArray[np.bool_]
    unfamiliar: NDArray[np.bool_] | None = None

    @property
    def extrapolating(self) -> NDArray[np.bool_]:
        """Return True for rows whose graph or machine is outside of the training rows."""
        return self.far | self.unknown


class GraphPredictor(ABC):
    """A predictor of one quantity of whole models.

    Args:
        variant: an ablation, one of ``variants``; empty for the paper's version.
        quantity: predicted quantity.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """Name of the predictor for people, with its paper."""
    variants: ClassVar[tuple[str, ...]] = ()
    reaches_machines: ClassVar[bool] = False
    """True if it widens its intervals for unmeasured machines itself."""
    begins_from: ClassVar[str] = ""
    """Command that writes the pretrained weights from which it starts; empty if there are none."""
    reads_launches: ClassVar[bool] = False
    """True if it predicts from launches: elementwise operators and views that differ only by name
    are equal, and the time is that of the device."""

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        if variant and variant not in self.variants:
            raise PerfcError(
                f"{self.name} has no variant {variant!r}",
                hint=f"there are {', '.join(self.variants) or 'none'}",
            )
        self.variant = variant
        self.quantity = quantity
        # measured over predicted: middle of all rows, and ends of the interval relative to the
        # corrected estimate; NaN before calibration
        self.factor: tuple[float, float, float] = (1.0, float("nan"), float("nan"))
        self.factors: Mapping[str, tuple[float, float]] = {}  # ends of the interval by machine

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Train on rows; early stopping and selection use the validation rows only.

        Raises:
            PerfcError: this predictor is trained by the laboratory, which is not installed.
        """
        # predictors with shipped weights are installed without the laboratory, which overrides this
        del train, validation, budget, say
        raise PerfcError(f"{self.name} cannot be trained here", hint=LAB_HINT)

    def finish(self, data: Measurements, budget: TrainingBudget, say: Say) -> None:
        """Fit again to all rows after the test; hyperparameters and intervals stay.

        Raises:
            PerfcError: this predictor does not support it.
        """
        del data, budget, say
        raise PerfcError(f"{self.name} does not learn from every row", hint="leave --every-row out")

    @abstractmethod
    def predict(self, data: Measurements) -> Array:
        """Return the quantity of every row, ``[rows]``, in its unit, without ``factor``."""

    def adapt(self, few: Measurements) -> None:
        """Calibrate for a new machine with a few of its rows; by default by their median factor.

        The interval is widened where these rows are outside of it.
        """
        # above 0, as a prediction may be 0; 1e-12 is below any measured value
        ratio = few.values(self.quantity) / np.maximum(self.predict(few), 1e-12)
        # a median, so that one disturbed run of a few does not move all estimates
        middle = float(np.median(ratio))
        low, high = np.quantile(ratio / middle, [LEAST_FACTOR, MOST_FACTOR])
        _, before, after = self.factor
        # `fmin` and `fmax` ignore the NaN of a predictor without an interval
        self.factor = (middle, float(np.fmin(low, before)), float(np.fmax(high, after)))
        # intervals by machine were relative to estimates without this correction
        self.factors = {}

    def calibrate(self, validation: Measurements) -> None:
        """Set the intervals from errors on held-out rows: one of all rows, and one per machine.

        A common interval would fit only the machine with most rows.
        """
        if not len(validation):
            return
        # 1e-12, here and below: no predicted time or memory is 0 or negative
        ratio = validation.values(self.quantity) / np.maximum(self.predict(validation), 1e-12)
        low, high = np.quantile(ratio, [LEAST_FACTOR, MOST_FACTOR])
        self.factor = (self.factor[0], float(low), float(high))
        machine = np.array([r.target for r in validation.rows])
        errors = {target: np.log(ratio[machine == target]) for target in validation.targets}
        # machines with too few rows have the interval of all
        bands = {t: band(scores) for t, scores in errors.items() if len(scores) >= LEAST_ROWS}
        self.factors = {t: (math.exp(b.low), math.exp(b.high)) for t, b in bands.items()}

    def estimates(self, data: Measurements) -> GraphEstimates:
        """Return corrected estimates with intervals; callers apply `PhysicalLimits` to them."""
        value = np.maximum(self.predict(data) * self.factor[0], 1e-12)
        # factors of the machine, else those of all rows, which follow the middle in `factor`
        ends = [self.factors.get(row.target, self.factor[1:]) for row in data.rows]
        low, high = np.reshape(ends, (-1, 2)).T
        # no row is far or unknown: only predictors that override this method detect such rows
        nowhere = np.zeros(len(data), np.bool_)
        return GraphEstimates(value, value * low, value * high, nowhere, nowhere)

    def other_quantities(self, data: Measurements) -> Mapping[Quantity, Array]:
        """Return further quantities that it predicts, ``[rows]`` each; {} by default."""
        del data
        return {}

    def arrays(self) -> Mapping[str, Array]:
        """Return all learned arrays by name; empty if the predictor stores none."""
        return {}

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
        """Set the state that `arrays` and `meta` returned.

        Raises:
            PerfcError: it is of another schema.
        """
        raise PerfcError(f"{self.name} keeps no weights", hint="train it in the same run")

    def meta(self) -> Mapping[str, Any]:
        """Return further entries for a card: schema digests, sizes, epochs."""
        return {}


SHIPPED = "perfc.analyzers.whole_runs"
"""Package of the predictors whose weights ship; plug-ins name further packages."""
PREDICTOR_FILE = "predictor.py"
"""File that makes a folder a predictor, under the folder's name."""


@cache
def files(*, trains: bool = True) -> Mapping[str, str]:
    """Return the module of every predictor by name.

    A predictor of a plug-in, which can train, replaces the shipped one of the same name. Files are
    searched for ``PREDICTOR`` and not imported, as some need PyTorch.

    Args:
        trains: False for shipped predictors alone.
    """
    modules: dict[str, str] = {}
    for package in (SHIPPED, *(plugins.modules(plugins.PREDICTORS) if trains else ())):
        folder = plugins.file_of(package).parent
        for path in folder.glob("*.py"):
            if re.search(r"^PREDICTOR\b", path.read_text(encoding="utf-8"), re.MULTILINE):
                modules[path.stem] = f"{package}.{path.stem}"
        # a larger predictor is a folder with this file
        for path in folder.glob(f"*/{PREDICTOR_FILE}"):
            modules[path.parent.name] = f"{package}.{path.parent.name}.{path.stem}"
    return modules


def begins_from(stem: str) -> str:
    """Return ``begins_from`` of a predictor from the text of its file, without importing it."""
    path = plugins.file_of(files()[stem])
    match = re.search(
        r'^    begins_from\b.* = "(.+)"$', path.read_text(encoding="utf-8"), re.MULTILINE
    )
    return match[1] if match else ""


@cache
def predictors() -> tuple[str, ...]:
    """Return the names of all predictors."""
    return tuple(sorted(files()))


def predictor(
    name: str, quantity: Quantity = Quantity.TIME, *, trains: bool = True
) -> GraphPredictor:
    """Return a new predictor by name: ``pmgns``, or ``pmgns:gcn`` for a variant.

    Dashes and underscores are equal. Without ``trains`` a shipped predictor has precedence, as
    plug-ins import packages that only training needs.

    Raises:
        PerfcError: unknown name or variant.
        MissingExtraError: it needs PyTorch, which is not installed.
    """
    stem, _, variant = name.partition(":")
    stem = stem.replace("-", "_")
    shipped = None if trains else files(trains=False).get(stem)
    if shipped is None and stem not in files():
        raise PerfcError(
            f"no graph predictor {name!r}", hint=f"there are {', '.join(predictors())}"
        )
    try:
        module = importlib.import_module(shipped or files()[stem])
    except ImportError as error:
        hint = "pip install 'perfc-lab[gnn]'"
        raise MissingExtraError(f"{name} needs {error.name}", hint=hint) from None
    result = module.PREDICTOR(variant, quantity)
    assert isinstance(result, GraphPredictor)
    return result
