"""Name the physical resources of laws, and describe a kernel by the time of each resource."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from perfc.ir import entity, record

if TYPE_CHECKING:
    from perfc.ir import Numbers
    from perfc.passes.roofline.roofline import KernelBound

    from ...features.sheet import Sheet

PARTITIONED = (8.0, 9.0, 10.0)
"""Compute capabilities of GPUs whose last cache has two partitions. Source: NVIDIA, A100
whitepaper."""


class Resource(Enum):
    """A resource whose time adds to that of a kernel, with its unit of work and rate."""

    RAMP = "ramp"
    """Start and end of a launch on the device; 1 µs."""
    DEVICE = "device"
    """Bytes that miss the last cache, at the bandwidth of device memory."""
    CACHE = "cache"
    """All bytes, at the bandwidth of the last cache."""
    ELEMENTS = "elements"
    """Elements of the result; one per clock on each multiprocessor. So are the elements below,
    unless they say otherwise."""
    OPERATIONS = "operations"
    """Functions of elements, at the rates of vector and special units."""
    CONVERTED = "converted"
    """Elements of another type than those read; one a clock on each multiprocessor."""
    INDEXED = "indexed"
    """Elements whose address is computed, since strides or broadcasting separate axes."""
    CROSSED = "crossed"
    """Elements read along another axis than written."""
    UNALIGNED = "unaligned"
    """Elements in rows that vectors cannot load."""
    PADDED = "padded"
    """Bytes of a feature map with its channels and positions in whole blocks, as `CACHE`."""
    TAPS = "taps"
    """Elements of the window of a pooling or convolution, for all results."""
    REREAD = "reread"
    """Bytes of rows that are read again after their statistics, from the last cache."""
    ROWS = "rows"
    """Rows, each with its own statistics."""
    LONGEST = "longest"
    """Elements that one block of threads takes one after another, for all its rows; one a clock."""
    WAVES = "waves"
    """Waves of tiles; a thousand clocks each."""
    PRODUCTS = "products"
    """Tiles of products, whole waves of them, at the rate of the matrix or vector unit."""
    POWER = "power"
    """Products at the rate that the board's power limit allows; a lower bound of the kernel's time,
    joined with the sum of all others by `law.within_power`."""
    BEYOND = "beyond"
    """Bytes that one core's cache does not hold, as `CACHE`."""
    WEIGHTS = "weights"
    """Bytes of weights, as `CACHE`."""
    JOINED = "joined"
    """Start and join of the threads that share a kernel."""
    MAPPED = "mapped"
    """Bytes of large results, which the system maps when they are first written."""
    SERIAL = "serial"
    """Elements of the result, one a cycle of one core."""

    __hash__ = object.__hash__


Amounts = Mapping[Resource, float]


@record
class Tiles:
    """Products of one launch, whose time is that of their best tiling.

    Args:
        extents: rows, columns, depth (m, n, k) and number of products.
        bits: bits of an element.
        flop_per_s: rate of the unit that multiplies.
        splits: numbers of parts that the reduction may be split into.
    """

    extents: tuple[float, float, float, float]
    bits: float
    flop_per_s: float
    splits: tuple[int, ...]


@record
class KernelResources:
    """A kernel as a law sees it.

    Args:
        name: class of the law.
        dtype: element type of its data: ``half``, ``tf32``, ``f32``.
        seconds: time of each resource by itself.
        tiles: products whose time is not among ``seconds`` yet, as `resources_of` finds the tilings
            of all kernels at once; None without any.
    """

    name: str
    dtype: str
    seconds: Amounts
    tiles: Tiles | None = None


@entity
class SingleLaunch:
    """One launch of a kernel on a machine.

    Args:
        bound: the kernel with its counts and roofline times.
        at: evaluates symbolic extents.
        sheet: data sheet of the machine.
        dtype: element type, as `KernelResources` has it.
        elements: number of elements of the result.
    """

    bound: KernelBound
    at: Numbers
    sheet: Sheet
    dtype: str
    elements: float

    @property
    def spilled_bytes(self) -> float:
        """Return the bytes that pass device memory, in one launch."""
        # at least what the analysis of the whole graph finds to pass memory
        return max(self.bound.device_bytes / self.bound.launches, self.beyond_bytes)

    @property
    def beyond_bytes(self) -> float:
        """Return the bytes that the last cache cannot hold.

        Data that both partitions of a last cache read is stored in each, which halves the capacity.
        """
        nbytes, sheet = self.bound.counts.nbytes, self.sheet
        held = sheet.l2_bytes / (2 if sheet.generation in PARTITIONED else 1)
        # each excess byte displaces another that is needed: both miss, up to all bytes
        return float(min(2 * max(nbytes - held, 0.0), nbytes))
