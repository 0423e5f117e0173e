"""Lower bounds of kernel times, for one kernel or for arrays of kernels."""

from __future__ import annotations

from typing import Any, Protocol

from perfc.ir import DType
from perfc.machine import Machine, Peak, Unit

from ..memory.residency import capacity
from .ceilings import Ceiling, vector_dtype

LEVELS = {"l1": Ceiling.L1, "l2": Ceiling.L2, "device": Ceiling.DEVICE}
"""Ceiling of each memory level by its name in a target."""
NUMBERS = (int, float)
"""Types of one kernel's counts; counts of several kernels are arrays."""
INTEGERS_AT_ONCE = 4
"""Integer operations per 32-bit lane and cycle on packed bytes."""


class Demand(Protocol):
    """Operations and bytes of kernels: numbers, or arrays with one element per kernel."""

    @property
    def floor_mac(self) -> Any:
        """Return multiply–accumulates of the algorithm that needs the fewest."""

    @property
    def alu(self) -> Any:
        """Return the operations of the vector unit."""

    @property
    def sfu(self) -> Any:
        """Return the operations of the special-function unit."""

    @property
    def integer(self) -> Any:
        """Return the operations on integers."""

    @property
    def read_bytes(self) -> Any:
        """Return the compulsory bytes read."""

    @property
    def write_bytes(self) -> Any:
        """Return the compulsory bytes written."""


class Floors:
    """Highest rates of one machine, looked up once per unit and element type.

    Args:
        machine: the target.
        tf32: whether f32 products may use TF32.
    """

    def __init__(self, machine: Machine, *, tf32: bool = True) -> None:
        self.machine, self.tf32 = machine, tf32
        self.entries: dict[tuple[Unit, DType], Peak] = {}
        # the L1 of a CPU keeps data between kernels; that of a GPU does not
        l1_bytes = 0 if machine.kind == "cuda" else capacity(machine, "l1")
        # capacity of the caches before a level, whose hits do not reach it
        before = {Ceiling.L1: 0, Ceiling.L2: l1_bytes, Ceiling.DEVICE: capacity(machine, "l2")}
        self.memory = {
            ceiling: level
            for name, ceiling in LEVELS.items()
            if (level := machine.level(name)) is not None
        }
        self.levels = [(c, m.bandwidth.value, before[c]) for c, m in self.memory.items()]

    def entry(self, unit: Unit, dtype: DType) -> Peak:
        """Return the rates of a unit."""
        key = (unit, dtype)
        peak = self.entries.get(key)
        if peak is None:
            peak = self.machine.entry(unit, dtype.code, allow_tf32=self.tf32)
            self.entries[key] = peak
        return peak

    def times_s(
        self, n: Demand, dtype: DType, *, is_chosen: bool = False, parts: float = 1
    ) -> dict[Ceiling, Any]:
        """Return the lower bound in seconds under each ceiling; ceilings without work are left out.

        All bytes pass L1. A cache that keeps data between kernels may hold a kernel's operands at
        its start and its results at its end: only the excess passes the next level. Rows selected
        by indices may all be the same row.

        Args:
            n: operations and bytes of one launch.
            dtype: element type of the products.
            is_chosen: whether indices select the rows that are read.
            parts: launches in a row over parts of one list, which share what a cache holds.
        """
        times: dict[Ceiling, Any] = {}
        if is_some(n.floor_mac):
            times[Ceiling.MATRIX] = 2 * n.floor_mac / self.entry(Unit.MATRIX, dtype).peak.value
        vector = vector_dtype(dtype)
        if is_some(n.alu):
            times[Ceiling.VECTOR] = n.alu / self.entry(Unit.VECTOR, vector).peak.value
        if is_some(n.sfu):
            times[Ceiling.SPECIAL] = n.sfu / self.entry(Unit.SPECIAL, vector).peak.value
        if is_some(n.integer):
            peak = self.entry(Unit.INTEGER, DType.I32).peak
            times[Ceiling.INTEGER] = n.integer / INTEGERS_AT_ONCE / peak.value
        written = n.write_bytes
        nbytes = n.read_bytes + written
        if not is_some(nbytes):
            return times
        # rows that indices choose may all be one row, so that none need come from beyond L1
        loaded = n.read_bytes * (not is_chosen)
        for ceiling, bytes_per_s, cache_bytes in self.levels:
            least, cache_share = nbytes, cache_bytes / parts
            # Operands at the start and results at the end may each fill the cache before the level.
            # Without a cache all bytes pass: `excess` would return the same, with more operations.
            if ceiling is not Ceiling.L1:
                least = (
                    excess(loaded, cache_share) + excess(written, cache_share)
                    if cache_share
                    else loaded + written
                )
            times[ceiling] = least / bytes_per_s
        return times


def is_some(amount: Any) -> bool:
    """Return True if ``amount`` is an array, or a number other than 0."""
    return not isinstance(amount, NUMBERS) or amount != 0


def excess(nbytes: Any, held_bytes: float) -> Any:
    """Return the bytes that exceed a cache's capacity, or 0.

    Written without a maximum, for both numbers and arrays; halving a double is exact.
    """
    beyond = nbytes - held_bytes
    return (beyond + abs(beyond)) / 2
