"""Find the law of each kernel on a processor: fitted to runtimes, at the rates of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from perfc.common.fitted import read_records
from perfc.ir import record
from perfc.machine import Machine

from ..estimator import Execution
from ..subject import of_bound
from .law import KernelLaw, Nearness, laws
from .processor_resources import ProcessorSeconds, is_rated
from .resource import KernelResources

FILE = Path(__file__).with_suffix(".toml")
"""Laws by runtime and class; lab/perfc_lab/fits/processor_laws.py writes it."""
WHOLE = Path(__file__).with_name("whole_run_laws.toml")
"""Laws that were fitted to whole runs; lab/perfc_lab/fits/whole_run_laws.py writes it."""
UNRATED = 2.0
"""Logarithmic width of intervals at the rates of a data sheet over the width at measured rates; as
for whole runs, the doubled width stands for an error of the machine that no row shows."""
XNNPACK = "xnnpack"
"""Start of the names of XNNPACK's laws, which were fitted to whole runs."""
RUNTIMES = Path(__file__).with_name("processor_runtimes.toml")
"""Runtimes by the start of the names of their laws: ``ort`` of ``ort conv``."""


@record
class ProcessorRuntime:
    """A runtime with laws.

    Args:
        runtimes: names of the runtimes that share these laws.
        needs_rates: True if the laws hold only on machines with measured rates.
    """

    runtimes: tuple[str, ...]
    needs_rates: bool


@cache
def runtimes() -> Mapping[str, tuple[str, bool]]:
    """Return the start of the names of laws, and whether they need rates, by runtime."""
    families = read_records(RUNTIMES, ProcessorRuntime).items()
    return {
        name: (start, family.needs_rates) for start, family in families for name in family.runtimes
    }


def start_on(machine: Machine, runtime: str) -> str | None:
    """Return the start of the names of a runtime's laws; None if none hold on a machine."""
    start, needs_rates = runtimes().get(runtime, (None, False))
    return start if is_rated(machine) or not needs_rates else None


def named_law(
    start: str, dtype: str, names: Sequence[KernelResources]
) -> tuple[KernelLaw, KernelResources] | None:
    """Return the law of the most specific name that has one, and the resources under that name.

    Laws of the element type come first, even those of less specific names.

    Args:
        start: start of the names of a runtime's laws.
        dtype: element type in which the kernel is computed.
        names: resources of a kernel under each of its names, the most specific first.
    """
    known = laws(WHOLE if start == XNNPACK else FILE)
    candidates = ((f"{of} {k.name}", k) for of in (f"{start}.{dtype}", start) for k in names)
    return next(((law, k) for name, k in candidates if (law := known.get(name))), None)


class ProcessorSubjects:
    """Kernels of one run on a processor as laws see them.

    Args:
        execution: kernels on a processor.
    """

    def __init__(self, execution: Execution) -> None:
        machine = execution.machine
        self.bounds, self.seconds = execution.bounds, ProcessorSeconds(machine)
        self.is_rated = is_rated(machine)
        start = start_on(machine, execution.kernels.runtime.name)
        is_step = any(b.is_gradient for b in self.bounds.kernels)
        # in a training step, laws of training come first; kernels without one take a law of
        # inference
        self.starts = [] if start is None else [f"{start}.train"] * is_step + [start]

    def key(self, index: int) -> object:
        """Return a key of kernels with equal resources."""
        return self.bounds.firsts[index]

    def followed(self, indices: Iterable[int]) -> dict[int, tuple[KernelLaw, KernelResources]]:
        """Return the law and the resources of one launch of the kernels that have a law."""
        pairs = {i: self.law(i) for i in indices if self.starts}
        return {i: pair for i, pair in pairs.items() if pair}

    def law(self, index: int) -> tuple[KernelLaw, KernelResources] | None:
        """Return the law and the resources of one launch of a kernel; None without a law."""
        bounds = self.bounds
        bound = bounds.kernels[index]
        # kernels without traffic or launches take no time
        if bound.counts.nbytes <= 0 or not bound.launches:
            return None
        if bound.kernel.helper is not None:
            # a launch that the runtime inserts, such as a copy into another layout
            names = self.seconds.of_copy(bound.counts.nbytes, bound.dtype.code)
        else:
            names = self.seconds.of(of_bound(bound, bounds.at(index)))
        pairs = (named_law(start, bound.dtype.code, names) for start in self.starts)
        return next(filter(None, pairs), None)

    def nearness(self, _law: KernelLaw) -> Nearness:
        """Return how near the rows of laws are to this machine, the same for all laws.

        All rows are of machines with measured rates: other machines count as unmeasured.
        """
        return Nearness(1.0 if self.is_rated else UNRATED, self.is_rated, self.is_rated)
