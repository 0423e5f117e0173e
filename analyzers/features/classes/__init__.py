"""Interface of kernel classes, whose efficiency forests learn: one file each, found by import.

A class defines work, features and a physical estimate (``scale_s``) of its kernels; the forest
predicts the logarithm of measured time over that estimate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from perfc.common.declared import instances, instances_in
from perfc.ir import record

from .. import physics, power_limit
from ..distance import coordinates
from ..rows import Protocol
from ..sheet import Sheet

Array = NDArray[np.float64]
Columns = Mapping[str, Array]
"""Arrays by the names of columns, each with one element per kernel."""


@record
class Amounts:
    """Counts of work: arrays with one element per kernel, for one launch each.

    Args:
        mac: multiply-accumulates.
        floor_mac: fewest multiply-accumulates that any algorithm needs, for lower bounds: fewer
            than ``mac`` with minimal filtering (Winograd) or masked pairs.
        alu: operations on vector units.
        sfu: transcendental functions.
        read_bytes: bytes read, each once.
        write_bytes: bytes written, each once.
        integer: integer operations.
    """

    mac: Array
    floor_mac: Array
    alu: Array
    sfu: Array
    read_bytes: Array
    write_bytes: Array
    integer: float = 0.0


def of_products(mac: Array, floor_mac: Array, read_bytes: Array, write_bytes: Array) -> Amounts:
    """Return the counts of kernels that only multiply and accumulate."""
    nothing = np.zeros_like(mac)
    return Amounts(mac, floor_mac, nothing, nothing, read_bytes, write_bytes)


class KernelClass(ABC):
    """One class of kernels: its shape parameters, work, features and physical estimate.

    All methods take the rows of one element type on one machine, with every column of
    ``parameters`` and ``optional``; extents are floats. No method depends on the source of rows.
    """

    name: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]]
    """Columns that every row has, such as ``("m", "n", "k")``."""
    optional: ClassVar[Mapping[str, float]] = {}
    """Columns that a row may leave out, with their defaults."""
    by_framework: ClassVar[tuple[str, ...]] = ()
    """Columns of ``optional`` that the framework decides and no model file contains: the family of
    the kernel, how it quantises."""
    untuned: ClassVar[frozenset[tuple[float, ...]]] = frozenset()
    """Values of the ``by_framework`` columns, in order, of kernels that were timed without the
    autotuner that engines run. They are predicted only for rows that have these values."""
    chosen_by: ClassVar[tuple[str, ...]] = ()
    """Other parameters, of few values each, by which frameworks choose a kernel; the most
    informative first."""
    derived: ClassVar[tuple[str, ...]] = ()
    """Extents that follow from the other columns up to a remainder (an input's extent from the
    result's, the stride and the padding), so that they distinguish no kernels."""
    increasing: ClassVar[tuple[str, ...]] = ()
    """Features in which time over ``scale_s`` may only rise, for physical reasons."""
    categories: ClassVar[tuple[str, ...]] = ()
    """Kinds of rows whose intervals are calibrated separately; empty for all together."""

    @abstractmethod
    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the operations and compulsory bytes."""

    @abstractmethod
    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return the features that efficiency may depend on, by name.

        Ratios are preferred to absolute sizes: on machines without rows they stay within the
        range of the training rows.
        """

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return a physical estimate in seconds, which the forest's factor corrects.

        By default it is the roofline time plus a launch.
        """
        bound = physics.roofline_s(self.amounts(rows, dtype), dtype, sheet)
        return bound + physics.latency_s(protocol, sheet)

    def category(
        self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol
    ) -> NDArray[np.intp]:
        """Return the index into ``categories`` of every row; 0 where there are none."""
        return np.zeros(len(rows[self.parameters[0]]), np.intp)

    def place(self, sheet: Sheet, dtype: str) -> tuple[float, ...]:
        """Return coordinates of a machine, by whose distances measured machines are compared.

        See `perfc.analyzers.features.distance`.
        """
        return coordinates(sheet, dtype)

    def powered_s(self, rows: Columns, dtype: str, sheet: Sheet) -> Array:
        """Return the least time of large products within the board's power limit."""
        return power_limit.products_s(self.amounts(rows, dtype).mac, dtype, sheet)

    def stated_s(self, rows: Columns, sheet: Sheet) -> tuple[Array, Array, Array] | None:
        """Return low, expected and high time, in seconds, of rows that have a law and no forest.

        NaN for other rows; None if no row has a law.
        """
        return None

    def floor_s(self, rows: Columns, dtype: str, sheet: Sheet) -> Array:
        """Return the lower bound on the time of each kernel."""
        return physics.floor_s(self.amounts(rows, dtype), dtype, sheet)


@cache
def named(name: str) -> KernelClass | None:
    """Return the class of a name, from the file of that name; None if there is none.

    Files of other classes are not imported, which would take longer.
    """
    # a name may come from a file: only identifiers become module names
    path = f"{__name__}.{name}"
    if not name.isidentifier() or find_spec(path) is None:
        return None
    declared = instances_in(import_module(path), KernelClass)
    # a file may also import other classes, such as its base
    return next((kernel_class for kernel_class in declared if kernel_class.name == name), None)


@cache
def classes() -> Mapping[str, KernelClass]:
    """Return every class by its name."""
    return {instance.name: instance for instance in instances(__name__, KernelClass)}
