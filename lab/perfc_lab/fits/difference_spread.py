"""Semivariogram of the errors of two kernels of a class, by the distance of their extents.

    python -m perfc_lab.fits.difference_spread DATA datasets/cpu-epyc-2c/kernels.csv.gz

Writes `perfc/review/diff/shared_errors.toml`. Errors are those of held-out rows: of unseen shapes,
and with `--machines`, which takes an hour, of unseen machines too. The semivariogram at a distance
is half the mean square of the difference of two errors, as logarithms, on one machine (Matheron
1963). Errors have long tails and intervals are to hold nine in ten. So the mean square is replaced
by that of the normal distribution with the same 90 % quantile (after Cressie & Hawkins 1980,
"Robust estimation of the variogram"). Its values in bins of distance, every machine with the same
weight, are the larger of the two ways of holding out. They are fitted by
`nugget² + (sill² − nugget²) (1 − exp(−(d / reach)^power))`. Kernels of processors have errors of
the roofline, and their counts of operations and bytes as extents. DATA is the folder that
`perfc data fetch` fills; `--keep` names a folder where errors are stored for the next run.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.features.table import class_of, complete
from perfc.ir.record import record
from perfc.review.diff.shared_errors import (
    ANY,
    FILE,
    NINE_IN_TEN,
    Uncertain,
    coordinates,
    difference,
    semivariograms,
)
from perfc_lab.training.calibration.machines import ForestCache
from perfc_lab.training.evaluate import CallerContext, Tested
from perfc_lab.training.experiments import OperatorExperiment, experiments
from perfc_lab.training.protocols import Holdout, UnseenMachine, UnseenShapes, every_fold, targets

Array = NDArray[np.float64]

# classes of kernels with learned predictors
NAMES = ("convolution", "elementwise", "matmul", "matmul_f32", "normalization", "softmax")
SLOW = frozenset({"matmul", "matmul_f32"})
"""Classes whose predictors are trained with fewer trees and on one fold, as their rows are many;
errors are then larger, which is on the safe side."""
EDGES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Bins of distance, where 1 is a factor of two in one extent; more distant pairs are left out, as
an edit does not replace one such kernel by the other."""
MOST_ROWS = 2500
"""Maximum rows of a machine, drawn at random: all pairs of them are compared."""
POWERS = (1.0, 1.25, 1.5, 1.75, 2.0)
"""Exponents of the exponential variogram that are tried, up to the Gaussian."""
LEAST_PAIRS, LEAST_ROWS = 30, 20
"""Pairs of a distance, and rows of a machine, below which a quantile says nothing."""
PAIRS = 600
"""Pairs of each machine whose differences are checked against their intervals."""
MOST = 3.0
"""Largest error as a logarithm, a factor of 20; larger ones are clipped to it."""
KINDS = (
    "conv",
    "elementwise",
    "matmul",
    "movement",
    "normalization",
    "pool",
    "reduction",
    "softmax",
)
"""Kinds of kernels on processors, whose predictor here is the roofline alone."""
COLUMNS = ["flop", "read_bytes", "write_bytes"]
"""Counts of a processor's kernel that stand for its extents."""
# first lines of the file
HEAD = 'schema = 1\ntitle = "own errors of kernels: standard deviations of logarithms"\n'


@record
class Errors:
    """Measured and predicted times of the kernels of one machine.

    Args:
        place: a row per kernel with its coordinates, as `difference.coordinates` has them.
        times_s: a row per kernel: measured, low, predicted and high.
    """

    place: Array
    times_s: Array

    @property
    def error(self) -> Array:
        """Return the logarithm of measured over predicted time."""
        measured, _, mid, _ = self.times_s.T  # the others are the ends of the interval
        clipped: Array = np.clip(np.log(measured / mid), -MOST, MOST)
        return clipped

    def drawn(self, rng: np.random.Generator) -> Errors:
        """Return at most `MOST_ROWS` of the rows, drawn at random."""
        if len(self.error) <= MOST_ROWS:
            return self
        which = rng.choice(len(self.error), MOST_ROWS, replace=False)
        return Errors(self.place[which], self.times_s[which])


