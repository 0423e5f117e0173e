"""The 20 hardware features of a row, from target files; an unknown number is NaN.

They are those of K. Panner Selvam's thesis, Table 6.3.
`rows.features_of` puts them between the features of the model and of the deployment.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache

from perfc.common.fitted import data_next_to
from perfc.ir.record import record
from perfc.machine import Machine, Unit, load_machine

HARDWARE = (
    "PF32",
    "PB_HBM",
    "CM",
    "Cm",
    "MTPB",
    "MTPM",
    "RPB",
    "RPM",
    "WS",
    "SMPB",
    "SMMP",
    "SMS",
    "SMPBO",
    "CC",
    "RAM",
    "LC1",
    "LC2",
    "LC3",
    "NC",
    "CA",
)
"""Features by the thesis's abbreviations, 13 of the GPU and 7 of the host, in this order.

Peak FP32 rate in GFLOP/s, peak bandwidth in GB/s, major and minor compute capability; threads per
block and per multiprocessor; registers per block and per multiprocessor; warp size; shared memory
per block and per multiprocessor; multiprocessors; shared memory that a block may opt in to. Of the
host: clock, memory, three caches, cores, architecture.
"""
# limits of CUDA's chips, and the registers of the two compute capabilities that have fewer
REGISTERS_PER_BLOCK = 65536
FEWER_REGISTERS = {"sm_53": 32768, "sm_62": 32768}
SHARED_PER_BLOCK_BYTES = 49152
"""CUDA C++ Programming Guide 12.9, technical specifications per compute capability: the most
registers of a block, which two embedded chips halve, and the 48 KiB of shared memory that a kernel
has without opting in to more, equally from 3.0 to 12.0."""
ARCHITECTURES = (
    "broadwell",
    "skylake-sp",
    "cascade-lake",
    "ice-lake-sp",
    "sapphire-rapids",
    "zen2",
    "zen3",
    "zen4",
)
"""Architectures of host CPUs; the feature ``CA`` is the position in this list."""
# unit of the host's memory
GIB = float(1 << 30)


@record
class HostProcessors:
    """The processors of the system that a GPU is in.

    Args:
        target: name of the processor's target file.
        sockets: number of processors.
        ram_bytes: memory of the system.
        source: document with these numbers.
    """

    target: str
    sockets: int
    ram_bytes: float
    source: str


REFERENCE_HOSTS: Mapping[str, HostProcessors] = {
    gpu: HostProcessors(**row) for gpu, row in data_next_to(__file__).items()
}
"""The system that the GPU's vendor sells with it: assumed, as no row names its host.

The host of the H100 and H200 is a Xeon 8480C, a variant of the 8480+ for one customer.
"""


@lru_cache(maxsize=64)
def hardware_of(target: str) -> tuple[float, ...]:
    """Return the features in the order of `HARDWARE` of a target in the system of its vendor."""
    machine = load_machine(target)
    # the first part of a target's name is the GPU, the rest its form and memory
    host = REFERENCE_HOSTS.get(machine.name.partition("-")[0])
    return (*_gpu(machine), *(_host(host) if host else (math.nan,) * 7))


def _gpu(machine: Machine) -> tuple[float, ...]:
    """Return the 13 features of the GPU; both rates measured if known, as the thesis's were."""
    compute = machine.entry(Unit.VECTOR, "f32")
    device = machine.level("device")
    # "sm_90a" is 9.0; other makers have no compute capability
    capability = re.fullmatch(r"sm_(\d+)(\d)[a-z]?", machine.arch)
    is_cuda = capability is not None
    major, minor = map(float, capability.groups()) if capability else (math.nan, math.nan)
    registers = FEWER_REGISTERS.get(machine.arch, REGISTERS_PER_BLOCK)
    return (
        (compute.sustained or compute.peak).value / 1e9,
        math.nan if device is None else (device.sustained or device.bandwidth).value / 1e9,
        major,
        minor,
        _stated(machine, "max_threads_per_block"),
        _stated(machine, "max_threads_per_sm"),
        float(registers) if is_cuda else math.nan,
        _stated(machine, "registers_per_sm"),
        _stated(machine, "warp_size"),
        float(SHARED_PER_BLOCK_BYTES) if is_cuda else math.nan,
        _stated(machine, "shared_memory_per_sm_bytes"),
        float(machine.sm_count),
        _stated(machine, "shared_memory_per_block_bytes"),
    )


def _host(host: HostProcessors) -> tuple[float, ...]:
    """Return the seven features of the host: caches of one socket, cores of all sockets."""
    cpu = load_machine(host.target)
    first, private = (_capacity(cpu, level) for level in ("l1", "l2_private"))
    # a target's level "l2" is all cache beyond L1: the cores' private L2 and the shared L3
    last = _capacity(cpu, "l2") - (0.0 if math.isnan(private) else private)
    family = ARCHITECTURES.index(cpu.arch) if cpu.arch in ARCHITECTURES else math.nan
    clock = cpu.device("clock_base_hz")
    return (
        math.nan if clock is None else clock.value / 1e9,
        host.ram_bytes / GIB,
        first,
        private,
        last,
        float(cpu.sm_count * host.sockets),
        float(family),
    )


def _stated(machine: Machine, key: str) -> float:
    """Return a number of the device as its target file states it; NaN without."""
    number = machine.device(key)
    return math.nan if number is None else number.value


def _capacity(machine: Machine, level: str) -> float:
    """Return the bytes of a level of memory; NaN where the target file has none."""
    number = machine.facts.get(f"memory.{level}.capacity_bytes")
    return math.nan if number is None else number.value
