"""Rates that a board keeps up over whole networks, from its data sheet alone.

A sheet states what memory, multiprocessors and tensor cores reach each alone and at the boost
clock. Under whole networks a board is at its power limit, and kernels that a roofline calls bound
by memory also take time in the multiprocessors that move the bytes. A board of twice the bandwidth
and as many cycles a second is therefore not twice as fast.
"""

from __future__ import annotations

from functools import cached_property

from perfc.ir.record import frozen

from . import power_limit
from .sheet import Sheet

MEMORY_SHARE = 0.8
"""Of the logarithm of an effective bandwidth, what device memory decides; multiprocessors the rest.

Chosen on RTX 3090, RTX 4090 and RTX PRO 6000 Max-Q, each left out in turn: 0.9 to 0.7 differ by
less than 3 points there, 1 is twice as far off (`docs/accuracy/notes/graph.md`).
"""
PORT_BYTES = 16 / 3
"""That a multiprocessor moves a clock, as far as boards are compared; multipliers take the rest."""


@frozen
class SustainedSheet(Sheet):
    """A machine as features: what it keeps up, where `Sheet` has what is stated.

    >>> from perfc.machine import load_machine
    >>> board = load_machine("rtx-pro-6000-max-q")
    >>> f"{Sheet(board).device_bytes_per_s:.2e}, {SustainedSheet(board).device_bytes_per_s:.2e}"
    '1.79e+12, 1.78e+12'
    """

    def matrix_flop_per_s(self, dtype: str, *, tf32: bool = True) -> float:
        """What the board's power leaves of the stated rate."""
        stated = super().matrix_flop_per_s(dtype, tf32=tf32)
        return min(stated, power_limit.flop_per_s(dtype, Sheet(self.machine)))

    def vector_flop_per_s(self, dtype: str) -> float:
        """Rate outside the matrix unit, at the base clock."""
        return super().vector_flop_per_s(dtype) * self.base_clock_share

    @cached_property
    def device_bytes_per_s(self) -> float:
        """Bandwidth of memory and multiprocessors, a weighted geometric mean."""
        memory = Sheet(self.machine).device_bytes_per_s
        ports = PORT_BYTES * self.sm_count * self.clock_hz * self.base_clock_share
        return memory**MEMORY_SHARE * ports ** (1 - MEMORY_SHARE) if ports > 0 else memory
