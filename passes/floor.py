"""No kernel is faster: the one statement of it, for one kernel or for columns of many."""

from __future__ import annotations

from typing import Any, Protocol

from perfc.ir.types import DType
from perfc.machine import Machine, Peak, Unit

from .ceilings import Ceiling, vector_dtype
from .residency import capacity

LEVELS = {"l1": Ceiling.L1, "l2": Ceiling.L2, "device": Ceiling.DEVICE}
INTEGERS_AT_ONCE = 4
"""Integer operations that a lane of 32 bits may do on packed bytes."""


class Demand(Protocol):
    """What kernels do, each a number or an array with one element a kernel."""

    @property
    def floor_mac(self) -> Any:
        """Multiply–accumulates of the algorithm that needs fewest."""

    @property
    def alu(self) -> Any:
        """Operations of the vector unit."""

    @property
    def sfu(self) -> Any:
        """Operations of the special-function unit."""

    @property
    def integer(self) -> Any:
        """Operations on integers."""

    @property
    def read_bytes(self) -> Any:
        """Compulsory bytes read."""

    @property
    def write_bytes(self) -> Any:
        """Compulsory bytes written."""


class Floors:
    """Best rates of one machine, looked up once for each unit and element type.

    Args:
        machine: whose rates.
        tf32: whether products of f32 may use TF32.
    """

    def __init__(self, machine: Machine, *, tf32: bool = True) -> None:
        self.machine, self.tf32 = machine, tf32
        self.entries: dict[tuple[Unit, DType], Peak] = {}
        self.near, self.far = capacity(machine, "l1"), capacity(machine, "l2")
        found = {ceiling: machine.level(name) for name, ceiling in LEVELS.items()}
        self.levels = {ceiling: level for ceiling, level in found.items() if level is not None}

    def entry(self, unit: Unit, dtype: DType) -> Peak:
        """Rates of a unit."""
        key = (unit, dtype)
        if key not in self.entries:
            self.entries[key] = self.machine.entry(unit, dtype.code, allow_tf32=self.tf32)
        return self.entries[key]

    def times_s(self, n: Demand, dtype: DType, *, is_chosen: bool = False) -> dict[Ceiling, Any]:
        """Seconds that each ceiling takes at best; a number that is 0 takes none and is left out.

        All bytes pass L1. A kernel may find a cache full of what it reads and leave one full of
        what it writes, so that only the rest reaches device memory, and on processors, whose L1
        outlives a kernel, L2. Rows that indices choose may all be one.

        Args:
            n: operations and bytes of one launch.
            dtype: element type of the products.
            is_chosen: whether indices choose the rows that are read.
        """
        vector = vector_dtype(dtype)
        units = (
            (Ceiling.MATRIX, Unit.MATRIX, dtype, 2 * n.floor_mac),
            (Ceiling.VECTOR, Unit.VECTOR, vector, n.alu),
            (Ceiling.SPECIAL, Unit.SPECIAL, vector, n.sfu),
            (Ceiling.INTEGER, Unit.INTEGER, DType.I32, n.integer / INTEGERS_AT_ONCE),
        )
        found = {
            ceiling: amount / self.entry(unit, type_).peak.value
            for ceiling, unit, type_, amount in units
            if is_some(amount)
        }
        nbytes = n.read_bytes + n.write_bytes
        if not is_some(nbytes):
            return found
        far = n.read_bytes * (not is_chosen)
        passing = far + n.write_bytes
        if self.machine.kind != "cuda":
            passing = excess(far, self.near) + excess(n.write_bytes, self.near)
        least = {
            Ceiling.L1: nbytes,
            Ceiling.L2: passing,
            Ceiling.DEVICE: excess(far, self.far) + excess(n.write_bytes, self.far),
        }
        for ceiling, level in self.levels.items():
            found[ceiling] = least[ceiling] / level.bandwidth.value
        return found


def is_some(amount: Any) -> bool:
    """Whether it is an array, or a number other than 0."""
    return not isinstance(amount, int | float) or bool(amount)


def excess(nbytes: Any, held_bytes: int) -> Any:
    """Bytes that pass a cache whatever it held: 0 or what is more than its capacity.

    Written without a maximum, for numbers and arrays alike; halving a double is exact.
    """
    beyond = nbytes - held_bytes
    return (beyond + abs(beyond)) / 2
