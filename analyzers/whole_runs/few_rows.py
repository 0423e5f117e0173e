"""What offsets of a machine multiply where a few of its whole runs are known, and their priors.

The offsets themselves: `perfc.analyzers.intervals.offsets`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from ..steps.setting import Mode, Precision
from .kernel_sums import KINDS
from .pooled import SHARES_START

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array
    from ..graph.rows import Measurements

MACHINE, UNTRAINED, WAY, KIND = 0.25, 0.5, 0.05, 0.2
"""Deviations of offsets: of a machine, of a way of running that nothing was trained on, of others,
of a kind of launches. Round figures, chosen on machines left out among those trained on."""
LOG_BATCHES = 8.0
"""Doublings of the batch over which an offset may grow by as much as that of a way."""
NEW, SECOND = (2, 9), (2, 0)
"""Versions of the framework from which on others of its kernels run."""


def design(data: Measurements, features: NDArray[np.float32]) -> Array:
    """What offsets multiply: one, batches, ways of running, and shares of kinds of launches."""
    settings = [r.setting for r in data.rows]
    columns = [np.ones(len(data)), np.log2([r.batch for r in data.rows]) / LOG_BATCHES]
    columns += [np.array([float(s.mode is m) for s in settings]) for m in Mode]
    columns += [np.array([float(s.precision is p) for s in settings]) for p in Precision]
    columns += [np.array([float(s.version >= v) for s in settings]) for v in (NEW, SECOND)]
    shares = features[:, SHARES_START : SHARES_START + KINDS].astype(np.float64)
    return np.column_stack([*columns, shares])


def deviations(trained: Collection[str]) -> Array:
    """Of the offsets of `design`.

    Args:
        trained: names of ways of running that something was trained on.
    """
    modes = [WAY if m.value in trained else UNTRAINED for m in Mode]
    return np.array([MACHINE, WAY, *modes, *[WAY] * (len(Precision) + 2), *[KIND] * KINDS])
