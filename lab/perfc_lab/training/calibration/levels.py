"""Calibrate the intervals of estimates for callers who do not name the framework of a kernel.

Such an estimate is a mixture over the kernels that it may be. The level of a measured time is the
share of that mixture below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.artefacts.artefact import Artefact
from perfc.analyzers.estimators.predictor import possible
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of, complete
from perfc.analyzers.intervals.conformal import LEVELS, Band
from perfc.machine import load_machine

from ...data.rows import Rows
from ..evaluate import CallerContext
from .bands import of_category

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

ROWS = 1_500
"""Maximum held-out rows of a block, drawn at random, so that large blocks do not dominate."""
UNSAID = (CallerContext.CHOICES, CallerContext.NOTHING)
"""Contexts of callers in which several kernels are possible."""


def levels(turns: Sequence[tuple[Artefact, Sequence[Rows]]]) -> Mapping[str, Band]:
    """Return the levels between which 90 % of held-out rows are, by category, ``""`` for all rows.

    If mixtures are right, the levels of measured times are uniform between 0 and 1, and the
    interval is from 0.05 to 0.95. Otherwise it follows from the levels of held-out rows. Source:
    Chernozhukov, Wüthrich and Zhu, "Distributional conformal prediction", PNAS 2021.

    Args:
        turns: weights, each with rows that its forest was not grown from.
    """
    arrays = [
        _levels(artefact, context.of(block))
        for artefact, blocks in turns
        if artefact.card.implementations
        for few in [thinned(blocks)]
        for context in UNSAID
        for block in context.among(few)
    ]
    shares = np.concatenate([np.zeros(0), *(share for share, _ in arrays)])
    if not len(shares):
        return {"": LEVELS}
    category = np.concatenate([categories for _, categories in arrays])
    bands = {"": of_category(shares, shares)}
    for index, name in enumerate(class_of(turns[0][0].card.class_name).categories):
        of_index = shares[category == index]
        if len(of_index):
            bands[name] = of_category(of_index, shares)
    return {name: _sound(interval) for name, interval in bands.items()}


FURTHEST_LEVEL = 1e-4
"""Minimum share of a mixture below an interval, and above it."""


def _sound(band: Band) -> Band:
    """Return levels clipped: one below the median and one above it, neither of them 0 or 1."""
    least = FURTHEST_LEVEL
    return Band(min(max(band.low, least), 0.5 - least), max(min(band.high, 1 - least), 0.5 + least))


def thinned(blocks: Sequence[Rows]) -> list[Rows]:
    """Return at most `ROWS` rows of each block, drawn at random."""
    rng = np.random.default_rng(0)
    return [block.take(rng.permutation(len(block))[:ROWS]) for block in blocks]


def _levels(artefact: Artefact, rows: Rows) -> tuple[Array, NDArray[np.intp]]:
    """Return the levels of rows that may be of several kernels, and their categories."""
    kind = class_of(rows.class_name)
    sheet = Sheet(load_machine(rows.target))
    columns = complete(kind, rows.columns)
    each, _ = possible(artefact, columns, rows.dtype, sheet, rows.protocol, rows.framework)
    # rows with one possible kernel have a plain prediction, whose band is calibrated elsewhere
    several = each.count > 1
    category = kind.category(columns, rows.dtype, sheet, rows.protocol)
    return each.below(np.log(rows.time_s))[several], category[several]
