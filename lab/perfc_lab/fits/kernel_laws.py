"""Fit the laws of kernel times: coefficients of physical resources by class and element type.

    python -m perfc_lab.fits.kernel_laws [TRACE ...]

Writes `analyzers/estimators/laws/laws.toml`. Rows are every second operator of
`datasets/h200/operators.csv.gz` by family, type and extents, every second kernel of the traces
next to it, and all kernels of further traces TRACE. The other halves remain for scores. A class is
fitted by least squares on logarithms, robust to outliers. Its times of resources are joined by the
norm whose order predicts rows best that are left out of the fit. Interval ends are quantiles, over
all classes, of these errors in units of the spread of their class.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import least_squares  # type: ignore[import-untyped]
from scipy.stats import norm, t  # type: ignore[import-untyped]

import perfc
from perfc.analyzers.estimators.laws.law import FILE, KernelLaw, within_power
from perfc.analyzers.estimators.laws.resource import KernelResources, Resource
from perfc.analyzers.estimators.laws.resources import resources_of
from perfc.analyzers.features.sheet import Sheet
from perfc.common.fitted import data_next_to
from perfc.errors import TargetError
from perfc.ir import DType, Module, Numbers, record
from perfc.machine import load_machine
from perfc.passes.fusion.kernel import Helper
from perfc.passes.roofline.roofline import RooflineTable
from perfc_lab.data.fitted import as_toml

from ..tables import h200_operators, trace_operators
from ..tables.h200_operators import module_of

TRACES = Path(h200_operators.FILE).parent / "traces"
ORDERS = (1.0, 2.0, 4.0)
"""Exponents with which resources add up: 1 is their sum, larger ones tend to the longest."""
QUANTILES = (0.03, 0.97)
"""Quantiles of the errors of rows left out for an interval of 90 %: wider than 5 and 95 %, as the
resources and norms were chosen on these rows."""
PRIOR_ROWS, PRIOR_SPREAD = 3, 0.15
"""Number of rows that are added to each class before its spread is taken, and their error, as a
logarithm; a class of few rows does not get a narrow spread by chance."""
DRAWN, OF_ONE_NETWORK = "datasets/h200/operators", 0.2
"""Name of the source whose operators were drawn at random, with a weight of 1; and the weight of a
row of any other source in spreads, as the kernels of one network resemble each other."""
MOST_PARTS = 25
"""Maximum fits of a class, each with another part of its rows left out."""
LEAST_RAMP = 0.8
"""Minimum coefficient of the ramp, whose unit is 1 µs: the shortest kernel, a fill, takes 0.85."""
ALSO: Mapping[tuple[str, ...], str] = {("convolution", "f32"): "image convolution"}
"""Further class whose rows a class is fitted to as well, as its kernels run on the same units."""
MOST_AROUND = 0.8
"""Maximum share of the launches around an operator in its time; of a larger one little is left but
the errors of their laws."""
STREAM = (Resource.RAMP, Resource.CACHE, Resource.DEVICE)
"""Resources of kernels that stream tensors: start and end, bytes of the cache and of memory."""
Array = NDArray[np.float64]
CLASSES: dict[tuple[str, ...], tuple[Resource, ...]] = {
    (law["class"], *law["types"]): tuple(
        resource
        for word in law["resources"]
        for resource in (STREAM if word == "stream" else (Resource[word.upper()],))
    )
    for law in data_next_to(__file__)["laws"]
}
"""Resources of a class; keys are the name of the class and the element types that share its law."""
CALLS = {"mul": ("binary", "mul"), "relu": ("unary", "relu6")}
"""Family and function of `module_of` by the operator of NeuSight's table."""
# source of rows that are eager calls on many machines
CALLED = "NeuSight"
LONG_US, LAUNCH_S, MOST_CALLS = 120.0, 8e-6, 4
"""Minimum time of NeuSight's rows, so that the launch in it is a small part; that launch; and
maximum rows of an operator on a device, drawn at random."""


@record
class LawRow:
    """A measured kernel.

    Args:
        subject: its class and resources.
        time_s: measured time of the kernel and of ``others``.
        machine: name of the target.
        source: name of the data.
        others: launches around the kernel that the time includes.
    """

    subject: KernelResources
    time_s: float
    machine: str
    source: str
    others: tuple[KernelResources, ...] = ()