@record
class FittedSemivariogram:
    """A fitted semivariogram; the formula is in the module's docstring.

    Args:
        nugget: standard deviation, in logarithms, between two kernels at distance 0.
        sill: the same between two distant kernels.
        reach: distance over which it rises from nugget to sill.
        power: exponent of the rise.
        rows: number of kernels that it was fitted to.
    """

    nugget: float
    sill: float
    reach: float
    power: float
    rows: int


def held_out(
    experiment: OperatorExperiment, folder: Path, *, machines: bool, quick: bool
) -> Iterator[list[Tested]]:
    """Yield rows with predictions of models trained without them, a list per way of holding out."""
    blocks = experiment.rows(folder)
    if quick:
        # the recipe for machines left out has fewer trees
        recipe = experiment.recipe.for_unseen_machine()
        experiment = replace(experiment, recipe=recipe, every_fold=False)
    shapes = (
        every_fold(experiment.group) if experiment.every_fold else (UnseenShapes(experiment.group),)
    )
    ways: list[tuple[Holdout, ...]] = [shapes]
    # one training for each machine: the hour that `--machines` takes
    if machines:
        ways.append(tuple(UnseenMachine(t) for t in targets(blocks)))
    for holdouts in ways:
        # forests that several machines share are grown once
        memory, tested = ForestCache(), list[Tested]()
        for holdout in holdouts:
            cache = memory if isinstance(holdout, UnseenMachine) else None
            tested += experiment.tested(blocks, holdout, print, cache).get(
                CallerContext.EVERYTHING, []
            )
        yield tested


def of_machines(name: str, tested: Sequence[Tested]) -> list[Errors]:
    """Return the errors by machine, element type, protocol and framework."""
    kind = class_of(name)
    parts: dict[tuple[object, ...], list[Errors]] = {}
    for t in tested:
        columns = complete(kind, t.rows.columns)
        # a derived column follows from the others and adds no distance
        free = [column for name, column in sorted(columns.items()) if name not in kind.derived]
        place = np.stack([coordinates_of(column) for column in free], axis=1)
        estimates = t.estimates
        times_s = np.stack(
            [t.rows.time_s, estimates.low_s, estimates.time_s, estimates.high_s], axis=1
        )
        key = (t.rows.target, t.rows.dtype, t.rows.protocol, t.rows.framework)
        parts.setdefault(key, []).append(Errors(place, times_s))
    return [joined(p) for p in parts.values()]


def coordinates_of(column: Array) -> Array:
    """Return one extent of many kernels as a coordinate."""
    # many kernels have the same extent, and each is converted by a call
    unique, back = np.unique(column, return_inverse=True)
    each = [coordinates({"": float(value)})[0][1] for value in unique]
    return np.array(each)[back.reshape(-1)]


def joined(parts: Sequence[Errors]) -> Errors:
    """Return the errors of several blocks of one machine as one."""
    return Errors(
        np.concatenate([p.place for p in parts]), np.concatenate([p.times_s for p in parts])
    )


def processor(path: Path, kind: str) -> list[Errors]:
    """Return errors of a processor's kernels against the sustained roofline, by number of threads.

    A kernel that several runs have counts once, with its median time.
    """
    rows = pd.read_csv(path)
    rows = rows[(rows.kind == kind) & (rows.time_s > rows.inserted_s) & (rows.sustained_s > 0)]
    # other kernels were merged with neighbours by the runtime, and share one measured time
    rows = rows[rows.part_s == rows.time_s]
    rows = rows.assign(
        # `inserted_s` is copies and changes of layout that the runtime adds: no kernel of the model
        ratio=(rows.time_s - rows.inserted_s) / rows.sustained_s,
        flop=2 * rows.mac + rows.alu + rows.sfu,
    )
    result = []
    for _, block in rows.groupby("threads"):
        once = block.groupby(["op", *COLUMNS], as_index=False)[["ratio", "sustained_s"]].median()
        low, mid, high = once.ratio.quantile([0.05, 0.5, 0.95])
        place = np.stack([coordinates_of(once[n].to_numpy(float)) for n in COLUMNS], axis=1)
        # columns: the roofline, which the next line makes the measured time, and the roofline at
        # the 5 %, 50 % and 95 % quantiles of the ratio, as low, predicted and high
        times_s = np.outer(once.sustained_s, [1.0, low, mid, high])
        times_s[:, 0] *= once.ratio
        result.append(Errors(place, times_s))
    return result


