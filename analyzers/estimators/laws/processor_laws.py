"""Times of kernels on processors by laws fitted to runtimes, at the rates of the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.common.fitted import read_records
from perfc.ir import record

from ...estimate.estimate import Estimate, Predictor
from ..subject import of_bound
from .law import KernelLaw, intervals_of, laws
from .processor_resources import ProcessorSeconds
from .resource import KernelResources

if TYPE_CHECKING:
    from ..estimator import Execution

FILE = Path(__file__).with_suffix(".toml")
"""Laws by runtime and class; lab/perfc_lab/fits/processor_laws.py writes it."""
UNRATED = 2.0
"""Logarithmic width of intervals at the rates of a data sheet over those at measured ones."""
RUNTIMES = Path(__file__).with_name("processor_runtimes.toml")


@record
class ProcessorRuntime:
    """A runtime with laws.

    Args:
        runtimes: names of the tables of its kernels.
        needs_rates: whether its laws hold on machines with measured rates only.
    """

    runtimes: tuple[str, ...]
    needs_rates: bool


@cache
def measured_runtimes(*, is_rated: bool = True) -> Mapping[str, str]:
    """Return the start of the names of laws by the name of a runtime."""
    each = read_records(RUNTIMES, ProcessorRuntime)
    held = ((start, one) for start, one in each.items() if is_rated or not one.needs_rates)
    return {name: start for start, one in held for name in one.runtimes}


def known_law(
    execution: Execution, index: int, seconds: ProcessorSeconds
) -> tuple[KernelLaw, KernelResources] | None:
    """Return the law and the resources of one launch by the most specific name with a law."""
    is_rated = execution.machine.device("clock_sustained_hz") is not None
    start = measured_runtimes(is_rated=is_rated).get(execution.kernels.runtime.name)
    bounds = execution.bounds
    bound = bounds.kernels[index]
    if start is None or bound.is_gradient or bound.counts.nbytes <= 0 or not bound.launches:
        return None
    if bound.kernel.helper is not None:
        each = seconds.of_copy(bound.counts.nbytes)
    else:
        each = seconds.of(of_bound(bound, bounds.envs[index] if bounds.envs else bounds.env))
    known = laws(FILE)
    names = [(f"{of} {k.name}", k) for of in (f"{start}.{bound.dtype.code}", start) for k in each]
    return next(((law, k) for name, k in names if (law := known.get(name))), None)


def on_processor(execution: Execution, wanted: Sequence[int]) -> dict[int, Estimate]:
    """Return the times of kernels whose runtime and class have a law."""
    kernels, seconds = execution.bounds.kernels, ProcessorSeconds(execution.machine)
    is_own = execution.machine.device("clock_sustained_hz") is not None
    width = 1.0 if is_own else UNRATED
    keys = {i: (kernels[i].kernel.identity, id(kernels[i].floor)) for i in wanted}
    first = {key: i for i, key in reversed(keys.items())}
    by_kernel = {i: law for i in first.values() if (law := known_law(execution, i, seconds))}
    times: dict[int, Estimate] = {}
    for (i, (_, subject)), time in zip(
        by_kernel.items(), intervals_of([*by_kernel.values()]), strict=True
    ):
        floor_s, all_launches = kernels[i].floor_s, time.widened(width) * kernels[i].launches
        of = all_launches.at_least(floor_s)
        times[i] = Estimate(
            floor_s, of, Predictor.LAW, subject.name, is_measured=is_own, is_own=is_own
        )
    return {i: times[first[key]] for i, key in keys.items() if first[key] in times}
