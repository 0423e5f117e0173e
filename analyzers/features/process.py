"""Gaussian process of several terms that estimates a quantity from similar measured rows.

Predictors of whole runs correct physical times with it: the logarithm of the correction is a sum of
functions, one per term of a `SimilarityAspects`. The similarity of two rows in an aspect is between
0 and 1; in a term it is the product over the aspects of the term. Far from all rows the sum is 0.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: equation 2.25, the
mean; equation 2.26, the deviation; equation 4.17, similarity with a length scale for each column;
equation 4.9, similarity with one length scale for all columns. Gramacy and Apley, "Local Gaussian
Process Approximation for Large Computer Experiments", 2015, section 2: a few similar rows are
enough to compute the deviation of a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.ir import entity, record

from .distance import squares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .classes import Array

NOBODY = -1
"""Model number of a row that is predicted and belongs to no measured model."""
NUMBERS = ("centre", "width", "amplitudes", "weights")
"""Names of the arrays of a stored process other than the noise and those of `RowPositions`."""
NOISE = "noise"
"""Name of the array of the noise, which a file may lack."""
LOCAL = 50
"""Number of the most similar known rows from which the deviation of a row is computed: the time to
solve for them grows with its third power."""
LEAST_DEVIATION = 1e-3
"""Minimum deviation: for a row that is itself measured, rounding may give a negative variance."""
PLACED = ("kinds", "places")
"""Names of the arrays of `RowPositions`."""


@record
class Near:
    """An aspect in which rows at near places are similar.

    Args:
        columns: columns of the places that it compares.
        has_each: True if each column has a separate length scale (a Matérn kernel of order 3/2),
            False if all columns have one (a squared exponential).
        start: logarithm of the length scale from which the fit starts its search.
        is_one_unit: True if all columns have one unit, and are not divided by their deviations.
        shared: least similarity of rows of the same group.
        group: index of the number of a row's group among the kinds of the row.
        is_share: True if the column is the share of the quantity to which the term applies: the
            covariance of two rows has the product of their shares.
    """

    columns: slice
    has_each: bool = False
    start: float = 0.0
    is_one_unit: bool = False
    shared: float = 0.0
    group: int = 0
    is_share: bool = False


@entity
class SimilarityAspects:
    """Aspects in which rows are compared.

    Args:
        terms: aspects of each term.
        kinds: for aspects in which rows are either equal or different, the indices of the kinds
            that must agree.
        near: settings of the other aspects, in which rows are similar by distance.
        columns: number of columns of places.
        model: aspect in which rows of the same model are equal. The number of a row's model is the
            last of its kinds; it is `NOBODY` for a row that is predicted.
    """

    terms: tuple[tuple[Enum, ...], ...]
    kinds: Mapping[Enum, tuple[int, ...]]
    near: Mapping[Enum, Near]
    columns: int
    model: Enum

    @property
    def numbers(self) -> int:
        """Return the number of kinds that a row has."""
        return 1 + max(max(indices) for indices in self.kinds.values())


@entity
class RowPositions:
    """Positions of rows, by which they are compared.

    Args:
        kinds: numbers of the categories of each row, ``[rows, numbers]``.
        places: coordinates, ``[rows, columns]``.
        memo: cache of `part`.
    """

    kinds: NDArray[np.float32]
    places: NDArray[np.float32]
    memo: dict[tuple[int, int], tuple[Array, Array]] = field(default_factory=dict, repr=False)

    def part(self, columns: slice) -> tuple[Array, Array]:
        """Return some columns and the square of each row's length in them, computed once."""
        key = columns.start, columns.stop
        if key not in self.memo:
            places = self.places[:, columns].astype(np.float64)
            self.memo[key] = places, (places**2).sum(axis=1)
        return self.memo[key]

    def take(self, chosen: NDArray[Any]) -> RowPositions:
        """Return the chosen rows."""
        return RowPositions(self.kinds[chosen], self.places[chosen])


def similarities(
    form: SimilarityAspects, mine: RowPositions, theirs: RowPositions
) -> dict[Enum, Array]:
    """Return the similarity of rows in each aspect, ``[mine, theirs]``, from 0 to 1.

    Args:
        form: aspects to compare.
        mine: rows, with places in units of length scales.
        theirs: other rows, with places in the same units.
    """
    equal = [a[:, None] == b for a, b in zip(mine.kinds.T, theirs.kinds.T, strict=True)]
    result: dict[Enum, Array] = {
        aspect: reduce(and_, [equal[i] for i in indices]).astype(np.float64)
        for aspect, indices in form.kinds.items()
    }
    # two rows without a model are not of the same model
    result[form.model] *= mine.kinds[:, -1][:, None] != NOBODY
    for aspect, near in form.near.items():
        if near.is_share:
            shares = [rows.part(near.columns)[0] for rows in (mine, theirs)]
            # one column of each, so that the result is the product of both shares
            result[aspect] = shares[0] @ shares[1].T
            continue
        square = squares(*mine.part(near.columns), *theirs.part(near.columns))
        # equation 4.17, or equation 4.9 with its factor 1/2 as a part of the length scale
        scaled = np.sqrt(3.0 * square)
        similar = (1.0 + scaled) * np.exp(-scaled) if near.has_each else np.exp(-square)
        if near.shared:
            similar = near.shared * equal[near.group] + (1.0 - near.shared) * similar
        result[aspect] = similar
    return result