@record
class LawFit:
    """A law with the errors of its rows.

    Args:
        law: the law.
        errors: log measured over predicted time of each row, by a fit without it.
        ramps: share of the ramp in the predicted time of each row.
        weights: 1 for operators that were drawn, less for the similar kernels of one network.
    """

    law: KernelLaw
    errors: Array
    ramps: Array
    weights: Array


def launches_of(
    module: Module, target: str, *, tf32: bool = False, is_last: bool = False
) -> RooflineTable:
    """Return the launches of one operator in a recorded graph of eager PyTorch."""
    layout = "channels-last" if is_last else "channels-first"
    report = perfc.analyze(
        module, target, runtime="cudagraph", predictor="kernels", tf32=tf32, layout=layout
    )
    return report.roofline


def row_of(
    bounds: RooflineTable,
    time_s: float,
    source: str,
    helper: Helper | None = None,
    at: int = 0,
    indexed: float = 0.0,
    crossed: float = 0.0,
) -> LawRow | None:
    """Return a measured operator, or one of its helpers alone; None for kernels of no class.

    ``helper`` and ``at`` choose a helper by its kind and its index among these. ``indexed`` and
    ``crossed`` are shares of elements: of a computed address, and read along another axis.
    """
    sheet, at_sizes = Sheet(bounds.machine), Numbers(bounds.env)
    # an operator is one main kernel and the helpers around it, each with its resources; shares are
    # 0 here, as indexed and crossed elements are those of the main kernel
    each = resources_of([(k, at_sizes, 0.0, 0.0) for k in bounds.kernels], sheet)
    helpers = [(k.kernel.helper, used) for k, used in zip(bounds.kernels, each, strict=True)]
    if helper is not None:
        alone = [s for of, s in helpers if of is helper and s is not None]
        if not alone:
            return None
        return LawRow(alone[at], time_s, bounds.machine.name, source)
    main = [k for k in bounds.kernels if k.kernel.helper is None]
    if len(main) != 1:
        return None
    (subject,) = resources_of([(main[0], at_sizes, indexed, crossed)], sheet)
    others = tuple([s for of, s in helpers if of is not None and s is not None])
    if subject is None:
        return None
    return LawRow(subject, time_s, bounds.machine.name, source, others)


def operators(chosen: Sequence[h200_operators.OperatorRow]) -> Iterator[LawRow]:
    """Yield operators with the launches around them."""
    for r in chosen:
        # a broadcast operand is addressed by computed indices
        shares = {"indexed": 1.0} if "bcast" in str(r.params.get("op")) else {}
        bounds = launches_of(r.module, "h200", tf32=r.dtype == "tf32", is_last=r.is_last)
        law_row = row_of(bounds, r.time_s, DRAWN, **shares)
        if law_row is not None:
            yield law_row


# helper of a trace's kernel, and which of an operator's launches of that helper it is
HELPERS = {
    "layout in": (Helper.LAYOUT, 0),
    "layout out": (Helper.LAYOUT, -1),
    "weights": (Helper.WEIGHT_LAYOUT, 0),
    "statistics": (Helper.STATISTICS, 0),
}


def traced(path: Path, step: int) -> Iterator[LawRow]:
    """Yield every ``step``-th kernel of a trace, then every ``step``-th memory fill."""
    rows = sorted(trace_operators.rows(path), key=lambda r: (r.name, r.kernel, r.time_s))
    source = f"trace {path.name.split('.')[0]}"
    for r in rows[::step]:
        # by default PyTorch multiplies f32 as TF32 in convolutions, not in matrix products
        tf32 = "f32" in source and "conv" in r.name
        bounds = launches_of(r.module, r.device, tf32=tf32, is_last=r.is_last)
        shares = {"indexed": r.indexed, "crossed": r.crossed}
        helper, at = HELPERS.get(r.helper, (None, 0))
        law_row = row_of(bounds, r.time_s, source, helper, at, **shares)
        if law_row is not None:
            # the time of a trace is that of one kernel
            yield replace(law_row, others=())
    # a fill counts as a launch of the nominal 1 µs, without the few bytes that it writes
    fill = KernelResources(Helper.FILL.value, "half", {Resource.RAMP: 1e-6})
    for time_s in trace_operators.fills(path)[::step]:
        yield LawRow(fill, time_s, load_machine("h200").name, source)