def bins(machines: Sequence[Errors]) -> tuple[Array, Array]:
    """Return the mean distance in every bin, and the root of the semivariogram; NaN if empty."""
    rng = np.random.default_rng(0)
    squares: list[list[float]] = [[] for _ in EDGES[1:]]
    centres: list[list[float]] = [[] for _ in EDGES[1:]]
    for machine in (m.drawn(rng) for m in machines if len(m.error) >= LEAST_ROWS):
        # each pair of kernels once: the upper triangle of all differences
        above = np.triu_indices(len(machine.error), 1)
        squared = sum(np.subtract.outer(c, c)[above] ** 2 for c in machine.place.T)
        distance = np.sqrt(squared)
        off = np.abs(np.subtract.outer(machine.error, machine.error)[above])
        for k, (low, high) in enumerate(pairwise(EDGES)):
            inside = (distance >= low) & (distance < high)
            if inside.sum() >= LEAST_PAIRS:
                # half the square of the deviation of a normal distribution with as many inside
                squares[k].append((float(np.quantile(off[inside], 0.9)) / NINE_IN_TEN) ** 2 / 2)
                centres[k].append(float(distance[inside].mean()))
    nan = float("nan")
    values = np.array([np.sqrt(np.mean(s)) if s else nan for s in squares])
    return np.array([np.mean(c) if c else nan for c in centres]), values


def fitted(ways: Sequence[Sequence[Errors]]) -> FittedSemivariogram:
    """Return the semivariogram of the worse way of holding out, bin by bin."""
    each = [bins(machines) for machines in ways]
    worst = max(range(len(each)), key=lambda k: float(np.nanmax(each[k][1])))
    centre = each[worst][0]
    value = np.fmax.reduce([v for _, v in each])
    has_pairs = np.isfinite(centre) & np.isfinite(value)
    centre, value = centre[has_pairs], value[has_pairs]
    print("   ", " ".join(f"{c:.2g}: {v:.2f}" for c, v in zip(centre, value, strict=True)))
    sill = float(value.max())
    # a grid of nuggets, of reaches, eight for each factor of two, and of powers; the sill is the
    # value of the largest bin
    best = (float("inf"), sill, 1.0, 1.0)
    for nugget in np.linspace(0.1, 1.0, 91) * sill:
        for reach, power in product(np.geomspace(0.25, 16, 49), POWERS):
            faded = 1 - np.exp(-((centre / reach) ** power))
            off = np.log(np.sqrt(nugget**2 + (sill**2 - nugget**2) * faded) / value)
            # an interval that misses is worse than a wide one: such an error counts nine times (3²)
            loss = float((np.where(off < 0, 3 * off, off) ** 2).sum())
            best = min(best, (loss, float(nugget), float(reach), power))
    rows = sum(len(m.error) for machines in ways for m in machines)
    _, best_nugget, best_reach, best_power = best
    return FittedSemivariogram(best_nugget, sill, best_reach, best_power, rows)


