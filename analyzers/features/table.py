"""Build the table of features that a forest reads, with physical estimates and lower bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perfc.errors import PerfcError
from perfc.ir import entity

from .classes import Array, Columns, KernelClass, classes, named
from .rows import Protocol
from .sheet import Sheet

FRAMEWORK = "framework="
"""Prefix of the name of a feature that is 1 for kernels of one framework, else 0."""
PROTOCOL = "protocol="
"""Prefix of the name of a feature that is 1 for times by one protocol, else 0."""


class KernelError(PerfcError):
    """Kernels that no class describes."""


@entity
class KernelBatch:
    """Features of kernels of one class, element type and machine, as forests read them.

    Args:
        names: names of the features.
        values: features, ``[kernels, features]``.
        scale_s: physical estimate in seconds, which the forest corrects.
        floor_s: lower bound in seconds.
        category: index into the class's ``categories``; intervals are calibrated for each.
    """

    names: tuple[str, ...]
    values: NDArray[np.float32]
    scale_s: Array
    floor_s: Array
    category: NDArray[np.intp]

    def column(self, name: str) -> NDArray[np.float32]:
        """Return the values of a feature, ``[kernels]``."""
        return self.values[:, self.names.index(name)]

    @classmethod
    def joined(cls, parts: Sequence[KernelBatch]) -> KernelBatch:
        """Return one batch of the rows of several batches, which have the same features."""
        return cls(
            parts[0].names,
            np.concatenate([p.values for p in parts]),
            np.concatenate([p.scale_s for p in parts]),
            np.concatenate([p.floor_s for p in parts]),
            np.concatenate([p.category for p in parts]),
        )


def class_of(name: str) -> KernelClass:
    """Return the kernel class of a name.

    Raises:
        KernelError: there is no class of this name.
    """
    kind = named(name)
    if kind is None:
        raise KernelError(f"no class of kernels {name!r}", hint=f"there are {', '.join(classes())}")
    return kind


def complete(kind: KernelClass, rows: Columns) -> Columns:
    """Return the parameters of a class as float columns.

    Optional parameters that are missing or NaN have their default.

    Raises:
        KernelError: a required parameter is missing; a value is negative, infinite or NaN; or
            columns differ in length.
    """
    columns: dict[str, Array] = {}
    for name in kind.parameters:
        if name not in rows:
            raise KernelError(f"{kind.name} without {name!r}")
        columns[name] = np.asarray(rows[name], np.float64)
    count = len(columns[kind.parameters[0]])
    for name, value in kind.optional.items():
        given = rows.get(name)
        column = np.full(count, value) if given is None else np.asarray(given, np.float64)
        columns[name] = np.where(np.isnan(column), value, column)
    for name, column in columns.items():
        # a NaN that is left is in a required column, which has no default
        if len(column) != count or not bool((np.isfinite(column) & (column >= 0)).all()):
            raise KernelError(f"{kind.name}: {name!r} holds what is no extent")
    return columns


def tabulate(
    kind: KernelClass,
    rows: Columns,
    dtype: str,
    sheet: Sheet,
    protocol: Protocol,
    framework: str = "",
    frameworks: tuple[str, ...] = (),
    protocols: tuple[Protocol, ...] = (),
) -> KernelBatch:
    """Return the features, physical estimates and lower bounds of kernels.

    Args:
        kind: class of the kernels.
        rows: parameters of the class, one column each.
        dtype: element type of the arithmetic.
        sheet: sheet of the machine.
        protocol: timing protocol of the prediction.
        framework: framework of the kernels; one outside ``frameworks`` counts as unknown.
        frameworks: frameworks of the training rows; one feature each if there are several.
        protocols: protocols of the training rows; one feature each if there are several.
    """
    columns = complete(kind, rows)
    features = dict(kind.features(columns, dtype, sheet))
    count = len(columns[kind.parameters[0]])
    # with a single protocol or framework the feature would be constant in the training rows
    if len(protocols) > 1:
        for p in protocols:
            features[PROTOCOL + p.value] = np.full(count, float(p is protocol))
    if len(frameworks) > 1:
        for name in frameworks:
            features[FRAMEWORK + name] = np.full(count, float(name == framework))
    # float32, as the forest's thresholds are
    values = np.empty((count, len(features)), np.float32)
    for index, column in enumerate(features.values()):
        values[:, index] = column
    return KernelBatch(
        tuple(features),
        values,
        kind.scale_s(columns, dtype, sheet, protocol),
        kind.floor_s(columns, dtype, sheet),
        kind.category(columns, dtype, sheet, protocol),
    )