def eager_calls(data: Path) -> Iterator[LawRow]:
    """Yield long eager calls in f32 of other machines, without the time of a launch."""
    table = pd.read_parquet(data / "neusight_ops.parquet")
    table = table[(table.latency_us > LONG_US) & table.op.isin(CALLS)]
    for (op, device), group in table.groupby(["op", "device"], observed=True):
        try:
            load_machine(str(device))
        except TargetError:
            continue
        for r in group.sample(min(len(group), MOST_CALLS), random_state=0).itertuples():
            family, function = CALLS[str(op)]
            n = int(r.rows) * int(r.cols)
            module = module_of(family, {"n": n, "op": function}, DType.F32)
            time_s = r.latency_us * 1e-6 - LAUNCH_S
            if module is None:
                continue
            law_row = row_of(launches_of(module, str(device)), time_s, CALLED)
            if law_row is not None:
                yield law_row


def law_s(x: Array, c: Array, order: float) -> Array:
    """Return ``c₀ ramp + (Σ (cᵢ xᵢ)^order)^(1/order)``, but no less than power allows.

    The columns of ``x`` are seconds: of the ramp, of resources, and last at the limit of power.
    """
    parts = x[:, 1:-1] * c[1:]
    # divided by the longest part, so that powers neither overflow nor vanish
    longest = np.maximum(parts.max(axis=1, initial=0.0), 1e-12)
    joined = ((parts / longest[:, None]) ** order).sum(axis=1) ** (1 / order)
    time_s: Array = within_power(x[:, 0] * c[0] + longest * joined, x[:, -1])
    return time_s


def coefficients(x: Array, time_s: Array, order: float) -> Array:
    """Return the coefficients that fit best of several starts of the search.

    Their logarithms are searched, so that none is negative: from -9, next to no time, to 8.
    """
    best: Any = None
    least = np.full(x.shape[1] - 1, -9.0)
    least[0] = math.log(LEAST_RAMP)
    # errors beyond `f_scale` count linearly, so that outliers move the fit little
    for start in (0.0, 1.0, -1.0):
        solution = least_squares(
            lambda z: np.log(law_s(x, np.exp(z), order) / time_s),
            np.maximum(np.full(len(least), start), least + 1e-3),
            loss="soft_l1",
            f_scale=0.15,
            bounds=(least, 8),
        )
        best = solution if best is None or solution.cost < best.cost else best
    return np.exp(np.asarray(best.x))


def left_out(x: Array, time_s: Array, order: float) -> Array:
    """Return log measured over predicted time of each row, by a fit to rows of other parts."""
    errors = np.empty(len(time_s))
    parts = min(len(time_s), MOST_PARTS)
    for part in range(parts):
        is_tested = np.arange(len(time_s)) % parts == part
        c = coefficients(x[~is_tested], time_s[~is_tested], order)
        errors[is_tested] = np.log(time_s[is_tested] / law_s(x[is_tested], c, order))
    return errors


def alone(rows: Sequence[LawRow], known: Mapping[str, LawFit]) -> list[LawRow]:
    """Return rows without the time of the launches around them, by laws that are fitted already."""
    result: list[LawRow] = []
    for r in rows:
        each = [known.get(f"{s.name}, {s.dtype}") for s in r.others]
        others_s = sum(
            fit.law.time_s(s) for fit, s in zip(each, r.others, strict=True) if fit is not None
        )
        if None not in each and others_s < MOST_AROUND * r.time_s:
            result.append(replace(r, time_s=r.time_s - others_s))
    return result


def fitted(rows: Sequence[LawRow], terms: Sequence[Resource]) -> LawFit:
    """Return the law of one class, without its spread, and the errors of rows left out."""
    seconds = [r.subject.seconds for r in rows]
    x = np.array([[s.get(term, 0.0) for term in (*terms, Resource.POWER)] for s in seconds])
    time_s = np.array([r.time_s for r in rows])
    # waves of tiles run one after another, so that only the sum of times is tried
    orders = ORDERS[:1] if Resource.WAVES in terms else ORDERS
    # one order of the norm for the class: the one that predicts rows left out best
    tried = {order: left_out(x, time_s, order) for order in orders}
    order = min(tried, key=lambda o: float(np.abs(tried[o]).mean()))
    c = coefficients(x, time_s, order)
    named = {
        term.value: float(f"{v:.3g}")
        for term, v, used in zip(terms, c, x.any(axis=0)[:-1], strict=True)
        # smaller ones are near the lower end of the search, exp(-9): no effect
        if used and v > 2e-3
    }
    machines = tuple(sorted({r.machine for r in rows if r.source != CALLED}))
    source = ", ".join(sorted({r.source for r in rows}))
    error = float(np.median(np.abs(np.expm1(tried[order]))))
    law = KernelLaw(named, order, (1.0, 1.0), (1.0, 1.0), len(rows), error, machines, source)
    ramps = np.minimum(c[0] * x[:, 0] / law_s(x, c, order), 1.0)
    weights = np.array([1.0 if r.source == DRAWN else OF_ONE_NETWORK for r in rows])
    return LawFit(law, tried[order], ramps, weights)


