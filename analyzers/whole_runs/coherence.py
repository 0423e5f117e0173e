"""Consistent totals of one model in related deployments.

Orders hold among the times of a model: a runtime that fuses kernels is no slower than one that
launches them; an element type with faster matrix units is no slower than a wider one; a smaller
batch takes no longer, and half of it at least half the time; a machine that is better in every
rate is no slower, nor is a card than a slice of it. TensorRT took no longer than eager PyTorch,
TorchScript and ONNX Runtime in 144 of 146 published pairs of runs of one model on one machine in
one precision (`whole_models`, grade A, inference), TorchScript than eager PyTorch in 39 of 39.

So of two related deployments the one with the better evidence bounds the other: measured runs of
the machine first, then the narrower interval for another runtime, and the wider type or the smaller
batch. A deployment with measured runs is bounded by larger slices alone: rows may contradict the
other orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, Unpack
from weakref import WeakKeyDictionary

from perfc.common.fitted import constants_next_to
from perfc.deployment.fields import Mode
from perfc.errors import PerfcError
from perfc.ir import Graph, Kind, Module, frozen
from perfc.machine import Machine, Unit, load_machine
from perfc.machine.slices import container_of
from perfc.passes.runtimes import LaunchMode, Layout, runtime, tables

from ..estimate.estimate import CandidateRun
from ..estimate.interval import Interval
from ..intervals.adapt import of_machine
from ..runs import runtime_runs
from ..runs.host import launches_of
from ..runs.network import Network, network_of
from ..runs.run_table import is_whole, precision, stored_element
from ..runs.runtime_runs import run_key
from ..steps.setting import is_measured_whole
from .estimate import batch_symbol
from .whole_run import joined

if TYPE_CHECKING:
    from perfc.deployment import Deployment, DeploymentKeywords

    from ..estimators import Execution
    from ..runs.prediction import PredictionTable

_FITTED = constants_next_to(__file__)
ABOUT_AS_LONG = _FITTED["about_as_long"].number
"""Largest ratio of summed kernels with unfused attention to those with fused attention at which a
runtime that fuses all other kernels may be as fast."""
GROWTH = _FITTED["batch_growth"].number
"""Ratio of times of a batch and of its half from which smaller batches need no comparison."""
WIDER: Mapping[str, tuple[str, ...]] = {
    "f16": ("f32",), "bf16": ("f32",), "i8": ("f16", "f32"), "f8e4m3": ("f16", "f32"),
}  # fmt: skip
"""Element types that take no less time than the key if its matrix units are faster."""
WIDE = frozenset({"f32", "tf32"})
"""Precisions of a run in f32, as machines have them."""

MOST_KERNELS = 5_000
"""Kernels of a run above which it is not compared: each comparison predicts all of them again."""
MOST_TOTALS = 512
_TOTALS: WeakKeyDictionary[Graph, dict[object, Total]] = WeakKeyDictionary()
"""Totals of a model by relations and deployment, the last of them."""


class Deployed(Protocol):
    """A deployed model that can be deployed in other ways too."""

    @property
    def source(self) -> Module:
        """Return the module as read, typed."""

    @property
    def env(self) -> Mapping[str, int]:
        """Return the value of every symbol."""

    @property
    def deployment(self) -> Deployment:
        """Return how the model is run."""

    @property
    def execution(self) -> Execution:
        """Return its kernels on their machine."""

    @property
    def unordered(self) -> PredictionTable:
        """Return its prediction without regard to other deployments."""

    def with_(self, target: str | None = None, **changed: Unpack[DeploymentKeywords]) -> Deployed:
        """Return the same model in another deployment."""


@frozen
class Total:
    """Prediction of a related deployment.

    Args:
        run: its total.
        kernels_s: sum of its kernels.
        attention_kernels: number of its fused attention kernels.
        launches: number of its launches.
        words: names its runtime and precision.
    """

    run: CandidateRun
    kernels_s: float
    attention_kernels: int
    launches: float
    words: str

    @classmethod
    def of(cls, run: Deployed, relations: Sequence[Relation]) -> Total:
        """Return the total of a run within the limits of some relations."""
        table, kernels = run.unordered, run.execution.bounds.kernels
        attention = sum(bound.kernel.kind is Kind.ATTENTION for bound in kernels)
        words = " in ".join(filter(None, (run.deployment.table_name, precision_of(run))))
        total = bounded(run, candidate(table), relations)
        return cls(total, table.kernels_s, attention, launches_of(run.execution), words)


@frozen
class Bound:
    """Limit of a run's time by a related deployment.

    Args:
        time: of the related deployment, scaled to the run's work.
        is_lower: True if the run takes no less, False if it takes no more.
        words: names the related deployment.
        is_sure: False if only the middle of the time is a limit.
    """

    time: Interval
    is_lower: bool
    words: str
    is_sure: bool = True

    def limited(self, time: Interval) -> Interval:
        """Return a time within the limit; its interval shrinks with a sure limit only."""
        if self.is_lower:
            mid = max(time.mid, self.time.mid)
            low = min(mid, max(time.low, self.time.low)) if self.is_sure else time.low
            high = time.high if mid == time.mid else max(time.high, self.time.high)
            return Interval(low, mid, high)
        mid = min(time.mid, self.time.mid)
        if mid == time.mid and not self.is_sure:
            return time
        low = time.low if mid == time.mid else min(time.low, self.time.low)
        return Interval(low, mid, max(mid, min(time.high, self.time.high)))


def in_order(run: Deployed) -> PredictionTable:
    """Return a run's prediction, bounded by related deployments with better evidence.

    Args:
        run: the model as it is run.
    """
    table = run.unordered
    mine = candidate(table)
    if run.deployment.mode is not Mode.INFERENCE or not 0 < len(table.kernels) <= MOST_KERNELS:
        return table
    ordered = bounded(run, mine, RELATIONS)
    if ordered is mine:
        return table
    result = joined(table, [ordered, *table.others])
    return replace(result, summed=table.summed or table.total)


def bounded(run: Deployed, mine: CandidateRun, relations: Sequence[Relation]) -> CandidateRun:
    """Return a run's total within the limits of related deployments; itself if none applies.

    Related deployments are within the limits of their smaller batches, which so hold here too.

    Args:
        run: the model as it is run.
        mine: its total without regard to other deployments.
        relations: the relations that apply.
    """
    time, reasons = mine.time, mine.outside
    for relation in relations:
        if mine.is_own and relation not in OF_ALL:
            continue
        for bound in relation(run, relations[:1]):
            before_s, time = time.mid, bound.limited(time)
            if time.mid != before_s:
                order = "faster" if bound.is_lower else "slower"
                reasons = (f"predicted {order} than {bound.words}",)
    return mine if time == mine.time else replace(mine, time=time, outside=reasons)


def by_runtime(run: Deployed, inner: Sequence[Relation]) -> Iterator[Bound]:
    """Yield limits by runtimes that fuse more or less, if those have the better evidence.

    PyTorch runs attention as one kernel, ONNX Runtime as several. Fusing other kernels saves time,
    but writing and reading the scores of 4,096 tokens takes longer than that saves. A sum of other
    kernels alone raises no total: an imprecise estimate of one fused kernel would.
    """
    name, layout = run.deployment.runtime, Layout.CHANNELS_FIRST
    machine = run.execution.machine
    runtimes = [*((one, True) for one in fusing(name)), *((one, False) for one in launching(name))]
    others = [
        (total_of(run, inner, runtime=one, runtime_version="", layout=layout), is_lower)
        for one, is_lower in runtimes
        if not runtime(one).is_excluded(machine.kind, machine.vendor)
    ]
    mine = Total.of(run, ())
    for other, is_lower in sorted(others, key=lambda one: one[0].run.doubt, reverse=True):
        fuses = other.attention_kernels >= mine.attention_kernels
        is_slow = not fuses and other.kernels_s > ABOUT_AS_LONG * mine.kernels_s
        is_summed = is_lower and not other.run.predictor
        if other.run.doubt < mine.run.doubt and not is_summed and not (is_lower and is_slow):
            yield Bound(other.run.time, is_lower, other.words, fuses)


def by_type(run: Deployed, inner: Sequence[Relation]) -> Iterator[Bound]:
    """Yield limits by wider types of slower units, and by narrower ones with measured runs.

    A type whose casts are launches of their own may take longer than a wider one without them.
    """
    how = run.deployment
    mine = how.dtype or stored_element(run.source)
    others = [(name, False) for name in WIDER.get(mine, ())]
    others += [(name, True) for name, wider in WIDER.items() if mine in wider]
    launches, machine = launches_of(run.execution), run.execution.machine
    for dtype, is_lower in others:
        narrow, wide = (dtype, mine) if is_lower else (mine, dtype)
        stored = {"i8": "int8", "f8e4m3": "int8", "bf16": "f16"}.get(dtype, dtype)
        if has_faster_units(run, narrow, wide) and (
            not is_lower
            or (is_measured(machine, run, stored) and may_be_measured(run, machine, stored))
        ):
            try:
                other = total_of(run, inner, dtype="" if is_whole(run.source, dtype) else dtype)
            except PerfcError:
                continue  # a model that cannot be put in that type bounds nothing
            has_casts = (other.launches > launches) if is_lower else (launches > other.launches)
            if not has_casts and (other.run.is_own or not is_lower):
                yield Bound(other.run.time, is_lower, f"the same in {dtype}")


def by_batch(run: Deployed, _: Sequence[Relation]) -> Iterator[Bound]:
    """Yield limits by smaller powers of two of the batch, down to those that take much less time.

    Where the host launches each kernel, it takes about as long for each of them.
    """
    symbol = batch_symbol(run.source)
    if symbol is None or run.deployment.table.launch is not LaunchMode.EAGER:
        return
    batch, dims = run.env[symbol], run.deployment.dims
    name = symbol if symbol in dims else "batch"
    size, last_s = 1 << (batch - 1).bit_length() >> 1, run.unordered.total.time_s
    while size >= 1 and batch > 1:
        bound = total_of(run, (), dims={**dims, name: size}).run
        words = f"batch {size:,}"
        yield Bound(bound.time, True, words, is_sure=False)
        if 2 * size == batch:
            yield Bound(bound.time * 2.0, False, f"twice {words}", is_sure=False)
        if bound.time.mid * GROWTH < last_s:
            return
        size, last_s = size // 2, bound.time.mid


def by_machine(run: Deployed, inner: Sequence[Relation]) -> Iterator[Bound]:
    """Yield limits by machines with measured runs that are better or worse in every rate."""
    here, stored = run.execution.machine, precision_of(run)
    runtime_name, folder = run.deployment.runtime, run.execution.folder
    for name in runtime_runs.measured_machines(runtime_name, stored, folder):
        there = load_machine(name)
        is_lower = dominates(there, here)
        if (is_lower or dominates(here, there)) and may_be_measured(run, there, stored):
            bound = total_of(run, inner, target=name).run
            if bound.is_own:
                yield Bound(bound.time, is_lower, name)


def dominates(better: Machine, other: Machine) -> bool:
    """Return True if a machine is no worse in any rate or capacity of another of its vendor."""
    if (better.kind, better.vendor) != (other.kind, other.vendor) or better.name == other.name:
        return False
    levels = {level.name: level for level in better.memory}
    return all(
        key in better.compute and better.compute[key].nominal.value >= peak.nominal.value
        for key, peak in other.compute.items()
    ) and all(
        level.name in levels
        and levels[level.name].bandwidth.value >= level.bandwidth.value
        and levels[level.name].capacity_bytes >= level.capacity_bytes
        for level in other.memory
    )


def has_faster_units(run: Deployed, narrow: str, wide: str) -> bool:
    """Return True if the machine's matrix units are faster in a narrower type."""
    machine = run.execution.machine
    rates = [machine.entry(Unit.MATRIX, dtype).nominal.value for dtype in (narrow, wide)]
    return machine.takes(narrow) and rates[0] > rates[1]


