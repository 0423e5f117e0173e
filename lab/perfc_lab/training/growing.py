"""Grow forests of ``log(time / scale)`` from blocks of measured kernels, with XGBoost.

A block is the rows of one machine, element type and framework.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import KernelBatch, class_of, tabulate
from perfc.ir.record import frozen
from perfc.machine import load_machine

from ..data.rows import Rows
from .libraries import xgboost
from .xgboost_forest import forest_of, midway

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array


@frozen
class Recipe:
    """Settings of the training of a predictor.

    Args:
        trees: number of trees of the factor.
        depth: maximum depth of a tree.
        learning_rate: share of its prediction that each tree adds.
        least_weight: minimum weight of the rows of a leaf.
        balance: 0 weights every row equally, 1 every block of machine, type and framework; values
            between weight a block of ``n`` rows by ``n ** (1 - balance)``.
        max_rows: maximum rows; of more rows a random sample is taken.
        keep_small: True to sample only the largest blocks, whose remaining rows get more weight
            instead; False to sample all blocks equally.
        spread_trees: number of trees of the spread, five levels deep.
        subsample: share of the rows that a tree sees.
        columns: share of the features that a tree chooses from.
        node_columns: share of the tree's features that each of its nodes chooses from.
        parallel_trees: trees of a round, whose mean counts: each sees other rows and features, so
            that their noise averages out.
        objective: objective of the trainer; the squared error of the logarithm converges fastest.
        levels: how often the machines' levels (function `levels`: how much slower or faster than
            predicted a machine is) are subtracted and trees grow again, so that shapes that only
            one machine has are not predicted as slow or fast as that machine.
        left_out: fields with other values while a machine is held out.
        leaves: maximum leaves of a tree, which then splits one leaf at a time, not all of a depth;
            0 for all that ``depth`` allows.
        cells: maximum cells of the summary of the training rows (`cells.summarize`).
        seed: random seed of samples and trees.
        general: True to begin the forest with the trees for held-out machines; these trees alone
            predict unmeasured machines.
    """

    trees: int = 400
    depth: int = 8
    learning_rate: float = 0.1
    least_weight: float = 5.0
    subsample: float = 0.8
    columns: float = 0.8
    node_columns: float = 1.0
    parallel_trees: int = 1
    balance: float = 0.5
    max_rows: int = 2_000_000
    keep_small: bool = False
    spread_trees: int = 40
    objective: str = "reg:squarederror"
    levels: int = 0
    left_out: Mapping[str, float | int | str] | None = None
    general: bool = False
    leaves: int = 0
    cells: int = 20_000
    seed: int = 0

    @property
    def grown_trees(self) -> int:
        """Return the trees of the factor, parallel ones counted one by one."""
        return self.trees * self.parallel_trees

    def for_unseen_machine(self) -> Recipe:
        """Return the recipe of trainings without a machine, which calibrate unmeasured machines."""
        # fewer rows by default, as there is a training for each machine
        changes = dict(self.left_out or {"max_rows": min(self.max_rows, 200_000)})
        return replace(self, general=False, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class StackedTables:
    """Tables of several blocks as one.

    Args:
        table: features, scale and floor.
        log_factor: target of the forest, ``log(time / scale)``.
        weight: weight of each row, mean 1.
        block: index of each row's block.
        owner: machine and columns of each block; blocks with equal columns are of one family.
        increasing: features in which the factor may only rise.
    """

    table: KernelBatch
    log_factor: Array
    weight: Array
    block: NDArray[np.int64]
    owner: tuple[tuple[str, tuple[str, ...]], ...]
    increasing: tuple[str, ...] = ()


def stacked(
    blocks: Sequence[Rows],
    frameworks: tuple[str, ...],
    recipe: Recipe,
    protocols: tuple[Protocol, ...] | None = None,
) -> StackedTables:
    """Return the blocks as one table of at most ``recipe.max_rows`` rows.

    ``protocols`` are the categories of the forest; by default those of the blocks.
    """
    rng = np.random.default_rng(recipe.seed)
    shares = shares_of_blocks(list(map(len, blocks)), recipe)
    protocols = protocols or protocols_of(blocks)
    parts: list[KernelBatch] = []
    factor, weight, index = [], [], []
    for number, block in enumerate(blocks):
        kind, sheet = class_of(block.class_name), Sheet(load_machine(block.target))
        share = shares[number]
        chosen = block.take(rng.random(len(block)) < share) if share < 1 else block
        if not len(chosen):
            continue
        table = tabulate(
            kind,
            chosen.columns,
            block.dtype,
            sheet,
            block.protocol,
            block.framework,
            frameworks,
            protocols,
        )
        parts.append(table)
        factor.append(np.log(chosen.time_s / table.scale_s))
        # a sampled row also counts for the rows of its block that were left out
        stands_for = 1 / share if recipe.keep_small else 1.0
        weight.append(np.full(len(chosen), stands_for * float(len(block)) ** -recipe.balance))
        index.append(np.full(len(chosen), number))
    weights = np.concatenate(weight)
    return StackedTables(
        KernelBatch.joined(parts),
        np.concatenate(factor),
        weights / weights.mean(),
        np.concatenate(index),
        tuple((b.target, tuple(sorted(b.columns))) for b in blocks),
        class_of(blocks[0].class_name).increasing,
    )


def shares_of_blocks(sizes: Sequence[int], recipe: Recipe) -> list[float]:
    """Return the share of each block that is trained on.

    >>> shares_of_blocks([100, 900], Recipe(max_rows=500, keep_small=True))
    [1.0, 0.4444444444444444]
    """
    if not recipe.keep_small:
        return [min(1.0, recipe.max_rows / max(sum(sizes), 1))] * len(sizes)
    remaining, most = recipe.max_rows, 0.0
    # small blocks first: rows of an equal share that they do not need go to the larger blocks
    for index, size in enumerate(sorted(sizes)):
        most = remaining / (len(sizes) - index)
        if size > most:
            break
        remaining -= size
    else:
        return [1.0] * len(sizes)
    return [min(1.0, most / max(size, 1)) for size in sizes]


def joined(one: Forest, other: Forest) -> Forest:
    """Return the sum of two forests, as one forest with the constant of ``one``."""
    start = len(one.feature)
    # a leaf has -1 as feature and its value as threshold. The constant of ``other`` is added
    # to all leaves of its first tree, as every row ends in one of them
    second = int(other.roots[1]) if len(other.roots) > 1 else len(other.feature)
    leaf = (other.feature < 0) & (np.arange(len(other.feature)) < second)
    threshold = other.threshold + np.where(leaf, other.base, 0.0).astype(np.float32)
    return replace(
        one,
        feature=np.concatenate([one.feature, other.feature]),
        threshold=np.concatenate([one.threshold, threshold]),
        left=np.concatenate([one.left, other.left + start]),
        roots=np.concatenate([one.roots, other.roots + start]),
    )


def grow(stack: StackedTables, recipe: Recipe) -> Forest:
    """Grow the forest of ``log(time / scale)``.

    With ``general`` a small forest for unmeasured machines is grown first, then a forest of its
    residuals. With ``levels`` the forest predicts a machine of median level.
    """
    if recipe.general:
        # the first forest balances blocks as a training for unmeasured machines does
        small = recipe.for_unseen_machine()
        general = grow(replace(stack, weight=balanced(stack, small.balance)), small)
        left_over = stack.log_factor - general(stack.table.values)
        return joined(
            general, grow(replace(stack, log_factor=left_over), replace(recipe, general=False))
        )
    forest = grown(stack, recipe)
    # levels and forest alternate, as each is a residual of the other
    for _ in range(recipe.levels):
        residual = stack.log_factor - forest(stack.table.values)
        level = levels(residual, stack)
        forest = grown(replace(stack, log_factor=stack.log_factor - level), recipe)
    return forest


def balanced(stack: StackedTables, balance: float) -> Array:
    """Return the weights of rows, with mean 1, from the sizes of their blocks and ``balance``."""
    weights = np.bincount(stack.block)[stack.block] ** -balance
    balanced_weights: Array = weights / weights.mean()
    return balanced_weights


def levels(residual: Array, stack: StackedTables) -> Array:
    """Return the level of every row's machine, minus the median level of the family's machines.

    A level is the mean of the blocks' median residuals, so that no large block outweighs others.
    """
    medians: dict[tuple[str, tuple[str, ...]], list[float]] = {}
    for block in np.unique(stack.block):
        median = float(np.median(residual[stack.block == block]))
        medians.setdefault(stack.owner[block], []).append(median)
    means = {owner: sum(values) / len(values) for owner, values in medians.items()}
    middle = {
        family: float(np.median([m for (_, f), m in means.items() if f == family]))
        for family in {f for _, f in means}
    }
    # blocks without rows have no mean
    of_block = [means.get(o, 0.0) - middle.get(o[1], 0.0) for o in stack.owner]
    level: Array = np.array(of_block)[stack.block]
    return level


def grown(stack: StackedTables, recipe: Recipe) -> Forest:
    """Return one forest trained on the stack, without ``general`` and ``levels``."""
    names = stack.table.names
    by_leaf = {"grow_policy": "lossguide", "max_leaves": recipe.leaves} if recipe.leaves else {}
    return boost(
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
            "colsample_bynode": recipe.node_columns,
            "num_parallel_tree": recipe.parallel_trees,
            "objective": recipe.objective,
            "seed": recipe.seed,
            "monotone_constraints": dict.fromkeys(stack.increasing, 1),
            **by_leaf,
        },
        recipe.trees,
    )


def boost(
    values: NDArray[np.float32],
    target: Array,
    weight: Array,
    names: tuple[str, ...],
    settings: Mapping[str, object],
    trees: int,
) -> Forest:
    """Return trees of xgboost's histogram method, with thresholds midway between values.

    Raises:
        MissingExtraError: xgboost is not installed.
    """
    # one thread, and a seed: the same rows give the same trees on every machine
    library = xgboost()
    matrix = library.QuantileDMatrix(values, target, weight=weight, feature_names=list(names))
    options = {"tree_method": "hist", "nthread": 1, "max_bin": 256, **settings}
    return midway(forest_of(library.train(options, matrix, num_boost_round=trees)), values)


def protocols_of(blocks: Sequence[Rows]) -> tuple[Protocol, ...]:
    """Return the protocols of blocks, in a fixed order."""
    return tuple(sorted({b.protocol for b in blocks}, key=lambda p: p.value))
