"""Test blocks of language models that were left out: summed kernels, predicted against measured.

A block is a transformer layer: matrix products, kernels that work token by token, and one
attention.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from perfc.analyzers.artefacts.artefact import Artefact, Ready
from perfc.analyzers.features.rows import DataError, Protocol
from perfc.ir.record import entity

from ...board import Score, score
from ...data.rows import Rows
from ...tables import MODEL
from ...tables.language_models import IN_BLOCK, KNOWN, SHARDS
from ..calibration.calibrate import Calibrating
from ..evaluate import CallerContext, RowSlice, Tested, everything, figure, test
from ..fit import Recipe, train
from . import Experiment, OperatorExperiment, Say, experiments, thinned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

DTYPE = "bf16"
"""Element type of the rows; rows of other types are not read."""
TESTED_ROWS = 30_000
"""Maximum rows of attention that a model is tested on; of layers, which blocks need, all are."""
LAYERS = ("matmul", "tokenwise")
"""Kernel classes of a block except attention."""
# classes of attention; a block has one kernel of one of them
ATTENTION = ("attention_prefill", "attention_decode", "mixed_attention")
TRAINED: Mapping[str, float | int] = {"depth": 10, "max_rows": 300_000, "keep_small": True}
"""Changes of the recipe of attention, which would take hours for all models."""


def of_class(name: str) -> Callable[[Rows], NDArray[np.bool_]]:
    """Return the mask of rows of one class, for a slice."""
    return lambda rows: everything(rows) & (rows.class_name == name)


# a slice for each class, with the goal of its mean error
SLICES = (
    RowSlice("products", of_class("matmul"), 0.06),
    RowSlice("norms, activations, rotations, sums", of_class("tokenwise")),
    RowSlice("attention of prompts", of_class("attention_prefill"), 0.06),
    RowSlice("attention of single tokens", of_class("attention_decode"), 0.06),
    RowSlice("attention of mixed batches", of_class("mixed_attention"), 0.06),
)
BLOCK_GOAL = 0.05
"""Goal of the mean error of a block."""


@entity
class Sums:
    """Sums of the kernels of blocks; a block is one element of each array.

    Args:
        key: machine, framework, model, shards and tokens of each block.
        measured: measured seconds.
        ends: predicted seconds: rows of lower bound, low, middle and high.
    """

    key: tuple[tuple[str, str, float, float, float], ...]
    measured: Array
    ends: Array


class Blocks(Experiment):
    """Models of Vidur's and LLMServingSim's profiles, each left out in turn."""

    name = "blocks"
    title = "Blocks of language models left out, under profilers"
    has_weights: ClassVar[bool] = False
    held_out = (
        "Each model is held out in turn, with all its rows in both profiles, whichever machine "
        "they ran on. Models whose layers have the same extents count as one. Rows of recorded "
        "graphs name no model and stay. A block is the sum of its layers, and of one attention "
        "where its source has some. Machines of one model are left out with it, and lines without "
        "them follow."
    )

    def train(self, folder: Path, say: Say, ready: Ready | None = None) -> Artefact:
        """Raise an error, as there is nothing to train.

        Raises:
            DataError: always.
        """
        raise DataError("blocks have no weights of their own", where=self.name)

    def evaluate(self, folder: Path, say: Say) -> Iterator[Score]:
        """Yield the scores of kernels by class, then of blocks by source and attention."""
        blocks = {name: rows_of(name, folder) for name in (*LAYERS, *ATTENTION)}
        tested: dict[str, list[Tested]] = {name: [] for name in blocks}
        for model, model_name in enumerate(KNOWN):
            say(f"{self.name}: without {model_name}")
            for name, rows in blocks.items():
                tested[name] += left_out(name, rows, model)
        # scores are of the rows of all models together
        lines = {figure.slice: figure for figure in figures_of(tested)}
        yield from lines.values()
        machines = {name: with_several_models(rows) for name, rows in blocks.items()}
        of_several = {
            name: [block for block in of_class if block.rows.target in machines[name]]
            for name, of_class in tested.items()
        }
        for line in figures_of(of_several):
            # only if some machines have rows of a single model, so that the scores differ
            if line.rows != lines[line.slice].rows:
                yield replace(line, slice=f"{line.slice}, machines of several models")


def figures_of(tested: Mapping[str, Sequence[Tested]]) -> Iterator[Score]:
    """Yield the scores of kernels by class, then of blocks."""
    every = [block for of_class in tested.values() for block in of_class]
    for part_of in SLICES:
        line = figure("model left out", part_of, every)
        if line is not None:
            yield line
    yield from of_blocks(tested)


def with_several_models(blocks: Sequence[Rows]) -> frozenset[str]:
    """Return the machines with rows of several models: some remain when one model is left out."""
    models: dict[str, set[float]] = {}
    for rows in blocks:
        if MODEL in rows.columns:
            numbers = np.unique(rows.columns[MODEL])
            # -1 stands for a row without a model
            models.setdefault(rows.target, set()).update(numbers[numbers >= 0].tolist())
    return frozenset(target for target, each in models.items() if len(each) > 1)


def rows_of(name: str, folder: Path) -> list[Rows]:
    """Return the rows that the predictor of a class learns from, in 16 bits."""
    experiment = experiments()[name]
    assert isinstance(experiment, OperatorExperiment)
    return [rows for rows in experiment.rows(folder) if rows.dtype == DTYPE]


def left_out(name: str, blocks: Sequence[Rows], model: int) -> list[Tested]:
    """Return the rows of a model, predicted by a training of one class without that model."""
    training, tests = [], []
    for rows in blocks:
        # rows without a model have -1, and are trained on
        is_model = rows.columns.get(MODEL, np.full(len(rows), -1.0)) == model
        if not is_model.all():
            training.append(rows.take(~is_model))
        if is_model.any():
            tests.append(rows.take(is_model))
    experiment = experiments()[name]
    assert isinstance(experiment, OperatorExperiment)
    if not tests:
        return []
    artefact = train(
        name,
        training,
        recipe_of(experiment),
        experiment.group,
        leave_machines_out=False,
        calibrating=Calibrating(turns=2),
    )
    return test(
        artefact, tests if name in LAYERS else thinned(tests, TESTED_ROWS), CallerContext.EVERYTHING
    )


def recipe_of(experiment: OperatorExperiment) -> Recipe:
    """Return the recipe for a training without a model, which takes minutes and not an hour.

    It is the shipped recipe for layers, and that of machines left out for classes whose trees grow
    leaf by leaf.
    """
    if experiment.name in LAYERS:
        return experiment.recipe
    if experiment.recipe.leaves:
        return experiment.recipe.for_unseen_machine()
    return replace(experiment.recipe, **TRAINED)  # type: ignore[arg-type]


def of_blocks(tested: Mapping[str, Sequence[Tested]]) -> Iterator[Score]:
    """Yield the scores of blocks: Vidur's without attention, LLMServingSim's with attention."""
    layers = layer_sums([block for name in LAYERS for block in tested[name]])
    # rows of "torch" are Vidur's, which has no attention
    frameworks = np.array([framework for _, framework, *_ in layers.key])
    alone = np.flatnonzero(frameworks == "torch")
    if len(alone):
        name = "blocks but for attention (Vidur)"
        yield line(name, layers.measured[alone], layers.ends[:, alone])
    place = {key: index for index, key in enumerate(layers.key)}
    titles = {"attention_prefill": "prompts", "attention_decode": "single tokens"}
    for name in ATTENTION:
        measured, ends = joined(tested[name], layers, place)
        if len(measured):
            title = titles.get(name, "mixed batches")
            yield line(f"blocks of {title} (LLMServingSim)", measured, ends)


def layer_sums(tested: Sequence[Tested]) -> Sums:
    """Return the sums of the layers of each block that has measured rows of all `LAYERS`."""
    kinds: dict[tuple[str, str, float, float, float], dict[str, list[Array]]] = {}
    for block in tested:
        columns, rows = block.rows.columns, block.rows
        # the rows `m` of a product are the tokens
        tokens = columns["m" if rows.class_name == "matmul" else "tokens"]
        times = columns[IN_BLOCK] if IN_BLOCK in columns else np.zeros(len(rows))
        ends = np.stack([rows.time_s, *ends_of(block)])
        # a kernel counts as often as a block has it
        for i in np.flatnonzero(times > 0):
            owner = (float(columns[MODEL][i]), float(columns[SHARDS][i]), float(tokens[i]))
            of_class = kinds.setdefault((rows.target, rows.framework, *owner), {})
            of_class.setdefault(rows.class_name, []).append(times[i] * ends[:, i])
    # a block without rows of one of the classes is not complete
    whole = {key: parts for key, parts in kinds.items() if len(parts) == len(LAYERS)}
    sums = [summed([np.sum(each, axis=0) for each in parts.values()]) for parts in whole.values()]
    table = np.array(sums).T.reshape(5, -1)  # five rows, also without any block
    return Sums(tuple(whole), table[0], table[1:])


def ends_of(tested: Tested) -> tuple[Array, Array, Array, Array]:
    """Return the predictions of rows: lower bound, low, middle and high."""
    estimates = tested.estimates
    return estimates.floor_s, estimates.low_s, estimates.time_s, estimates.high_s


def summed(classes: Sequence[Array]) -> Array:
    """Return measured time, lower bound, low, middle and high of a sum over classes.

    ``classes`` has these five numbers of each class, where errors are added up: those within a
    class are taken as equal. Errors of different classes are independent and add as squares, as in
    `perfc.analyzers.intervals.summing`.
    """
    measured, floor, low, time, high = np.array(classes).T
    below, above = (math.hypot(*side) for side in (time - low, high - time))
    middle = time.sum()
    return np.array([measured.sum(), floor.sum(), middle - below, middle, middle + above])


def joined(
    tested: Sequence[Tested],
    layers: Sums,
    place: Mapping[tuple[str, str, float, float, float], int],
) -> tuple[Array, Array]:
    """Return measured times and predictions of blocks: an attention and the layers of its tokens.

    Rows of attention without measured layers of as many tokens are left out.
    """
    parts: list[Array] = []
    for block in tested:
        rows, columns = block.rows, block.rows.columns
        # tokens of a step: new ones of each prompt, and one of each sequence that decodes
        tokens = columns["batch"] * columns.get("query_len", np.ones(len(rows)))
        tokens = tokens + columns.get("decodes", np.zeros(len(rows)))
        ends = np.stack([rows.time_s, *ends_of(block)])
        # layers have rows under profilers alone, so that other rows of attention have no block
        if rows.protocol is not Protocol.KERNELS:
            continue
        for i in range(len(rows)):
            model, shards = float(columns[MODEL][i]), float(columns[SHARDS][i])
            index = place.get((rows.target, rows.framework, model, shards, float(tokens[i])))
            if index is not None:
                layer = np.array([layers.measured[index], *layers.ends[:, index]])
                parts.append(summed([layer, ends[:, i]]))
    table = np.array(parts).T.reshape(5, -1)
    return table[0], table[1:]


def line(name: str, measured: Array, ends: Array) -> Score:
    """Return the score of blocks, from their measured times and the rows of `Sums.ends`."""
    floor, low, time, high = ends
    return score("model left out", name, measured, time, low, high, floor, goal=BLOCK_GOAL)


EXPERIMENT = Blocks()