def fusing(name: str) -> list[str]:
    """Return the runtimes that fuse a runtime's kernels, those that fuse theirs, and so on."""
    direct = runtime(name).merged_by
    return [*dict.fromkeys((*direct, *(far for near in direct for far in fusing(near))))]


def launching(name: str) -> list[str]:
    """Return the runtimes whose kernels a runtime fuses, those that they fuse, and so on."""
    merged = [table for table in tables() if name in table.merged_by]
    # variants of a framework, such as eager-literal, have later names and bound nothing
    direct = {table.framework: table.name for table in reversed(merged)}.values()
    return [*dict.fromkeys((*direct, *(far for near in direct for far in launching(near))))]


def total_of(
    run: Deployed,
    relations: Sequence[Relation],
    target: str | None = None,
    **changed: Unpack[DeploymentKeywords],
) -> Total:
    """Return the total of a model in a related deployment, computed once for each.

    Raises:
        PerfcError: the model cannot be deployed so.
    """
    totals = _TOTALS.setdefault(run.source.graph, {})  # shared by all sizes
    values = changed if target is None else {"target": target, **changed}
    key = tuple(relations), repr(run.deployment.with_values({**values}))
    if key not in totals:
        if len(totals) >= MOST_TOTALS:
            del totals[next(iter(totals))]
        totals[key] = Total.of(run.with_(target, **changed), relations)
    return totals[key]


