"""Definitions of measurements: the probes, their sizes, and the work of one run.

Most probes define a correct answer, so that a kernel is verified before it is timed. Kernels of
networks check themselves when they are prepared; clocks, launches and links have no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum, IntEnum
from typing import TYPE_CHECKING

from perfc.ir import record

from . import reference

if TYPE_CHECKING:
    from .backends.backend import Device
    from .reference import Inputs, ReferenceResult

KIB = 1 << 10
MIB = 1 << 20


class ProbeQuantity(Enum):
    """Quantity that a probe measures: a rate of work or bytes, a time, or a clock."""

    MATRIX = "matrix"
    VECTOR = "vector"
    DOT = "dot"
    SPECIAL = "special"
    BANDWIDTH = "bandwidth"
    LATENCY = "latency"
    LAUNCH = "launch"
    LINK = "link"
    CLOCK = "clock"
    NETWORK = "network"

    @property
    def is_time(self) -> bool:
        """Return True if less is better: seconds per step instead of work per second."""
        return self in (ProbeQuantity.LATENCY, ProbeQuantity.LAUNCH)


class Scope(Enum):
    """Part of the device that works on a case: one core, or all."""

    ONE = "one"
    ALL = "all"


BOTH = (Scope.ALL, Scope.ONE)
"""Scopes of probes that are measured on the whole device and on one core."""


@record
class Probe:
    """One kind of measurement.

    Args:
        id: ``matrix.f32``; names the samples.
        quantity: what the result is.
        unit: unit of the result, ``flop/s``.
        sizes: measured sizes for a device; fewer if the second argument is True. Extents of a
            square product, bytes of all buffers together, 0 for probes without sizes.
        work: work of one count of a run: 2 FLOP of a multiply–accumulate, 1 of a byte, an operation
            or a step.
        dtype: element type, empty if there is none.
        scopes: whether all cores, one core or both are measured.
        inputs: returns operands of the verification for a seed; None without a verification.
        expected: returns the answer for these operands, with a tolerance.
        key: key of the rate in a target file, with ``{}`` in the place of ``sustained`` for all
            cores and ``one_core`` for one; empty if the samples have another use.
        note: note on the rate in the target file.
    """

    id: str
    quantity: ProbeQuantity
    unit: str
    sizes: Callable[[Device, bool], tuple[int, ...]]
    work: float = 1.0
    dtype: str = ""
    scopes: tuple[Scope, ...] = BOTH
    inputs: Callable[[int], Inputs] | None = None
    expected: Callable[[Inputs], ReferenceResult] | None = None
    key: str = ""
    note: str = ""


@record
class Case:
    """A probe at one size, on one or all cores."""

    probe: str
    size: int
    scope: Scope

    def __str__(self) -> str:
        size = f"@{self.size}" if self.size else ""
        return f"{self.probe}{size}/{self.scope.value}"


def _no_size(device: Device, quick: bool) -> tuple[int, ...]:
    """Return one case, for probes without sizes."""
    return (0,)


def _of_processors(device: Device, quick: bool) -> tuple[int, ...]:
    """Return one case on processors, none on other devices."""
    return (0,) if device.kind == "cpu" else ()


def _products(device: Device, quick: bool) -> tuple[int, ...]:
    """Return extents of square products, the largest limited in time."""
    if device.kind == "cuda":
        # the largest takes 9 TFLOP; `Session` leaves it out where that would take too long
        return (1024, 4096, 8192) if quick else (256, 512, 1024, 2048, 4096, 8192, 16384)
    # one product of the largest extent takes 17 GFLOP, or 137 GFLOP with many cores
    largest = 2048 if device.cores <= 8 else 4096
    if quick:  # smaller ones fit between the interruptions of a busy machine
        return (largest // 8, largest // 4, largest // 2)
    # five extents up to 2048, or six up to 4096
    return (128, 256, 512, 1024, 2048, largest)[: 4 + largest // 2048]


def stream_sizes(device: Device, ratio: float, quick: bool) -> tuple[int, ...]:
    """Return working sets from a part of the smallest cache to most of memory.

    Each is ``ratio`` times the one before, up to eight times the last cache; a sweep that is not
    quick continues from there in steps of four.
    """
    # bytes of the smallest working set for each core; the L1 of a multiprocessor is larger
    share = 24 * KIB if device.kind == "cuda" else 8 * KIB
    size = float(share * device.cores)
    # Eight last-level caches show memory; beyond, only non-uniform memory would differ.
    # A quick sweep of a processor takes little memory: 160 MiB, or twice a cache above 80 MiB.
    multiple, least_bytes = (2, 160 * MIB) if quick and device.kind == "cpu" else (8, 256 * MIB)
    last = max(multiple * device.cache_bytes, least_bytes)
    last = min(last, device.free_bytes // 2)
    # whole kibibytes for each core and each of at most three buffers
    grain = 3 * KIB * device.cores
    sizes = set[int]()
    while size <= last:
        sizes.add(max(min(round(size / grain), last // grain), 1) * grain)
        size *= ratio
    sizes.add(last // grain * grain)
    if not quick:
        last, most_bytes = 4 * last, min(device.most_bytes, device.free_bytes // 2)
        while last < most_bytes:
            sizes.add(last // grain * grain)
            last *= 4
        sizes.add(most_bytes // grain * grain)
    return tuple(sorted(sizes))


def _reads(device: Device, quick: bool) -> tuple[int, ...]:
    """Return working sets close enough that the sweep of reads shows the ends of caches."""
    return stream_sizes(device, 2**0.5, quick)


def _streams(device: Device, quick: bool) -> tuple[int, ...]:
    """Return working sets of the other streams, a few in each level."""
    return stream_sizes(device, 4.0 if quick else 2.0, quick)


def _nears(device: Device, quick: bool) -> tuple[int, ...]:
    """Return a part of the L1 caches of an accelerator, whose other streams bypass them."""
    # less than the capacity, so that all of it stays there from one read to the next
    near = device.caches.get("l1", 0) if device.kind == "cuda" else 0
    return (near * 3 // 4,) if near else ()


def _chases(device: Device, quick: bool) -> tuple[int, ...]:
    """Return bytes of cycles of pointers, from 8 KiB to beyond the last cache."""
    multiple = 2 if quick and device.kind == "cpu" else 8
    # at least 128 MiB, which few caches hold; at most 512 MiB, as cycles take long to prepare
    last = min(max(multiple * device.cache_bytes, 128 * MIB), 512 * MIB, device.free_bytes // 4)
    if quick:  # quarters of the largest, so that it is one of them and memory is measured
        return tuple(last >> shift for shift in range(24, -1, -2) if last >> shift >= 8 * KIB)
    sizes, size = list[int](), 8 * KIB
    while size <= last:
        sizes.append(size)
        size *= 2
    return tuple(sizes)


def _transfers(device: Device, quick: bool) -> tuple[int, ...]:
    """Return bytes of copies between host and device."""
    # the ceiling is that of the fastest size, so a quick plan measures one large size only
    return (64 * MIB,) if quick else (4 * KIB, 256 * KIB, 4 * MIB, 64 * MIB, 256 * MIB)


def _matrix(dtype: str) -> Probe:
    """Return the probe of square products; one core is measured for types of BLAS only."""
    scopes = BOTH if dtype in ("f32", "f64") else (Scope.ALL,)
    inputs, expected = reference.product(dtype)
    return Probe(
        f"matrix.{dtype}",
        ProbeQuantity.MATRIX,
        "flop/s",
        _products,
        work=2.0,
        dtype=dtype,
        scopes=scopes,
        inputs=inputs,
        expected=expected,
        key=f"compute.matrix.{dtype}.{{}}_flop_per_s",
    )


def _arithmetic(kind: str, dtype: str) -> Probe:
    """Return the probe of multiply-adds (``fma``) or dot products (``dot``) in registers."""
    inputs, expected = reference.dot(dtype) if kind == "dot" else reference.multiply_add(dtype)
    quantity = ProbeQuantity.DOT if kind == "dot" else ProbeQuantity.VECTOR
    # dot products of bf16 are an instruction of the matrix unit, so they have no key here
    key = f"compute.vector.{dtype}.{{}}_flop_per_s" if (kind, dtype) != ("dot", "bf16") else ""
    return Probe(
        f"{kind}.{dtype}",
        quantity,
        "flop/s",
        _no_size,
        work=2.0,
        dtype=dtype,
        inputs=inputs,
        expected=expected,
        key=key,
        note="four-way dot products in registers" if kind == "dot" else "",
    )


def _special(function: str) -> Probe:
    """Return the probe of a function; three have a key, the rest show in the samples only."""
    # the plain key is that of exp or exp2: processors measure exp, accelerators exp2
    word = {"exp": "", "exp2": "", "erf": "_erf"}.get(function)
    key = "" if word is None else f"compute.special.f32.{{}}{word}_op_per_s"
    inputs, expected = reference.unary(function)
    return Probe(
        f"special.{function}",
        ProbeQuantity.SPECIAL,
        "op/s",
        _no_size,
        dtype="f32",
        inputs=inputs,
        expected=expected,
        key=key,
        note=function,
    )


def _network(name: str, key: str, note: str, work: float = 2.0) -> Probe:
    """Return the probe of a kernel of networks on processors; ``work`` of 1 counts bytes."""
    unit = "flop/s" if work > 1 else "bytes/s"
    return Probe(
        name, ProbeQuantity.NETWORK, unit, _of_processors, work, scopes=BOTH, key=key, note=note
    )


def _stream(kind: str) -> Probe:
    """Return the probe of a bandwidth; ``near`` reads within the L1 of an accelerator."""
    inputs, expected = reference.stream("read" if kind == "near" else kind)
    scopes = BOTH if kind == "read" else (Scope.ALL,)
    sizes = {"read": _reads, "near": _nears}.get(kind, _streams)
    return Probe(
        f"stream.{kind}",
        ProbeQuantity.BANDWIDTH,
        "bytes/s",
        sizes,
        scopes=scopes,
        inputs=inputs,
        expected=expected,
    )


def _latency() -> Probe:
    """Return the probe of the time of one dependent load, by a chase of pointers."""
    inputs, expected = reference.chase()
    return Probe(
        "chase",
        ProbeQuantity.LATENCY,
        "s",
        _chases,
        scopes=(Scope.ONE,),
        inputs=inputs,
        expected=expected,
    )


def _launch(way: str) -> Probe:
    """Return the probe of one launch in a way of ``LAUNCHES``."""
    return Probe(f"launch.{way}", ProbeQuantity.LAUNCH, "s", _no_size, scopes=(Scope.ALL,))


def _link(way: str) -> Probe:
    """Return the probe of copies in one direction, from one kind of host memory."""
    return Probe(f"link.{way}", ProbeQuantity.LINK, "bytes/s", _transfers, scopes=(Scope.ALL,))


MATRIX_TYPES = ("f64", "f32", "tf32", "f16", "bf16", "f8e4m3", "i8")
"""Element types of measured products of matrices."""
VECTOR_TYPES = ("f64", "f32", "f16", "bf16", "i32")
"""Element types of measured multiply-adds on vector units."""
STREAMS = ("read", "copy", "write", "triad")
"""Patterns of accesses; the level's bandwidth is that of the best one."""
SPECIAL_FUNCTIONS = ("exp", "exp2", "erf", "rsqrt", "sqrt", "reciprocal")
"""Measured functions; a device that computes one from the others refuses it."""
SHAPES = (
    ("packed", "", "192 × 384 × 384, packed"),
    ("small", "_small", "60 × 64 × 64, packed"),
    ("skinny", "_skinny", "8 × 256 × 1024, packed"),
)
"""Shapes of products with packed weights: word of the probe's name, word of its key, and note. The
key without a word is that of `matrix.f32` too, which has precedence."""
LAUNCHES = ("eager", "graph", "wake", "framework")
"""``eager`` hands work to what waits for it (a stream; threads that spin), ``graph`` repeats
recorded work (on a processor: a call through a pointer), ``wake`` rouses threads that sleep,
``framework`` is an operator of PyTorch from its module to the device."""

