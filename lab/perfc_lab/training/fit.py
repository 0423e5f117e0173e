"""Train one predictor of kernels from blocks of rows.

The factor is a forest that predicts ``log(time / scale)``, the spread a forest that predicts its
error; the calibration turns both into intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from perfc.analyzers.artefacts.artefact import FORMAT, Artefact, Ready, schema_of
from perfc.analyzers.artefacts.card import Card
from perfc.analyzers.features.rows import DataError
from perfc.analyzers.features.table import class_of
from perfc.analyzers.intervals.conformal import Band, Bands, Calibration

from ..data.rows import Rows
from ..data.weights import implementations
from .calibration.calibrate import Calibrating, calibrate
from .calibration.machines import ForestCache, places
from .cells import summarize
from .growing import Recipe, protocols_of, stacked
from .libraries import versions
from .protocols import targets

__all__ = ["Recipe", "train"]


def train(
    name: str,
    blocks: Sequence[Rows],
    recipe: Recipe,
    group: tuple[str, ...],
    *,
    data: Mapping[str, str] | None = None,
    leave_machines_out: bool = True,
    calibrating: Calibrating = Calibrating(),  # noqa: B008 — frozen
    memory: ForestCache | None = None,
    ready: Ready | None = None,
) -> Artefact:
    """Train on all given rows, among which no row may be held out for testing.

    Args:
        name: name of the predictor.
        blocks: rows of one class.
        recipe: hyperparameters of the forests.
        group: shape parameters; rows with equal values of them are in the same fold of calibration.
        data: digests of the tables, for the card.
        leave_machines_out: calibrate for unseen machines too, which trains once for each.
        calibrating: options of the calibration of intervals.
        memory: cache of the forests of held-out machines, shared by the calls of one experiment.
        ready: called with name and schema before training.

    Raises:
        DataError: no rows, or rows of several classes.
    """
    if not blocks or len({b.class_name for b in blocks}) != 1:
        raise DataError("a predictor is trained on rows of one class", where=name)
    card = _card(name, blocks, group, data or {})
    if ready is not None:
        ready(name, card.schema)
    spread, calibration = calibrate(
        blocks,
        recipe,
        group,
        card,
        leave_machines_out=leave_machines_out,
        how=calibrating,
        memory=memory,
    )
    stack = stacked(blocks, card.frameworks, recipe)
    forests = memory or ForestCache()
    factor = forests.grow(blocks, card.frameworks, card.protocols, recipe, stack).forest
    # [rows, features]: the artefact gets their least and largest values and their medians
    values = stack.table.values
    return Artefact(
        replace(
            card,
            # the first trees of the forest are those for machines without measurements
            general=recipe.for_unseen_machine().grown_trees if recipe.general else 0,
            bases={"factor": factor.base, "spread": spread.base},
            calibration=calibration,
        ),
        factor,
        spread,
        values.min(axis=0).astype(np.float64),
        values.max(axis=0).astype(np.float64),
        np.median(values, axis=0).astype(np.float64),
        summarize(blocks, recipe.cells),
    )


def _features(blocks: Sequence[Rows], frameworks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the features of the forests, from the table of a single row."""
    first = next(b for b in blocks if len(b)).take(np.zeros(1, np.int64))
    return stacked([first], frameworks, Recipe(), protocols_of(blocks)).table.names


def _card(
    name: str, blocks: Sequence[Rows], group: tuple[str, ...], data: Mapping[str, str]
) -> Card:
    """Return the card of a predictor before it is trained: without bands and scores."""
    kind = class_of(blocks[0].class_name)
    parameters = (*kind.parameters, *kind.optional)
    frameworks = tuple(sorted({b.framework for b in blocks}))
    features = _features(blocks, frameworks)
    dtypes = tuple(sorted({b.dtype for b in blocks}))
    return Card(
        name=name,
        class_name=kind.name,
        format=FORMAT,
        schema=schema_of(kind.name, parameters, features),
        parameters=parameters,
        features=features,
        protocols=protocols_of(blocks),
        frameworks=frameworks,
        dtypes=dtypes,
        targets=targets(blocks),
        configurations=tuple(sorted({(b.target, b.dtype, b.framework) for b in blocks})),
        implementations=implementations(blocks),
        places={dtype: places(blocks, dtype) for dtype in dtypes},
        bases={},
        calibration=Calibration(Bands(Band(0, 0))),
        split=f"groups of ({', '.join(group)}), five folds by CRC-32",
        data=data,
        metrics={},
        versions=versions(),
        rows=sum(map(len, blocks)),
    )
