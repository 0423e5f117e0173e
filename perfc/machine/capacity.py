"""Device memory available to a run; all commands use it.

The driver reports less memory than the board has, as ECC and the driver take part of it. From the
reported size perfc subtracts the user's reserve, the context of the process and a margin for the
error of memory estimates.
"""

from __future__ import annotations

import re

from perfc.errors import ParseError
from perfc.ir import record

from .machine import Machine

GIB = 1 << 30
"""Bytes of a GiB, in which tools print device memory."""
CONTEXT_BYTES = int(0.6 * GIB)
"""Memory of a CUDA context and the libraries of one process. Assumed: half a GiB is usual for a
context alone."""
MARGIN = 0.02
"""Share of the memory that stays free, as estimates have errors and allocators fragment. Estimates
of 90 % of 3,000 measured training steps have smaller ones (`benchmarks/gpu_memory.py`)."""
_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KIB": 1 << 10,
    "MIB": 1 << 20,
    "GIB": GIB,
}
"""Bytes by unit, in upper case; none for plain bytes."""
_WRITTEN = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*(%|[a-z]{0,3})\s*", re.IGNORECASE)
"""A size or share as text: ``2 GiB``, ``10 %``."""


@record
class Reserve:
    """Memory that a user reserves for other uses.

    Args:
        nbytes: fixed amount.
        share: fraction of the usable memory, from 0 to 1.
    """

    nbytes: int = 0
    share: float = 0.0

    @classmethod
    def parse(cls, value: object, where: str = "--reserve") -> Reserve:
        """Return the reserve of a text such as ``2GiB`` or ``5%``; plain numbers are bytes.

        Raises:
            ParseError: neither an amount nor a share below 100 %.
        """
        if isinstance(value, Reserve):
            return value
        # a bool is an int, so that True would be one byte
        text = "" if value is None or isinstance(value, bool) else str(value)
        if value in (None, ""):
            return cls()
        match = _WRITTEN.fullmatch(text)
        unit = match[2].upper() if match else "?"
        if match and unit == "%" and float(match[1]) < 100:
            return cls(share=float(match[1]) / 100)
        if match and unit in _UNITS:
            return cls(int(float(match[1]) * _UNITS[unit]))
        message = f"{text[:32]!r} is no amount of memory"
        raise ParseError(message, where=where, hint="as in 2GiB or 5%")

    def of(self, usable_bytes: int) -> int:
        """Return the reserved bytes of a device, at most all usable ones."""
        return min(self.nbytes + int(self.share * usable_bytes), usable_bytes)

    def __str__(self) -> str:
        """Return the text that `parse` reads."""
        return f"{self.share * 100:g}%" if self.share else f"{self.nbytes}B"


NOTHING = Reserve()
"""No reserve."""


@record
class Capacity:
    """Usable device memory and the parts of it that tensors cannot use.

    Args:
        usable_bytes: memory that the driver reports, minus the reserve.
        context_bytes: bytes of the CUDA context and libraries of one process; 0 on a processor.
        margin_bytes: memory that stays free, for errors of the estimate.
    """

    usable_bytes: int
    context_bytes: int
    margin_bytes: int

    @property
    def process_bytes(self) -> int:
        """Return the maximum bytes of a process, its context included."""
        return self.usable_bytes - self.margin_bytes

    @property
    def tensor_bytes(self) -> int:
        """Return the maximum bytes that a runtime may allocate in a process."""
        return max(self.process_bytes - self.context_bytes, 0)


def capacity_of(machine: Machine, reserve: Reserve = NOTHING) -> Capacity | None:
    """Return the device memory available to a run; None if the target gives no capacity.

    Args:
        machine: target of the run.
        reserve: memory that the user reserves.
    """
    device = machine.level("device")
    if device is None:
        return None
    # the margin is a share of what the reserve leaves
    usable = device.usable_bytes - reserve.of(device.usable_bytes)
    context = 0 if machine.kind == "cpu" else CONTEXT_BYTES
    return Capacity(usable, context, int(MARGIN * usable))