def term(aspects: Sequence[Enum], similarity: Mapping[Enum, Array]) -> Array | float:
    """Return the similarity of rows in a term: the product over its aspects."""
    product: Array | float = 1.0
    for aspect in aspects:
        product = product * similarity[aspect]
    return product


@entity
class Process:
    """A fitted Gaussian process: measured rows and the weights of their covariances.

    Args:
        form: aspects to compare.
        centre: mean of each column.
        width: length scale of each column; infinite where rows do not differ.
        amplitudes: standard deviation of each term.
        known: measured rows, with places less ``centre`` and over ``width``.
        weights: weight of each measured row, ``(K + noise²)⁻¹ y`` of equation 2.25.
        noise: standard deviation that no aspect explains; NaN if the file has none.
    """

    form: SimilarityAspects
    centre: Array
    width: Array
    amplitudes: Array
    known: RowPositions
    weights: Array
    noise: float = np.nan

    @classmethod
    def read(cls, form: SimilarityAspects, arrays: Mapping[str, Any]) -> Process:
        """Return the process that the arrays of an artefact describe.

        Raises:
            KeyError, ValueError: an array is missing or has another shape.
        """
        centre, width, amplitudes, weights = (
            np.asarray(arrays[name], np.float64) for name in NUMBERS
        )
        kinds, places = (np.asarray(arrays[name], np.float32) for name in PLACED)
        rows, columns = len(weights), form.columns
        wanted = [(columns,)] * 2 + [(len(form.terms),), (rows, form.numbers), (rows, columns)]
        # arrays of another shape in a file could broadcast without an error
        if [a.shape for a in (centre, width, amplitudes, kinds, places)] != wanted:
            raise ValueError("rows of another shape")
        (noise,) = np.asarray(arrays.get(NOISE, [np.nan]), np.float64).reshape(-1)
        return cls(
            form, centre, width, amplitudes, RowPositions(kinds, places), weights, float(noise)
        )

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that `read` reads."""
        return {
            "centre": self.centre.astype(np.float32),
            "width": self.width.astype(np.float32),
            "amplitudes": self.amplitudes.astype(np.float32),
            "kinds": self.known.kinds,
            "places": self.known.places.astype(np.float16),
            "weights": self.weights.astype(np.float32),
            NOISE: np.array([self.noise], np.float32),
        }

    def placed(self, rows: RowPositions) -> RowPositions:
        """Return rows with places in units of length scales."""
        return RowPositions(
            rows.kinds, ((rows.places - self.centre) / self.width).astype(np.float32)
        )

    def beyond(self, rows: RowPositions) -> Array:
        """Return the expected logarithm of the correction of each row, ``[rows]``."""
        expected: Array = self.with_known(rows) @ self.weights
        return expected

    def with_known(self, rows: RowPositions) -> Array:
        """Return the covariance of rows with the known ones, ``[rows, known]``."""
        return self.covariance(self.placed(rows), self.known)

    def deviation(self, rows: RowPositions, covariance: Array) -> Array:
        """Return the standard deviation of measured values from `beyond`, ``[rows]``.

        Args:
            rows: rows to predict.
            covariance: result of `with_known` for these rows.
        """
        explained = np.array([self._known_of(row) for row in covariance])
        deviation: Array = np.sqrt(np.maximum(self.prior(rows) - explained, LEAST_DEVIATION**2))
        return deviation

    def prior(self, rows: RowPositions) -> Array:
        """Return the variance of rows without any measured row, ``[rows]``."""
        near = self.form.near.items()
        shares = {a: rows.places[:, n.columns].T[0] ** 2 for a, n in near if n.is_share}
        total: Array = np.full(len(rows.kinds), self.noise**2)
        for amplitude, aspects in zip(self.amplitudes, self.form.terms, strict=True):
            # the similarity of a row to itself is 1, but the square of the share for shares
            total += amplitude**2 * term([a for a in aspects if a in shares], shares)
        return total

    def _known_of(self, covariance: Array) -> float:
        """Return the variance of a row that the rows most similar to it explain.

        ``covariance`` has its covariances with all known rows.
        """
        near = np.argsort(-covariance, kind="stable")[:LOCAL]
        local = self.known.take(near)
        # variance that is subtracted in equation 2.26
        among = self.covariance(local, local)
        among[np.diag_indices_from(among)] += self.noise**2
        return float(covariance[near] @ np.linalg.solve(among, covariance[near]))

    def covariance(self, mine: RowPositions, theirs: RowPositions) -> Array:
        """Return the covariance of rows with scaled places, ``[mine, theirs]``."""
        similarity = similarities(self.form, mine, theirs)
        total: Array = np.zeros((len(mine.places), len(theirs.places)))
        for amplitude, aspects in zip(self.amplitudes, self.form.terms, strict=True):
            total += amplitude**2 * term(aspects, similarity)
        return total