def precision_of(run: Deployed) -> str:
    """Return the precision of a run, as rows of runs name it."""
    return precision(run.deployment, stored_element(run.source), run.execution.bounds)


def is_measured(machine: Machine, run: Deployed, stored: str) -> bool:
    """Return True if runs of a run's runtime were measured on a machine in a precision."""
    known = runtime_runs.measured_configurations(machine, folder=run.execution.folder)
    return any((stored, run_key(run.deployment.runtime, one)) in known for one in Network)


def may_be_measured(run: Deployed, machine: Machine, stored: str) -> bool:
    """Return False if no runs of a machine can be the evidence for a run there in a precision.

    Runs of networks of its kind under its runtime can, and measured kernels of the machine and
    graph predictors may.
    """
    execution = run.execution
    if is_measured_whole(run.deployment.table) or of_machine(machine) or execution.module is None:
        return True
    like = run_key(execution.kernels.runtime.measured_name, network_of(execution))
    known = runtime_runs.measured_configurations(machine, folder=execution.folder)
    # a machine without TF32 runs f32
    return any((one, like) in known for one in (WIDE if stored in WIDE else {stored}))


def candidate(table: PredictionTable) -> CandidateRun:
    """Return the total of a table as the candidate of its whole-run predictor.

    It is of measured runs also where kernels measured on the machine correct it (`perfc adapt`).
    """
    total = table.total
    is_own = table.is_own or any(kernel.correction != 1.0 for kernel in table.kernels)
    return CandidateRun(
        total.floor_s, total.time, total.predictor, table.whole, is_own,
        publications=table.publications,
    )  # fmt: skip


def by_container(run: Deployed, _: Sequence[Relation]) -> Iterator[Bound]:
    """Yield the limit by the card, or the larger slice of it, that a slice is part of."""
    container = container_of(run.execution.machine)
    if container is not None:
        bound = total_of(run, RELATIONS, target=str(container)).run
        name = container.name.removesuffix(".toml")
        yield Bound(bound.time, True, f"{name}, of which it is a part")


def by_base(run: Deployed, _: Sequence[Relation]) -> Iterator[Bound]:
    """Yield the limit by the board that a machine is an upgrade of, measured or not."""
    here = run.execution.machine
    base = load_machine(here.upgrade_of) if here.upgrade_of else here
    if dominates(here, base):
        yield Bound(total_of(run, RELATIONS, target=base.name).run.time, False, base.name)


Relation = Callable[[Deployed, "Sequence[Relation]"], Iterator[Bound]]
RELATIONS: Sequence[Relation] = (by_batch, by_machine, by_type, by_runtime, by_base, by_container)
OF_ALL: Sequence[Relation] = (by_container,)
"""Relations that bound deployments with measured runs too."""