def with_spreads(fits: Mapping[str, LawFit]) -> dict[str, KernelLaw]:
    """Return laws whose interval ends hold nine in ten of the rows left out.

    Short and long kernels of a class have separate spreads. The quantiles of errors over these
    spreads are those of the rows of all classes together.
    """
    scaled: list[Array] = []
    weights: list[Array] = []
    spreads: dict[str, list[float]] = {}
    for key, fit in fits.items():
        # each row counts for short kernels and for long ones, by the share of its ramp
        share = [fit.weights * fit.ramps, fit.weights * (1 - fit.ramps)]
        squares = [float((s * fit.errors**2).sum()) for s in share]
        spreads[key] = [
            math.sqrt((square + PRIOR_ROWS * PRIOR_SPREAD**2) / (float(s.sum()) + PRIOR_ROWS))
            for square, s in zip(squares, share, strict=True)
        ]
        short, long = spreads[key]
        # errors in units of their spread, which lies between the two: comparable over classes
        scaled.append(fit.errors / (short**fit.ramps * long ** (1 - fit.ramps)))
        weights.append(fit.weights)
    every, weight = np.concatenate(scaled), np.concatenate(weights)
    order = np.argsort(every)
    # share of the weight below the middle of each row
    rank = (np.cumsum(weight[order]) - weight[order] / 2) / weight.sum()
    # both in units of spread; below, 0 keeps the predicted time itself inside
    low, high = (float(np.interp(q, rank, every[order])) for q in QUANTILES)
    return {
        key: replace(
            fit.law,
            low=tuple(
                float(f"{math.exp(min(low, 0) * s):.3g}") for s in widened(fit, spreads[key])
            ),
            high=tuple(
                float(f"{math.exp(max(high, 0) * s):.3g}") for s in widened(fit, spreads[key])
            ),
        )
        for key, fit in fits.items()
    }


def widened(fit: LawFit, spreads: Sequence[float]) -> list[float]:
    """Return spreads widened for few rows: Student's quantile over the normal one, of a new row."""
    n = len(fit.errors) + PRIOR_ROWS
    factor = t.ppf(QUANTILES[1], n - 1) / norm.ppf(QUANTILES[1]) * math.sqrt(1 + 1 / n)
    return [float(factor * s) for s in spreads]


def main() -> None:
    """Fit and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("traces", type=Path, nargs="*")
    options = parser.parse_args()
    launches = list(operators(h200_operators.halves()[0]))
    launches += operators(list(h200_operators.rows(h200_operators.SWEEP)))
    for path in sorted(TRACES.glob("*.json.gz")):
        launches += traced(path, 2)
    for path in options.traces:
        launches += traced(path, 1)
    if options.data:
        launches += eager_calls(options.data)
    fits: dict[str, LawFit] = {}
    # the order of the file: launches around an operator are of classes that come before its class
    for (name, *types), terms in CLASSES.items():
        named = (name, ALSO.get((name, *types)))
        rows = [r for r in launches if r.subject.name in named and r.subject.dtype in types]
        rows = alone(rows, fits)
        # a fit without one of three rows still has two
        if len(rows) < 3:
            print("too few", name, types, len(rows))
            continue
        fit = fitted(rows, terms)
        print(
            name,
            types,
            len(rows),
            fit.law.overlap,
            dict(fit.law.coefficients),
            round(fit.law.error, 3),
        )
        fits |= {f"{name}, {dtype}": fit for dtype in types}
    FILE.write_text(as_toml(with_spreads(fits), "laws of kernel times"), encoding="utf-8")


if __name__ == "__main__":
    main()
