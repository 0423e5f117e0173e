"""The bandwidth that a board keeps up over whole networks, from its data sheet alone.

A sheet states what memory reaches alone. Kernels that a roofline calls bound by memory also take
time in the multiprocessors that move the bytes, at the clock that the board's power leaves. A board
of twice the bandwidth and as many cycles a second is therefore not twice as fast.
"""

from __future__ import annotations

from functools import cached_property

from perfc.common.fitted import constants_next_to
from perfc.ir import frozen

from .sheet import Sheet

MEMORY_SHARE = constants_next_to(__file__)["memory_share"].number
"""Weight of device memory in the logarithm of an effective bandwidth, besides multiprocessors."""
PORT_BYTES = 16 / 3
"""Bytes per clock that a multiprocessor moves, for comparing boards; multipliers take the rest."""


@frozen
class EffectiveSheet(Sheet):
    """A machine as features: its sustained bandwidth, where `Sheet` has the rated one.

    >>> from perfc.machine import load_machine
    >>> board = load_machine("rtx4090")
    >>> f"{Sheet(board).device_bytes_per_s:.2e}, {EffectiveSheet(board).device_bytes_per_s:.2e}"
    '1.01e+12, 1.10e+12'
    """

    @cached_property
    def device_bytes_per_s(self) -> float:
        """Return the geometric mean of the bandwidths of memory and of multiprocessors."""
        memory = Sheet(self.machine).device_bytes_per_s
        ports = PORT_BYTES * self.sm_count * self.clock_hz * self.base_clock_share
        return memory**MEMORY_SHARE * ports ** (1 - MEMORY_SHARE) if ports > 0 else memory
