"""Fits what a machine and a runtime sustain, class by class, to measured kernels.

The time of a kernel is a sum of terms (``classes``); their rates are fitted by least squares of
relative errors with coefficients that are not negative, so that more work never takes less time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from perfc.analyzers.estimators.fitted_rates.classes import Term, classify
from perfc.analyzers.estimators.fitted_rates.efficiencies import HOST, MOVES, Efficiencies
from perfc.analyzers.estimators.fitted_rates.subject import KernelSubject
from perfc.errors import ParseError
from perfc.ir import record

from ..tables.rows import KernelRow, ModelRow, subject_of

if TYPE_CHECKING:
    pass

LEAST_SAMPLES = 6
"""A class with fewer kernels falls back on the next wider class."""
SMALL_S = 5e-6
"""Errors of kernels far below this count absolutely, not relatively."""
MOST_OVERHEAD_S = 8e-6
LEAST_LEFT = 0.1
LARGEST_FACTOR = 1.5
USUAL_SPREAD = 0.12
INSERTED = frozenset({"ReorderInput", "ReorderOutput", "MemcpyToHost", "MemcpyFromHost"})
"""Operators that runtimes insert to copy or to change layout."""
RIDGE = 0.02
USUAL: Mapping[Term, float] = {
    Term.LAUNCH: 2e-5,
    Term.VIEW: 2e-6,
    Term.MAC: 1e-9,
    Term.ELEMENT: 5e-9,
    Term.SPECIAL: 5e-9,
    Term.BYTE: 1e-9,
    Term.MID_BYTE: 1e-9,
    Term.FAR_BYTE: 1e-9,
    Term.WEIGHT_BYTE: 1e-9,
    Term.STORE_BYTE: 1e-9,
    Term.ROW: 3e-7,
    Term.MOVED_BYTE: 1e-9,
}
"""Seconds that a unit of each term takes at most on slow processors."""
COPY_S = 3e-9
"""A row of what only moves elements: one piece that is copied."""
SPAN_S = 3e-8
"""A row of what maps elements: one call for a span of a broadcast."""

Key = tuple[str, str, int]
"""Model digest, values of the symbols, threads: one measured run."""


@record
class FitSample:
    """One timed kernel: what it is, and its time without copies."""

    run: Key
    subject: KernelSubject
    time_s: float
    copied_s: float


def key_of(row: KernelRow | ModelRow) -> Key:
    """The run that a row belongs to."""
    return row.digest, row.dims, row.threads


def samples_of(
    kernels: Iterable[KernelRow], models: Iterable[ModelRow], *, best: bool = False
) -> tuple[list[FitSample], list[float]]:
    """Kernels that were timed alone, and the times of nodes that launch no analyzed kernel.

    What profiling added to each kernel, as the whole runs tell, is taken off. Kernels of a run that
    was disturbed are scaled so that together they take what the whole run took.

    Args:
        kernels: rows.
        models: rows of the same runs.
        best: shortest times instead of medians, for a machine that others use too.
    """
    runs = {key_of(m): m for m in models}
    added_s = overhead_s(list(runs.values()))
    parts: dict[tuple[Key, int], list[KernelRow]] = {}
    for r in kernels:
        parts.setdefault((key_of(r), r.part), []).append(r)
    samples: list[FitSample] = []
    host: list[float] = []
    for (key, _), rows in parts.items():
        r = rows[0]
        run = runs.get(key)
        time_s = r.best_s if best else r.part_s
        if run is None or time_s <= 0:
            continue
        scale = time_s / r.part_s if r.part_s > 0 else 1.0
        whole = settled(run, added_s)
        count, copies = runtime_count(r.runtime_ops), runtime_count(r.runtime_ops, INSERTED)
        copied_s = r.inserted_s * scale
        own_s = less(time_s - copied_s, added_s * (count - copies))
        if r.kernel < 0:
            host.append(whole * own_s / max(count, 1))
        elif len(rows) == 1:
            copied_s = less(copied_s, added_s * copies)
            samples.append(FitSample(key, subject_of(r), whole * own_s, whole * copied_s))
    return samples, host


def settled(run: ModelRow, added_s: float) -> float:
    """Factor by which a run's kernels differ from the whole run, where something disturbed one."""
    kernel_s = less(run.kernel_s, added_s * run.runtime_kernels)
    if kernel_s <= 0:
        return 1.0
    factor = run.time_s / kernel_s
    if abs(factor - 1) < USUAL_SPREAD:
        return 1.0
    return min(max(factor, 1 / LARGEST_FACTOR), LARGEST_FACTOR)


