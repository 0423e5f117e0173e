"""What steps were off that are made of like launches, as a Gaussian process tells it of another.

A step is where the features of its launches are in the mean, each weighted by its share of the
time. What trees of single launches leave out, as memory that is nearly full or algorithms that a
library chooses, is alike for networks of like launches.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: equation 2.25, the
mean; equation 4.18 with p = 0, the exponential kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..features.distance import squares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

REACH = 1.0
"""Distance at which likeness is 1/e, in standard deviations of a feature."""
NOISE = 0.2
"""Standard deviation of what no likeness tells, over that of what it does."""
MOST_ERROR = 0.3
"""A step that is off by more counts as off by so much: it is unlike all others."""
LEAST_WIDTH = 1e-6
"""Standard deviation below which a feature tells no steps apart."""
NAMES = ("centre", "width", "places", "weights")


@dataclass(frozen=True, eq=False)
class Likeness:
    """Steps whose error is known.

    Args:
        centre: mean of each feature over them.
        width: its standard deviation; infinite where they do not differ in it.
        places: of the steps, ``[steps, features]``, over ``width``.
        weights: of the steps.
    """

    centre: Array
    width: Array
    places: NDArray[np.float32]
    weights: Array

    @classmethod
    def learned(cls, means: Array, error: Array) -> Likeness:
        """From the mean features of steps, ``[steps, features]``, and ``log(true / told)``."""
        deviation = means.std(axis=0)
        width = np.where(deviation > LEAST_WIDTH, deviation, np.inf)
        centre = means.mean(axis=0)
        places = ((means - centre) / width).astype(np.float32)
        known = cls(centre, width, places, np.zeros(len(means)))
        alike = known.alike(places) + NOISE**2 * np.eye(len(means))
        weights = np.linalg.solve(alike, np.clip(error, -MOST_ERROR, MOST_ERROR))
        return cls(centre, width, places, np.asarray(weights, np.float64))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Any]) -> Likeness | None:
        """From further arrays of an artefact; None where it has none."""
        if NAMES[-1] not in arrays:
            return None
        return cls(*(np.asarray(arrays[name]) for name in NAMES))

    def arrays(self) -> dict[str, Any]:
        """What `of_arrays` reads."""
        return {name: getattr(self, name) for name in NAMES}

    def error(self, means: Array) -> Array:
        """``log(true / told)`` that is expected of steps; 0 far from all that are known."""
        found: Array = self.alike((means - self.centre) / self.width) @ self.weights
        return found

    def alike(self, places: Array) -> Array:
        """How alike steps are to those known, ``[steps, known]``, from 0 to 1."""
        ours, theirs = places.astype(np.float64), self.places.astype(np.float64)
        features = max(int(np.isfinite(self.width).sum()), 1)
        apart = np.sqrt(squares(ours, theirs) / features)
        found: Array = np.exp(-apart / REACH)
        return found
