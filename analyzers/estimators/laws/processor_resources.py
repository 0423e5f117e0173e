"""Convert a kernel's work on a processor into seconds per resource, at the rates of the machine.

Sources: Eigen, TensorCostModel.h, for the number of threads; onnxruntime, mlas/lib/mlasi.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from perfc.common.fitted import read_records
from perfc.ir import record
from perfc.machine import Machine, MemoryLevel, Peak, Unit

from ..subject import KernelSubject
from .processor_classes import Class, Term, classify, traffic
from .resource import KernelResources, Resource

RATES = Path(__file__).with_name("processor_rates.toml")
"""Rate of each unit of work, a `ProcessorRate` by the name of its `Term`."""
START_CYCLES, BYTE_CYCLES, SPECIAL_CYCLES = 1e5, 11 / 64, 20
"""Cycles of work that justify one more thread, cycles of a byte (11 per cache line of 64), and of a
transcendental function, in Eigen's cost model."""
LEAST_PRODUCTS = 65_536
"""Multiply-accumulates of a product that justify one more thread, in MLAS."""
USUAL_CLOCK_HZ = 2.5e9
"""Clock of a processor whose target gives none: server parts run all cores at 2 to 3 GHz."""
UNITS = {unit.value for unit in Unit}
"""Names of units of a target; a rate's ``unit`` that is none of them is a memory level."""


@record
class ProcessorRate:
    """The rate that gives a unit of work its seconds.

    Args:
        resource: name of the `Resource` to which the time belongs.
        unit: unit or memory level of the target that has the rate; "clock" for cycles.
        count: operations of that unit in one unit of work.
        share: rate that machines without measurements usually reach, over that of the data sheet.
        is_serial: True if one core does this work, whatever the number of threads.
    """

    resource: str
    unit: str
    count: float
    share: float
    is_serial: bool


def is_rated(machine: Machine) -> bool:
    """Return True for a processor whose rates were measured, as `perfc calibrate` does."""
    return machine.device("clock_sustained_hz") is not None


@cache
def rates() -> Mapping[Term, ProcessorRate]:
    """Return the rate of each unit of work."""
    return {Term(name): rate for name, rate in read_records(RATES, ProcessorRate).items()}


def second_of(rate: ProcessorRate, machine: Machine, dtype: str, threads: float) -> float:
    """Return the seconds of one unit of work on ``threads`` of the cores.

    The rate grows linearly from that of one core to that of all cores. Both may be measured;
    otherwise all cores have the usual share of the rated one, and one core its part of that.
    """
    cores = machine.sm_count
    if rate.unit == "clock":
        clock = machine.device("clock_sustained_hz") or machine.device("clock_boost_hz")
        one_core = USUAL_CLOCK_HZ if clock is None else clock.value
        all_cores = one_core * cores
    else:
        of: Peak | MemoryLevel
        if rate.unit in UNITS:
            of = machine.entry(Unit(rate.unit), dtype, allow_tf32=False)
        else:
            of = machine.level(rate.unit) or machine.memory[-1]
        sustained = of.sustained
        # the fact for one core has the name of that for all cores, with "one_core" in it
        all_cores = of.nominal.value * rate.share if sustained is None else sustained.value
        key = "" if sustained is None else sustained.key.replace("sustained", "one_core")
        measured_alone = machine.facts.get(key)
        one_core = (
            all_cores / cores if measured_alone is None else min(measured_alone.value, all_cores)
        )
    share = 0.0 if rate.is_serial or cores == 1 else (threads - 1) / (cores - 1)
    return rate.count / (one_core + (all_cores - one_core) * share)


def threads_of(subject: KernelSubject, cores: int) -> float:
    """Return the number of threads that share a kernel."""
    if subject.kind in ("conv", "pool"):
        return cores  # loops over images and channels have work for all cores
    if subject.kind == "matmul":
        return min(1 + subject.mac // LEAST_PRODUCTS, cores)
    elements = subject.result.numel if subject.result is not None else 0.0
    # one cycle per element, as Eigen counts an addition
    cycles = elements + BYTE_CYCLES * subject.nbytes + SPECIAL_CYCLES * subject.sfu
    return min(max(cycles // START_CYCLES, 1), cores)


class ProcessorSeconds:
    """Resources of kernels on the cores of a machine.

    Args:
        machine: the machine.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine, self.cores = machine, machine.sm_count
        self.known: dict[tuple[str, float], dict[Term, float]] = {}

    def of(self, subject: KernelSubject) -> list[KernelResources]:
        """Return the resources of a kernel under each of its names, the most specific first."""
        kernel = classify(subject)
        return self.named(kernel, subject.dtype, threads_of(subject, self.cores))

    def of_copy(self, nbytes: float, dtype: str = "f32") -> list[KernelResources]:
        """Return the resources of a copy into blocks of channels, or out of them."""
        threads = min(max(BYTE_CYCLES * nbytes // START_CYCLES, 1), self.cores)
        terms = {Term.LAUNCH: 1.0, **traffic(nbytes)}
        return self.named(Class(("reorder", "movement"), terms), dtype, threads)

    def named(self, kernel: Class, dtype: str, threads: float) -> list[KernelResources]:
        """Return the resources of a kernel that ``threads`` threads share."""
        key = dtype, threads
        if key not in self.known:
            pairs = rates().items()
            self.known[key] = {t: second_of(r, self.machine, dtype, threads) for t, r in pairs}
        second = self.known[key]  # of one unit of work
        seconds = {Resource(rates()[t].resource): n * second[t] for t, n in kernel.terms.items()}
        # two resources have no rate in the file. Joining threads takes a launch. A launch has 1,000
        # cycles of one core (``processor_rates.toml``), so that a serial element, one cycle, takes
        # a thousandth of it
        seconds[Resource.JOINED] = second[Term.LAUNCH] * (threads > 1)
        seconds[Resource.SERIAL] = kernel.terms.get(Term.ELEMENT, 0.0) * second[Term.LAUNCH] / 1e3
        return [KernelResources(name, dtype, seconds) for name in kernel.names]