def less(time_s: float, extra_s: float) -> float:
    """A time without what was added to it; something is always left."""
    return max(time_s - extra_s, LEAST_LEFT * time_s)


def runtime_count(runtime_ops: str, only: frozenset[str] = frozenset()) -> int:
    """Kernels of the runtime in a cell such as ``Conv+ReorderOutput*2``; or ``only`` of these."""
    total = 0
    for word in runtime_ops.split("+"):
        op, _, times = word.partition("*")
        if not only or op in only:
            total += int(times) if times.isdigit() else 1
    return total


def overhead_s(runs: Sequence[ModelRow]) -> float:
    """Return the profiling overhead per kernel: the median over whole runs of short kernels.

    Runs of long kernels tell little: what they differ by from time to time is more.
    """
    extras = [
        ((r.kernel_s - r.time_s) / r.runtime_kernels, r.time_s / r.runtime_kernels)
        for r in runs
        if r.runtime_kernels and r.kernel_s > 0
    ]
    extras.sort(key=lambda e: e[1])
    short = [extra for extra, _ in extras[: max(len(extras) // 4, LEAST_SAMPLES)]]
    return min(max(median(short), 0.0), MOST_OVERHEAD_S) if short else 0.0


def fit(samples: Sequence[FitSample], host: Sequence[float] = ()) -> Efficiencies:
    """Rates of every class that has enough kernels.

    Raises:
        ParseError: there is nothing to fit.
    """
    from .nnls import robust

    if not samples:
        raise ParseError("no kernel was timed alone: nothing to fit")
    groups: dict[str, list[tuple[Mapping[Term, float], float]]] = {}
    for s in samples:
        classes = classify(s.subject)
        for name in classes.names:
            groups.setdefault(name, []).append((classes.terms, s.time_s / s.subject.launches))
    groups[MOVES] = [
        ({Term.LAUNCH: 1.0, Term.MOVED_BYTE: s.subject.moved_bytes}, s.copied_s)
        for s in samples
        if s.copied_s > 0 and s.subject.moved_bytes > 0
    ]
    seconds: dict[str, Mapping[Term, float]] = {}
    for name, group in groups.items():
        if len(group) < LEAST_SAMPLES:
            continue
        terms = sorted({t for q, _ in group for t in q}, key=list(Term).index)
        limits = [usual(name, t) for t in terms]
        fitted = robust(*tabled(name, group, terms), limits)
        seconds[name] = {t: c for t, c in zip(terms, fitted, strict=True) if c > 0}
    if host:
        seconds[HOST] = {Term.LAUNCH: median(host)}
    counts = {name: len(group) for name, group in groups.items() if name in seconds}
    return Efficiencies(seconds, counts)


def usual(name: str, term: Term) -> float:
    """Return the maximum time of a unit of a term in a class."""
    if term is not Term.ROW or name.startswith(("conv", "gemm")):
        return USUAL[term]
    return SPAN_S if name.startswith("elementwise") else COPY_S


def tabled(
    name: str, group: Sequence[tuple[Mapping[Term, float], float]], terms: Sequence[Term]
) -> tuple[list[list[float]], list[float], list[float]]:
    """Quantities, times and weights of a class's kernels.

    For each term a sample is added that says it costs nothing, weak where the cost is usual, so
    that what the kernels do not tell apart is not blamed on a term that grows out of their range.
    Source: Hoerl & Kennard 1970, ridge regression.
    """
    table = [[q.get(t, 0.0) for t in terms] for q, _ in group]
    times = [time_s for _, time_s in group]
    weights = [1 / (t + SMALL_S) ** 2 for t in times]
    for i, t in enumerate(terms):
        table.append([1.0 if i == j else 0.0 for j in range(len(terms))])
        times.append(0.0)
        weights.append(RIDGE / usual(name, t) ** 2)
    return table, times, weights