# every measurement by its name; the order is that of a session within a rank
PROBES: dict[str, Probe] = {
    p.id: p
    for p in (
        Probe("clock", ProbeQuantity.CLOCK, "Hz", _no_size, scopes=(Scope.ONE,)),
        *(_arithmetic("fma", d) for d in VECTOR_TYPES),
        *(_arithmetic("dot", d) for d in ("bf16", "i8")),
        *(_special(f) for f in SPECIAL_FUNCTIONS),
        *(_matrix(d) for d in MATRIX_TYPES),
        *(
            _network(f"{shape}.{d}", f"compute.matrix.{d}.{{}}{word}_flop_per_s", note)
            for d in ("f32", "bf16", "i8")
            for shape, word, note in SHAPES
        ),
        _network(
            "direct.f32", "compute.matrix.f32.{}_direct_flop_per_s", "3 × 3, channels in blocks"
        ),
        _network("depthwise.f32", "compute.vector.f32.{}_depthwise_flop_per_s", "3 × 3, in blocks"),
        _network("transposed.f32", "memory.l2.{}_transposed_bytes_per_s", "512 × 1024 of f32", 1.0),
        _network(
            "touched.pages", "memory.device.{}_touched_bytes_per_s", "new pages of 4 KiB", 1.0
        ),
        *(_stream(k) for k in (*STREAMS, "near")),
        _latency(),
        *(_launch(w) for w in LAUNCHES),
        *(_link(w) for w in ("h2d-pinned", "d2h-pinned", "h2d-pageable", "d2h-pageable")),
    )
}


