"""Design matrix and priors for adapting whole-run predictors to a machine by a few of its runs.

`perfc.analyzers.intervals.offsets` fits the offsets, the coefficients of the columns.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from perfc.common.fitted import constants_next_to

from ..features.classes import Array
from ..graph.rows import Measurements
from ..steps.setting import Precision, RunMode
from .kernel_sums import KINDS
from .pooled import SHARES_START

# the rows on which these constants were chosen are in ``constants.toml`` of this folder
_FITTED = constants_next_to(__file__)
_DEVIATIONS, _BY_MODE = (_FITTED[n].by_name for n in ("offset_deviations", "mode_deviations"))
MACHINE, UNTRAINED = _DEVIATIONS["machine"], _DEVIATIONS["untrained"]
WAY, KIND = _DEVIATIONS["way"], _DEVIATIONS["kind"]
"""Prior standard deviations of logarithmic offsets: of a machine, of an execution mode without
training rows (``UNTRAINED``), of other modes (``WAY``), of a kind of launches."""
LIKE = _FITTED["offset_like"].number
"""Prior standard deviation of the similarity to a machine of the training rows."""
AGE, KIND_OF_WAY = _BY_MODE["age"], _BY_MODE["kind"]
"""Prior deviations of a mode at an age (range of framework versions), and of a kind of launches in
a mode."""
LOG_BATCHES = _FITTED["log_batches"].number
"""Doublings of the batch over which an offset may grow by as much as that of a mode."""
AGES = ((2, 0), (2, 9))
"""First versions of PyTorch whose kernels differ from those before. They bound three ages: before
2.0, from 2.0, and from 2.9; all runs of one age share an offset."""


def design(data: Measurements, features: NDArray[np.float32], like: Array) -> Array:
    """Return the design matrix of the offsets, ``[rows, columns]``.

    Columns are a constant, the batch, execution modes, precisions, ages of the framework and shares
    of kinds of launches. Then follow the relative times on training machines, modes per age, and
    the shares again for compiled, channels-last and old-framework rows.

    Args:
        data: measured rows of the machine.
        features: pooled features of the rows.
        like: logarithm of the predicted time on each training machine over that on the row's
            machine, ``[rows, machines]``.
    """
    settings = [r.setting for r in data.rows]
    ages = np.array([sum(s.version >= v for v in AGES) for s in settings], np.int64)
    modes = np.array([[s.mode is m for m in RunMode] for s in settings]).reshape(-1, len(RunMode))
    columns = [np.ones(len(data)), np.log2([r.batch for r in data.rows]) / LOG_BATCHES]
    columns += [modes[:, i].astype(np.float64) for i in range(len(RunMode))]
    columns += [np.array([float(s.precision is p) for s in settings]) for p in Precision]
    # cumulative: a newer version adds its difference from the one before
    columns += [(ages >= age).astype(np.float64) for age in range(1, len(AGES) + 1)]
    shares = features[:, SHARES_START : SHARES_START + KINDS].astype(np.float64)
    at_age = [
        (modes[:, i] & (ages == age)).astype(np.float64)
        for i in range(len(RunMode))
        for age in range(len(AGES) + 1)
    ]
    conditions = (
        np.array([s.compiled for s in settings], np.bool_),
        np.array([s.channels_last for s in settings], np.bool_),
        ages == 0,
    )
    return np.column_stack(
        [
            *columns,
            shares,
            like,
            *at_age,
            *(shares * condition[:, None] for condition in conditions),
        ]
    )


def deviations(trained: Collection[str], machines: int) -> Array:
    """Return the prior standard deviations of the offsets of `design`, ``[columns]``.

    Args:
        trained: names of the execution modes of the training rows.
        machines: number of training machines.
    """
    # in the order of the columns of `design`: constant, batch, modes, precisions, ages, shares,
    # machines, modes per age, shares under three conditions
    modes = [WAY if m.value in trained else UNTRAINED for m in RunMode]
    plain = [MACHINE, WAY, *modes, *[WAY] * (len(Precision) + len(AGES)), *[KIND] * KINDS]
    at_age = [AGE] * (len(RunMode) * (len(AGES) + 1))
    return np.array([*plain, *[LIKE] * machines, *at_age, *[KIND_OF_WAY] * (3 * KINDS)])
