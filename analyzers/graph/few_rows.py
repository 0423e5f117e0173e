"""Offsets of a machine from a few of its rows, each pulled towards none.

Bayesian linear regression with Gaussian priors around zero (Lindley & Smith 1972): the noise is
chosen by what is left when each row is left out in turn, which a ridge gives in closed form.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..steps.setting import Mode, Precision
from .kernel_sums import KINDS
from .pooled import SHARES_START

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..classes import Array
    from .rows import Measurements

MACHINE, UNTRAINED, WAY, KIND = 0.25, 0.5, 0.05, 0.2
"""Deviations of offsets: of a machine, of a way of running that nothing was trained on, of others,
of a kind of launches. Round figures, chosen on machines left out among those trained on."""
NOISES = (0.03, 0.06, 0.12, 0.25)
LOG_BATCHES = 8.0
"""Doublings of the batch over which an offset may grow by as much as that of a way."""
NEW, SECOND = (2, 9), (2, 0)
"""Versions of the framework from which on others of its kernels run."""


@dataclass(frozen=True, eq=False)
class Shift:
    """Offsets of the logarithm.

    Args:
        offsets: ``[columns]``.
    """

    offsets: Array

    def __call__(self, table: Array) -> Array:
        """What to add to the logarithm of estimates, ``[rows]``."""
        found: Array = table @ self.offsets
        return found

    @classmethod
    def learned(cls, table: Array, residual: Array, deviations: Array) -> tuple[Shift, Array]:
        """Offsets, and what of each row's residual is left if it is left out.

        Args:
            table: ``[rows, columns]``.
            residual: ``log(measured / estimated)``, ``[rows]``.
            deviations: of the offsets around zero, ``[columns]``.
        """
        import numpy as np

        scaled = table * deviations
        best: tuple[float, Shift, Array] | None = None
        for noise in NOISES:
            inverse = np.linalg.inv(scaled.T @ scaled + np.eye(table.shape[1]) * noise**2)
            offsets = inverse @ (scaled.T @ residual)
            leverage = np.einsum("ij,jk,ik->i", scaled, inverse, scaled)
            left = (residual - scaled @ offsets) / np.maximum(1 - leverage, 1e-3)
            error = float(np.abs(left).mean())
            if best is None or error < best[0]:
                best = error, cls(offsets * deviations), left
        assert best is not None
        return best[1], best[2]


def design(data: Measurements, features: NDArray[np.float32]) -> Array:
    """What offsets multiply: one, batches, ways of running, and shares of kinds of launches."""
    import numpy as np

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
    import numpy as np

    modes = [WAY if m.value in trained else UNTRAINED for m in Mode]
    return np.array([MACHINE, WAY, *modes, *[WAY] * (len(Precision) + 2), *[KIND] * KINDS])
