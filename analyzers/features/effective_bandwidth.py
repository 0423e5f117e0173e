"""Effective bandwidth of a board over whole networks, from its data sheet alone.

The data sheet has the rate of device memory. Kernels that a roofline calls memory-bound also take
time in the multiprocessors that move the bytes, at the clock that the board's power limit allows. A
board with twice the bandwidth, but as many multiprocessors at the same clock, is therefore not
twice as fast.
"""

from __future__ import annotations

from functools import cached_property

from perfc.common.fitted import constants_next_to
from perfc.ir import frozen

from .sheet import Sheet

MEMORY_SHARE = constants_next_to(__file__)["memory_share"].number
"""Weight of device memory in the logarithm of an effective bandwidth; multiprocessors have the
rest."""
PORT_BYTES = 16 / 3
"""Bytes per clock that a multiprocessor moves. Its value does not matter, as it is the same on all
boards and factors of laws include any constant; only ratios between boards do."""


@frozen
class EffectiveSheet(Sheet):
    """A data sheet for features, with the effective bandwidth instead of the rated one.

    >>> from perfc.machine import load_machine
    >>> board = load_machine("rtx4090")
    >>> f"{Sheet(board).device_bytes_per_s:.2e}, {EffectiveSheet(board).device_bytes_per_s:.2e}"
    '1.01e+12, 1.10e+12'
    """

    @cached_property
    def device_bytes_per_s(self) -> float:
        """Return the geometric mean of the bandwidths of memory and of multiprocessors."""
        memory = Sheet(self.machine).device_bytes_per_s
        # at the base clock, which a board keeps under its power limit
        ports = PORT_BYTES * self.sm_count * self.clock_hz * self.base_clock_share
        return memory**MEMORY_SHARE * ports ** (1 - MEMORY_SHARE) if ports > 0 else memory
