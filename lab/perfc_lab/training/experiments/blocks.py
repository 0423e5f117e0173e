"""Blocks of language models left out: predicted kernels of a block, summed, against measured ones.

A block is a transformer layer: products, tokenwise kernels and one attention.
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
"""Element type of the rows; those of others are not read."""
TESTED_ROWS = 30_000
"""Rows of a class that a model tests; blocks need all layers, which are fewer."""
LAYERS = ("matmul", "tokenwise")
"""Classes of all kernels of a block but attention."""
# classes of which a block has one kernel
ATTENTION = ("attention_prefill", "attention_decode", "mixed_attention")
TRAINED: Mapping[str, float | int] = {"depth": 10, "max_rows": 300_000, "keep_small": True}
"""Replaces parts of the recipe of attention, which takes hours for all models."""


def of_class(name: str) -> Callable[[Rows], NDArray[np.bool_]]:
    """Return the slice of one class."""
    return lambda rows: everything(rows) & (rows.class_name == name)


# a slice a class, with the goal of its mean error
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
    """Kernels of blocks, summed; arrays with one element a block.

    Args:
        key: machine, framework, model, shards and tokens of each.
        measured: seconds.
        ends: floor, low, time and high of the sum, a row each.
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
        """Train nothing.

        Raises:
            DataError: always.
        """
        raise DataError("blocks have no weights of their own", where=self.name)

    def evaluate(self, folder: Path, say: Say) -> Iterator[Score]:
        """Yield the kernels by class, then blocks by source and attention."""
        blocks = {name: rows_of(name, folder) for name in (*LAYERS, *ATTENTION)}
        tested: dict[str, list[Tested]] = {name: [] for name in blocks}
        for model, model_name in enumerate(KNOWN):
            say(f"{self.name}: without {model_name}")
            for name, rows in blocks.items():
                tested[name] += left_out(name, rows, model)
        # every model is tested by now: scores are of all of them together
        lines = {figure.slice: figure for figure in figures_of(tested)}
        yield from lines.values()
        machines = {name: with_several_models(rows) for name, rows in blocks.items()}
        of_several = {
            name: [block for block in of_class if block.rows.target in machines[name]]
            for name, of_class in tested.items()
        }
        for line in figures_of(of_several):
            # only where machines of a single model were left away
            if line.rows != lines[line.slice].rows:
                yield replace(line, slice=f"{line.slice}, machines of several models")


def figures_of(tested: Mapping[str, Sequence[Tested]]) -> Iterator[Score]:
    """Yield the kernels by class, then blocks."""
    every = [block for of_class in tested.values() for block in of_class]
    for part_of in SLICES:
        line = figure("model left out", part_of, every)
        if line is not None:
            yield line
    yield from of_blocks(tested)


def with_several_models(blocks: Sequence[Rows]) -> frozenset[str]:
    """Return the machines that keep rows of other models whichever is left out."""
    models: dict[str, set[float]] = {}
    for rows in blocks:
        if MODEL in rows.columns:
            numbers = np.unique(rows.columns[MODEL])
            # -1 is a row that names no model
            models.setdefault(rows.target, set()).update(numbers[numbers >= 0].tolist())
    return frozenset(target for target, each in models.items() if len(each) > 1)


def rows_of(name: str, folder: Path) -> list[Rows]:
    """Return the rows of a class that its predictor learns, in 16 bits."""
    experiment = experiments()[name]
    assert isinstance(experiment, OperatorExperiment)
    return [rows for rows in experiment.rows(folder) if rows.dtype == DTYPE]


def left_out(name: str, blocks: Sequence[Rows], model: int) -> list[Tested]:
    """Return a class learned without a model, tested on it."""
    training, tests = [], []
    for rows in blocks:
        # rows that name no model have −1, and are trained on
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
    """Return the recipe of a class without a model, for minutes and not an hour.

    Layers have the recipe that ships, classes of absolute errors that of machines left out.
    """
    if experiment.name in LAYERS:
        return experiment.recipe
    if experiment.recipe.leaves:
        return experiment.recipe.for_unseen_machine()
    return replace(experiment.recipe, **TRAINED)  # type: ignore[arg-type]


def of_blocks(tested: Mapping[str, Sequence[Tested]]) -> Iterator[Score]:
    """Yield the layers alone where a source has no attention, else with each row of attention."""
    layers = layer_sums([block for name in LAYERS for block in tested[name]])
    frameworks = np.array([key[1] for key in layers.key])
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
    """Return the layers of each block of which both products and others were measured."""
    kinds: dict[tuple[str, str, float, float, float], dict[str, list[Array]]] = {}
    for block in tested:
        columns, rows = block.rows.columns, block.rows
        # a product has a row of the matrix for each token
        tokens = columns["m" if rows.class_name == "matmul" else "tokens"]
        times = columns[IN_BLOCK] if IN_BLOCK in columns else np.zeros(len(rows))
        ends = np.stack([rows.time_s, *ends_of(block)])
        # a kernel counts as often as it is in a block
        for i in np.flatnonzero(times > 0):
            owner = (float(columns[MODEL][i]), float(columns[SHARDS][i]), float(tokens[i]))
            of_class = kinds.setdefault((rows.target, rows.framework, *owner), {})
            of_class.setdefault(rows.class_name, []).append(times[i] * ends[:, i])
    # blocks that lack one of the classes are not whole
    whole = {key: parts for key, parts in kinds.items() if len(parts) == len(LAYERS)}
    sums = [summed([np.sum(each, axis=0) for each in parts.values()]) for parts in whole.values()]
    table = np.array(sums).T.reshape(5, -1)  # also without any block
    return Sums(tuple(whole), table[0], table[1:])


def ends_of(one: Tested) -> tuple[Array, Array, Array, Array]:
    """Return the floor, low, time and high."""
    estimates = one.estimates
    return estimates.floor_s, estimates.low_s, estimates.time_s, estimates.high_s


def summed(classes: Sequence[Array]) -> Array:
    """Return measured, floor, low, time and high of a sum over classes, in this order.

    Errors within a class add up; those of different classes are independent and add as squares, as
    in `perfc.analyzers.intervals.summing`.
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
    """Return each attention with the layers of as many tokens, where those were measured."""
    parts: list[Array] = []
    for block in tested:
        rows, columns = block.rows, block.rows.columns
        # tokens of a step: new ones of each prompt, and one of each sequence that decodes
        tokens = columns["batch"] * columns.get("query_len", np.ones(len(rows)))
        tokens = tokens + columns.get("decodes", np.zeros(len(rows)))
        ends = np.stack([rows.time_s, *ends_of(block)])
        # layers were measured under profilers alone
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
    """Return the score of sums."""
    floor, low, time, high = ends
    return score("model left out", name, measured, time, low, high, floor, goal=BLOCK_GOAL)


EXPERIMENT = Blocks()