def cases(device: Device, quick: bool) -> tuple[Case, ...]:
    """Return all cases for a device; a backend refuses those that it cannot measure.

    Cases that a target file requires come first, since time may run out.
    """
    # a core alone streams through less in the same time, so its working sets are smaller
    one_core = replace(device, cores=1, most_bytes=8 * device.cache_bytes)
    plan = (
        Case(p.id, size, scope)
        for p in PROBES.values()
        for scope in p.scopes
        if scope is Scope.ALL or device.cores > 1 or p.scopes == (Scope.ONE,)
        for size in _ordered(p, device if scope is Scope.ALL else one_core, quick)
    )
    return tuple(sorted(plan, key=rank))


def _ordered(probe: Probe, device: Device, quick: bool) -> Sequence[int]:
    """Return sizes; a quick sweep of working sets goes from the largest, coarse to fine."""
    sizes = probe.sizes(device, quick)
    if not quick or probe.quantity not in (ProbeQuantity.BANDWIDTH, ProbeQuantity.LATENCY):
        return sizes
    coarse_to_fine = (i for step in (8, 4, 2, 1) for i in range(len(sizes) - 1, -1, -step))
    return [sizes[i] for i in dict.fromkeys(coarse_to_fine)]


class Rank(IntEnum):
    """Order of measurement: the most important values of a target file come first."""

    LEVELS = 0
    DEVICE = 1
    CORE = 2


def rank(case: Case) -> Rank:
    """Return the rank: memory levels, then the rest for the whole device, then for one core."""
    if case.probe == "stream.read" and case.scope is Scope.ALL:
        return Rank.LEVELS
    return Rank.DEVICE if case.scope is Scope.ALL or case.probe == "clock" else Rank.CORE
