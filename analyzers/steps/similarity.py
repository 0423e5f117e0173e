"""Residual of a training step from steps with similar launches, by a Gaussian process.

The coordinates of a step are the mean features of its launches, weighted by their shares of the
time. Trees over single launches miss some effects, such as nearly full memory or a library's choice
of algorithm. The residuals that remain are similar for networks with similar launches.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: equation 2.25, the
mean; equation 4.18 with p = 0, the exponential kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.ir import entity

from ..features.distance import squares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

LENGTH_SCALE = 1.0
"""Distance at which similarity is 1/e, in standard deviations of a feature."""
NOISE = 0.2
"""Standard deviation of noise relative to that of the process."""
MOST_ERROR = 0.3
"""Log error at which larger errors are clipped: such a step resembles no other."""
LEAST_WIDTH = 1e-6
"""Standard deviation below which a feature is ignored."""
NAMES = ("centre", "width", "places", "weights")


@entity
class StepErrorProcess:
    """Gaussian process over the log errors of measured steps.

    Args:
        centre: mean of each feature over the steps, ``[features]``.
        width: standard deviation of each feature; infinite if it is the same for all steps.
        places: standardized features of the steps, ``[steps, features]``.
        weights: weight of each step.
    """

    centre: Array
    width: Array
    places: NDArray[np.float32]
    weights: Array

    @classmethod
    def learned(cls, means: Array, error: Array) -> StepErrorProcess:
        """Fit mean features of steps, ``[steps, features]``, to ``log(measured / predicted)``."""
        deviation = means.std(axis=0)
        width = np.where(deviation > LEAST_WIDTH, deviation, np.inf)
        centre = means.mean(axis=0)
        places = ((means - centre) / width).astype(np.float32)
        known = cls(centre, width, places, np.zeros(len(means)))
        kernel = known.similarity(places) + NOISE**2 * np.eye(len(means))
        weights = np.linalg.solve(kernel, np.clip(error, -MOST_ERROR, MOST_ERROR))
        return cls(centre, width, places, np.asarray(weights, np.float64))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Any]) -> StepErrorProcess | None:
        """Return the process stored in arrays of an artefact; None if they have none."""
        if NAMES[-1] not in arrays:
            return None
        return cls(*(np.asarray(arrays[name]) for name in NAMES))

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that `of_arrays` reads."""
        return {name: getattr(self, name) for name in NAMES}

    def error(self, means: Array) -> Array:
        """Return the expected ``log(measured / predicted)``; near 0 far from fitted steps."""
        error: Array = self.similarity((means - self.centre) / self.width) @ self.weights
        return error

    def similarity(self, places: Array) -> Array:
        """Return the similarity to each fitted step: ``exp(-distance / LENGTH_SCALE)``.

        Args:
            places: standardized features, ``[steps, features]``; the result is ``[steps, fitted]``.
        """
        ours, theirs = places.astype(np.float64), self.places.astype(np.float64)
        features = max(int(np.isfinite(self.width).sum()), 1)
        distances = np.sqrt(squares(ours, theirs) / features)
        similarity: Array = np.exp(-distances / LENGTH_SCALE)
        return similarity
