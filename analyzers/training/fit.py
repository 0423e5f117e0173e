"""Trains one predictor: factor, spread and calibration from blocks of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perfc.errors import MissingExtraError
from perfc.machine import load_machine
from perfc.version import __version__

from ..artefact import FORMAT, Artefact, schema_of
from ..card import Card
from ..conformal import LEAST_SPREAD, Band, Calibration, band
from ..distance import coordinates, nearest
from ..forest import Forest
from ..rows import DataError, Protocol, Rows
from ..sheet import Sheet
from ..table import Table, class_of, tabulate
from .cells import summarise
from .protocols import UnseenMachine, folds, split, targets

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..classes import Array

SPREAD_FOLD, BAND_FOLD = 3, 4
"""Folds of groups that calibrate: one teaches the spread, the other sets the band."""
LEAST_MACHINES = 3


@dataclass(frozen=True)
class Recipe:
    """How a predictor is trained.

    Args:
        trees: of the factor.
        depth: of each.
        learning_rate: shrinkage.
        least_weight: that a leaf must hold, in rows.
        balance: 0 counts every row alike, 1 every block of machine, type and framework.
        max_rows: rows drawn at random when there are more.
        unnamed: share of rows that are seen a second time without their framework.
        spread_trees: of the spread, five levels deep.
        objective: of the trainer; the squared error of the logarithm converges fastest.
        apart: replaces the fields it gives when a machine is left out.
    """

    trees: int = 400
    depth: int = 8
    learning_rate: float = 0.1
    least_weight: float = 5.0
    subsample: float = 0.8
    columns: float = 0.8
    balance: float = 0.5
    max_rows: int = 2_000_000
    unnamed: float = 0.1
    spread_trees: int = 40
    objective: str = "reg:squarederror"
    apart: Mapping[str, float | int] | None = None
    seed: int = 0

    def for_unseen_machine(self) -> Recipe:
        """The recipe whose residuals calibrate machines that nobody measured."""
        changes = dict(self.apart or {"max_rows": min(self.max_rows, 200_000)})
        return replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Stack:
    """Tables of several blocks as one.

    Args:
        table: features, scale and floor.
        log_factor: what the forest shall say, ``log(time / scale)``.
        weight: of each row, mean 1.
        block: index of each row's block.
        increasing: features in which the factor may only rise.
    """

    table: Table
    log_factor: Array
    weight: Array
    block: NDArray[np.int64]
    increasing: tuple[str, ...] = ()


def train(
    name: str,
    blocks: Sequence[Rows],
    recipe: Recipe,
    group: tuple[str, ...],
    *,
    data: Mapping[str, str] | None = None,
    leave_machines_out: bool = True,
) -> Artefact:
    """Train on all rows given; those held out for testing must not be among them.

    Args:
        name: of the predictor.
        blocks: rows of one class.
        recipe: how.
        group: shape parameters that make a group; calibration rows share none with the others.
        data: digests of the tables, for the card.
        leave_machines_out: calibrate for unseen machines too, which trains once for each.

    Raises:
        DataError: no rows, or rows of several classes.
    """
    import numpy as np

    if not blocks or len({b.class_name for b in blocks}) != 1:
        raise DataError("a predictor is trained on rows of one class", where=name)
    known = _frameworks(blocks)
    spread, seen = _calibrate(blocks, recipe, group, known)
    unseen: Band | None = None
    reach = 0.0
    if leave_machines_out and len(targets(blocks)) >= LEAST_MACHINES:
        unseen, reach = _calibrate_unseen(blocks, recipe, known, spread)
    stack = stacked(blocks, known, recipe)
    factor = grow(stack, recipe)
    card = _card(name, blocks, stack, known, group, data or {})
    values = stack.table.values
    return Artefact(
        replace(
            card,
            bases={"factor": factor.base, "spread": spread.base},
            calibration=Calibration(seen, unseen, reach),
        ),
        factor,
        spread,
        values.min(axis=0).astype(np.float64),
        values.max(axis=0).astype(np.float64),
        np.median(values, axis=0).astype(np.float64),
        summarise(blocks),
    )


def stacked(
    blocks: Sequence[Rows],
    frameworks: tuple[str, ...],
    recipe: Recipe,
    protocols: tuple[Protocol, ...] | None = None,
) -> Stack:
    """Blocks as one table, at most ``recipe.max_rows`` of them, some seen without framework.

    ``protocols`` are those a forest knows; by default those of the blocks.
    """
    import numpy as np

    rng = np.random.default_rng(recipe.seed)
    total = sum(map(len, blocks))
    share = min(1.0, recipe.max_rows / total)
    protocols = protocols or _protocols(blocks)
    parts: list[Table] = []
    factor, weight, index = [], [], []
    for number, block in enumerate(blocks):
        kind, sheet = class_of(block.class_name), Sheet(load_machine(block.target))
        chosen = block.take(rng.random(len(block)) < share) if share < 1 else block
        if not len(chosen):
            continue
        hidden = chosen.take(rng.random(len(chosen)) < recipe.unnamed)
        named = [(chosen, block.framework)]
        if len(frameworks) > 1 and len(hidden):
            named.append((hidden, ""))
        for rows, framework in named:
            table = tabulate(
                kind, rows.columns, block.dtype, sheet, block.protocol,
                framework, frameworks, protocols,
            )  # fmt: skip
            parts.append(table)
            factor.append(np.log(rows.time_s / table.scale_s))
            weight.append(np.full(len(rows), float(len(block)) ** -recipe.balance))
            index.append(np.full(len(rows), number))
    weights = np.concatenate(weight)
    return Stack(
        Table(
            parts[0].names,
            np.concatenate([p.values for p in parts]),
            np.concatenate([p.scale_s for p in parts]),
            np.concatenate([p.floor_s for p in parts]),
        ),
        np.concatenate(factor),
        weights / weights.mean(),
        np.concatenate(index),
        class_of(blocks[0].class_name).increasing,
    )


def grow(stack: Stack, recipe: Recipe) -> Forest:
    """The forest of ``log(time / scale)``."""
    names = stack.table.names
    return _boost(
        stack.table.values,
        stack.log_factor,
        stack.weight,
        names,
        {
            "max_depth": recipe.depth,
            "eta": recipe.learning_rate,
            "min_child_weight": recipe.least_weight,
            "subsample": recipe.subsample,
            "colsample_bytree": recipe.columns,
            "objective": recipe.objective,
            "seed": recipe.seed,
            "monotone_constraints": dict.fromkeys(stack.increasing, 1),
        },
        recipe.trees,
    )


def _boost(
    values: NDArray[np.float32],
    target: Array,
    weight: Array,
    names: tuple[str, ...],
    settings: Mapping[str, object],
    trees: int,
) -> Forest:
    try:
        import xgboost
    except ImportError:
        hint = "pip install 'perfc[train]'"
        raise MissingExtraError("training needs xgboost", hint=hint) from None
    matrix = xgboost.QuantileDMatrix(values, target, weight=weight, feature_names=list(names))
    options = {"tree_method": "hist", "nthread": 1, "max_bin": 256, **settings}
    return Forest.from_xgboost(xgboost.train(options, matrix, num_boost_round=trees))


def _calibrate(
    blocks: Sequence[Rows], recipe: Recipe, group: tuple[str, ...], known: tuple[str, ...]
) -> tuple[Forest, Band]:
    """Spread and band of unseen shapes, from groups that a forest of the others has not seen."""
    import numpy as np

    fold = [folds(b, group) for b in blocks]
    rest = [
        b.take((f != SPREAD_FOLD) & (f != BAND_FOLD)) for b, f in zip(blocks, fold, strict=True)
    ]
    factor = grow(stacked([b for b in rest if len(b)], known, recipe), recipe)
    plain = replace(recipe, unnamed=0.0)
    residuals: list[tuple[Stack, Array]] = []
    for one in (SPREAD_FOLD, BAND_FOLD):
        part = [b.take(f == one) for b, f in zip(blocks, fold, strict=True)]
        stack = stacked([b for b in part if len(b)], known, plain, _protocols(rest))
        residuals.append((stack, stack.log_factor - factor(stack.table.values)))
    teach, check = residuals
    spread = _spread(*teach, recipe)
    scores = check[1] / np.maximum(np.exp(spread(check[0].table.values)), LEAST_SPREAD)
    return spread, band(scores)


def _spread(stack: Stack, residual: Array, recipe: Recipe) -> Forest:
    """The forest of the log of expected absolute error."""
    import numpy as np

    return _boost(
        stack.table.values,
        np.log(np.abs(residual) + LEAST_SPREAD),
        stack.weight,
        stack.table.names,
        {"max_depth": 5, "eta": 0.15, "min_child_weight": 50.0, "subsample": 0.8},
        recipe.spread_trees,
    )


def _calibrate_unseen(
    blocks: Sequence[Rows], recipe: Recipe, known: tuple[str, ...], spread: Forest
) -> tuple[Band, float]:
    """The band of machines left out one at a time, each counting the same, and its reach."""
    import numpy as np

    small = recipe.for_unseen_machine()
    plain = replace(small, unnamed=0.0, max_rows=20_000)
    scores, weights, reach = [], [], 0.0
    for target in targets(blocks):
        parts = split(blocks, UnseenMachine(target))
        factor = grow(stacked(parts.train, known, small), small)
        stack = stacked(parts.test, known, plain, _protocols(parts.train))
        residual = stack.log_factor - factor(stack.table.values)
        width = np.maximum(np.exp(spread(stack.table.values)), LEAST_SPREAD)
        scores.append(residual / width)
        weights.append(np.full(len(residual), 1 / len(residual)))
        reach = max(reach, _apart(parts.train, parts.test))
    return band(np.concatenate(scores), np.concatenate(weights)), reach


def _apart(train: Sequence[Rows], test: Sequence[Rows]) -> float:
    """Distance of the tested machine to its nearest kin of the same type, the largest finite."""
    import math

    found = []
    for dtype in sorted({b.dtype for b in test}):
        places = _places(train, dtype)
        here = _places(test, dtype)
        found += [nearest(p, places) for p in here]
    return max((d for d in found if math.isfinite(d)), default=0.0)


def _places(blocks: Sequence[Rows], dtype: str) -> tuple[tuple[float, ...], ...]:
    names = sorted({b.target for b in blocks if b.dtype == dtype})
    return tuple(coordinates(Sheet(load_machine(n)), dtype) for n in names)


def _protocols(blocks: Sequence[Rows]) -> tuple[Protocol, ...]:
    return tuple(sorted({b.protocol for b in blocks}, key=lambda p: p.value))


def _frameworks(blocks: Sequence[Rows]) -> tuple[str, ...]:
    return tuple(sorted({b.framework for b in blocks}))


def _card(
    name: str,
    blocks: Sequence[Rows],
    stack: Stack,
    frameworks: tuple[str, ...],
    group: tuple[str, ...],
    data: Mapping[str, str],
) -> Card:
    import numpy as np

    kind = class_of(blocks[0].class_name)
    parameters = (*kind.parameters, *kind.optional)
    dtypes = tuple(sorted({b.dtype for b in blocks}))
    versions = {"perfc": __version__, "numpy": np.__version__}
    try:
        import xgboost

        versions["xgboost"] = xgboost.__version__
    except ImportError:
        pass
    return Card(
        name=name,
        class_name=kind.name,
        format=FORMAT,
        schema=schema_of(kind.name, parameters, stack.table.names),
        parameters=parameters,
        features=stack.table.names,
        protocols=_protocols(blocks),
        frameworks=frameworks,
        dtypes=dtypes,
        targets=targets(blocks),
        kin=tuple(sorted({(b.target, b.dtype, b.framework) for b in blocks})),
        places={dtype: _places(blocks, dtype) for dtype in dtypes},
        bases={},
        calibration=Calibration(Band(0, 0)),
        split=f"groups of ({', '.join(group)}), five folds by CRC-32",
        data=data,
        metrics={},
        versions=versions,
        rows=sum(map(len, blocks)),
    )