def coverage(group: str, machines: Sequence[Errors]) -> str:
    """Return, as text, the share of measured differences of two kernels inside their interval."""
    rng = np.random.default_rng(1)
    inside: list[list[bool]] = [[] for _ in EDGES[1:]]
    predictor, _, class_name = group.partition(".")
    for machine in (m.drawn(rng) for m in machines if len(m.error) >= LEAST_ROWS):
        ordered = np.argsort(machine.place @ rng.standard_normal(machine.place.shape[1]))
        firsts = rng.integers(0, len(ordered), PAIRS)
        # seven in ten pairs are near along a random line, at most eight places from each other, so
        # that bins of small distance have pairs as well; the others are any two
        steps = np.where(
            rng.random(PAIRS) < 0.7, rng.integers(1, 9, PAIRS), rng.integers(1, len(ordered), PAIRS)
        )
        for i, j in zip(ordered[firsts], ordered[(firsts + steps) % len(ordered)], strict=True):
            distance = float(np.sqrt(((machine.place[i] - machine.place[j]) ** 2).sum()))
            sides = [
                Uncertain(
                    (predictor, class_name),
                    tuple((f"x{n}", float(x)) for n, x in enumerate(machine.place[k])),
                    Interval(*map(float, machine.times_s[k, 1:])),
                )
                for k in (i, j)
            ]
            # an edit that replaces the first kernel by the second
            interval = difference(sides[:1], sides[1:])
            k = int(np.searchsorted(EDGES, distance, side="right")) - 1
            if interval is not None and k < len(inside):
                true = float(machine.times_s[j, 0] - machine.times_s[i, 0])
                inside[k].append(interval.low <= true <= interval.high)
    parts = [
        f"{e:g}: {100 * np.mean(x):.0f} %"
        for e, x in zip(EDGES[1:], inside, strict=True)
        if len(x) >= LEAST_PAIRS
    ]
    every = [x for part in inside for x in part]
    whole = f"{group}: {100 * np.mean(every):.0f} % of {len(every)} inside"
    return f"{whole}; up to distance {', '.join(parts)}"


def stored(folder: Path, name: str) -> list[list[Errors]]:
    """Return the errors that an earlier run wrote, a list for each way of holding out."""
    ways = []
    for way in ("shapes", "machines"):
        path = folder / f"{name}-{way}.npz"
        if path.is_file():
            with np.load(path) as data:
                count = len(data.files) // 2
                ways.append([Errors(data[f"place{k}"], data[f"times{k}"]) for k in range(count)])
    return ways


def keep(folder: Path, name: str, ways: Sequence[Sequence[Errors]]) -> None:
    """Write errors into a folder, for `stored` to read in the next run."""
    for way, machines in zip(("shapes", "machines"), ways, strict=False):
        arrays = {f"place{k}": m.place for k, m in enumerate(machines)}
        arrays |= {f"times{k}": m.times_s for k, m in enumerate(machines)}
        np.savez_compressed(folder / f"{name}-{way}.npz", **arrays)  # type: ignore[arg-type]


def table(name: str, fit: FittedSemivariogram) -> str:
    """Return the entry of a semivariogram in the TOML file, as text."""
    names = ("nugget", "sill", "reach", "power")
    numbers = "".join(f"{n} = {getattr(fit, n):.3g}\n" for n in names)
    return f'["{name}"]\n{numbers}rows = {fit.rows}\n'


def main() -> None:
    """Fit and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("processor", type=Path)
    parser.add_argument("--machines", action="store_true")
    parser.add_argument("--quick", action="store_true", help="small forests, one fold, wider")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.mkdtemp(prefix="perfc-")))
    options = parser.parse_args()
    errors: dict[str, list[list[Errors]]] = {}
    fits: dict[str, FittedSemivariogram] = {}
    for name in NAMES:
        ways = stored(options.keep, name)
        if not ways:
            experiment = experiments()[name]
            assert isinstance(experiment, OperatorExperiment)
            tested = held_out(
                experiment,
                options.data,
                machines=options.machines,
                quick=options.quick or name in SLOW,
            )
            ways = [of_machines(name, way) for way in tested]
            keep(options.keep, name, ways)
        errors[f"learned.{name}"] = ways
    for kind in KINDS:
        errors[f"roofline.{kind}"] = [processor(options.processor, kind)]
    for group, ways in errors.items():
        print(group)
        fits[group] = fitted(ways)
    # classes without a fit have the widest: the largest nugget, and the rest of the largest sill
    worst = max(fits.values(), key=lambda fit: fit.sill)
    nugget = max(fit.nugget for fit in fits.values())
    rows = sum(fit.rows for fit in fits.values())
    fits[ANY] = FittedSemivariogram(nugget, worst.sill, worst.reach, worst.power, rows)
    text = "\n".join([HEAD, *(table(*entry) for entry in fits.items())])
    FILE.write_text(text, encoding="utf-8")
    print(text)
    # coverage is checked with the file just written, which a cached one would hide
    semivariograms.cache_clear()
    for group, ways in errors.items():
        for machines in ways:
            print(coverage(group, machines))


if __name__ == "__main__":
    main()
