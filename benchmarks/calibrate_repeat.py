"""Repeatability of calibrate, and its accuracy: ceilings of runs against their median.

    python benchmarks/calibrate_repeat.py --runs 3 [--device cpu] [--quick] [--keep FOLDER]

Exits with 1 where a figure that no run calls uncertain is more than 10 % from the median of the
runs, where the sustained product rate, if certain, is outside 0.95 to 1.05 of a plain loop of
NumPy's own products, where a peak is below what some run saw, or where a quick run takes 20 s.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.arguments import parser_of
from perfc.machine import Machine, Peak, Rate
from perfc.measuring.calibrate import calibrate

LIMIT = 0.10
RATIO = (0.95, 1.05)
PRODUCT = "compute.matrix.f32.sustained_flop_per_s"
QUICK_S = 20.0


def product_rate(extent: int, seconds: float = 3.0) -> float:
    """Return the rate of products by NumPy in a plain loop: the median of the best third."""
    rng = np.random.default_rng(0)
    a, b = rng.random((2, extent, extent), np.float32)
    c = np.empty_like(a)
    times = []
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        np.matmul(a, b, out=c)
        times.append(time.perf_counter() - begin)
    best = sorted(times)[: max(len(times) // 3, 1)]
    return 2 * extent**3 / statistics.median(best)


def measured(machine: Machine) -> dict[str, Rate]:
    """Return the measured figures of a machine by key."""
    return {key: rate for key, rate in machine.facts.items() if rate.spread is not None}


def compare(runs: list[dict[str, Rate]]) -> float:
    """Print every figure of every run; return the largest relative distance from a median.

    Only figures that a run calls certain count.
    """
    worst = 0.0
    for key in dict.fromkeys(k for r in runs for k in r):
        rates = [r[key] for r in runs if key in r]
        middle = statistics.median(r.value for r in rates)
        gap = max(abs(r.value / middle - 1) for r in rates)
        certain = [r for r in rates if not r.is_uncertain]
        if "launch_" not in key:  # no ceiling: it depends on where the system puts threads
            worst = max([worst, *(abs(r.value / middle - 1) for r in certain)])
        shown = "  ".join(f"{r.value:.4g}{' ?' if r.is_uncertain else ''}" for r in rates)
        print(f"{key:50} {middle:10.4g}  {gap:6.1%}{' !' if gap > LIMIT else '  '}  {shown}")
    return worst


def broken_peaks(machines: list[Machine]) -> list[str]:
    """Return the peaks that some run's best round is above: floors made of them would be wrong."""
    best: dict[str, float] = {}
    for machine in machines:
        for rates in (*machine.compute.values(), *machine.memory):
            if rates.sustained is not None and rates.sustained.spread is not None:
                key, seen = rates.sustained.key, rates.sustained.spread.best
                best[key] = max(seen, best.get(key, 0.0))
    return [
        f"{machine.name}: {rates.sustained.key}"
        for machine in machines
        for rates in (*machine.compute.values(), *machine.memory)
        if rates.sustained is not None
        and (rates.peak if isinstance(rates, Peak) else rates.bandwidth).value
        < best.get(rates.sustained.key, 0.0)
    ]


def load_of(notes: tuple[str, ...]) -> str:
    """Return the note of a calibration about other programs."""
    return next((n for n in notes if n.startswith("other programs")), "load not readable")


def main() -> int:
    parser = parser_of(__doc__, runs=3, device="cpu", quick=False)
    parser.add_argument("--keep", type=Path, help="folder for the files; by default none is kept")
    given = parser.parse_args()
    runs, ratios, times_s = list[Machine](), list[float](), list[float]()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        for index in range(given.runs):
            load = os.getloadavg()[0]
            start = time.perf_counter()
            done = calibrate(given.device, folder / f"run{index}.toml", quick=given.quick)
            times_s.append(time.perf_counter() - start)
            runs.append(done.machine)
            figures = measured(done.machine)
            line = (
                f"run {index}: {times_s[-1]:.1f} s at load {load:.1f}, "
                f"{len(done.uncertain)} of {len(figures)} figures uncertain; {load_of(done.notes)}"
            )
            product = figures.get(PRODUCT)
            if given.device == "cpu" and product is not None:
                size = product.note.removeprefix("n = ")
                ratio = product.value / product_rate(int(size))
                line += f"; product rate {ratio:.3f} of a plain loop of n = {size}"
                line += " (uncertain)" if product.is_uncertain else ""
                ratios += [] if product.is_uncertain else [ratio]
            print(line, flush=True)
    worst, broken = compare([measured(m) for m in runs]), broken_peaks(runs)
    summary = {
        "runs": given.runs,
        "seconds": [round(t, 1) for t in times_s],
        "worst certain": round(worst, 4),
        "ratios": [round(r, 3) for r in ratios],
        "peaks below what was seen": broken,
    }
    print(json.dumps(summary))
    late = given.quick and max(times_s) > QUICK_S
    bad = worst > LIMIT or any(not RATIO[0] <= r <= RATIO[1] for r in ratios)
    return 1 if bad or late or broken else 0


if __name__ == "__main__":
    sys.exit(main())
