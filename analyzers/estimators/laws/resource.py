"""Name the physical resources of laws, and describe a kernel by the time of each resource.

Units below are nominal: a law multiplies the time of each resource by a fitted coefficient.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from perfc.ir import Kind, entity, record

from ...features import reach, tiling

if TYPE_CHECKING:
    from perfc.ir import Numbers
    from perfc.passes.roofline.roofline import KernelBound

    from ...features.sheet import Sheet

HALVES = ("f16", "bf16")
BYTES = ("i8", "f8e4m3")
"""Types whose convolutions and attention have the kernels of 16 bits; only convolutions multiply at
the rate of bytes. Products of bytes have no law (`selection.of_half_depth`)."""
TILE = 128
"""Rows and columns that a block of threads computes."""
PARTITIONED = (8.0, 9.0, 10.0)
"""Compute capabilities of GPUs whose last cache has two partitions. Source: NVIDIA, A100
whitepaper."""


class Resource(Enum):
    """A resource whose time adds to that of a kernel, with its unit of work and rate.

    Those from ``BEYOND`` on are of processors alone (`processor_resources`).
    """

    RAMP = "ramp"
    """Start and end of a launch on the device, with a nominal time of 1 µs."""
    DEVICE = "device"
    """Bytes that miss the last cache, at the bandwidth of device memory."""
    CACHE = "cache"
    """All bytes, at the bandwidth of the last cache."""
    ELEMENTS = "elements"
    """Elements of the result, one per clock on each multiprocessor: the rate of all resources below
    that count elements, unless they name another."""
    OPERATIONS = "operations"
    """Functions of elements, at the rates of vector and special units."""
    CONVERTED = "converted"
    """Elements that are written in another type than they are read."""
    INDEXED = "indexed"
    """Elements whose address is computed one by one: strides or broadcasting keep the axes of the
    operands from merging into one."""
    CROSSED = "crossed"
    """Elements that are read along another axis than they are written."""
    UNALIGNED = "unaligned"
    """Elements in rows that vectors cannot load; for products, the time of all products."""
    PADDED = "padded"
    """Bytes of a feature map with its channels and positions in whole blocks, at the bandwidth of
    the last cache."""
    TAPS = "taps"
    """Elements of the window of a pooling or convolution, for all results."""
    REREAD = "reread"
    """Bytes of rows that are read again after their statistics, from the last cache."""
    ROWS = "rows"
    """Rows, each of which has statistics of its elements."""
    LONGEST = "longest"
    """Elements of all rows of a block of threads, which it processes at one per clock cycle."""
    WAVES = "waves"
    """Waves of tiles: start and end of their blocks of threads, nominally 1,000 clock cycles."""
    PRODUCTS = "products"
    """Products in whole waves of tiles, at the rate of the matrix or vector unit."""
    POWER = "power"
    """Products at the rate that the board's power limit allows; a lower bound of the kernel's time,
    joined with the sum of all others by `law.within_power`."""
    BEYOND = "beyond"
    """Bytes that one core's cache does not hold, at the bandwidth of the shared cache."""
    WEIGHTS = "weights"
    """Bytes of weights, at their rate in ``processor_rates.toml``."""
    JOINED = "joined"
    """Start and join of the threads that share a kernel; the time of one launch."""
    MAPPED = "mapped"
    """Bytes of large results, which the system maps when they are first written."""
    SERIAL = "serial"
    """Elements of the result, one per cycle of one core."""

    __hash__ = object.__hash__  # members are unique; `Enum` hashes by name, which is slower


Amounts = Mapping[Resource, float]


@record
class Tiles:
    """Products of one launch, whose time is that of their best tiling.

    Args:
        extents: rows, columns, depth (m, n, k) and number of products.
        bits: bits of an element.
        flop_per_s: rate of the unit that multiplies.
        splits: numbers of parts into which the reduction may be split.
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
        tiles: products whose time is not among ``seconds`` yet: `resources_of` computes the tilings
            of all kernels in one call. None for a kernel without products.
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
        # `device_bytes` are those of all launches, by the analysis of caches in the whole graph
        return max(self.bound.device_bytes / self.bound.launches, self.beyond_bytes)

    @property
    def beyond_bytes(self) -> float:
        """Return the bytes that the last cache cannot hold.

        Data that both partitions of a last cache read is stored in each, which halves the capacity.
        """
        nbytes, sheet = self.bound.counts.nbytes, self.sheet
        capacity = sheet.l2_bytes / (2 if sheet.generation in PARTITIONED else 1)
        # each excess byte displaces another that is needed: both miss, up to all bytes
        return float(min(2 * max(nbytes - capacity, 0.0), nbytes))

    @property
    def is_of_bytes(self) -> bool:
        """Return True for convolutions that multiply types of one byte at their rate."""
        return self.bound.dtype.code in BYTES and self.bound.kernel.kind is Kind.CONV

    @property
    def matrix_type(self) -> str:
        """Return the type whose matrix rate the kernel has; types of one byte count as 16 bits."""
        return "tf32" if self.bound.dtype.bits > 16 else "f16"

    @property
    def flop_per_s(self) -> float:
        """Return the rate of the unit that multiplies, in floating-point operations per second."""
        if self.dtype == "f32":
            return reach.single_flop_per_s(self.sheet)
        code = self.bound.dtype.code if self.is_of_bytes else self.matrix_type
        return self.sheet.matrix_flop_per_s(code)

    def tiled(
        self,
        extents: tuple[float, float, float, float],
        splits: tuple[int, ...] = tiling.SPLITS,
        *,
        is_vector: bool = False,
    ) -> tuple[Amounts, Tiles]:
        """Return the times of waves and of the reduction's length, and the products as tiles.

        Args:
            extents: rows, columns, depth and number of products.
            splits: numbers of parts into which the reduction may be split.
            is_vector: True for products on vector units.
        """
        rows, columns, depth, batch = extents
        # tiles of few columns are half as wide
        width = TILE // 2 if columns <= TILE // 2 else TILE
        tiles = batch * math.ceil(rows / TILE) * math.ceil(columns / width)
        waves = math.ceil(tiles / self.sheet.sm_count)
        # a tile of bytes is read and written in half the time of 16 bits
        share = 0.5 if self.bound.dtype.code in BYTES else 1.0
        amounts = {
            Resource.WAVES: waves * share * 1e3 / self.sheet.clock_hz,
            Resource.LONGEST: depth / self.sheet.clock_hz,
        }
        rate = reach.single_flop_per_s(self.sheet) if is_vector else self.flop_per_s
        return amounts, Tiles(extents, float(self.bound.dtype.bits), rate, splits)
