"""How well calibrate repeats: ceilings against their median, products against NumPy.

    python benchmarks/calibrate_repeat.py --runs 3 [--device cpu] [--quick] [--keep FOLDER]

Exits with 1 where a ceiling is more than 10 % from the median of the runs that were not refused, or
where the sustained product rate is outside 0.95 to 1.05 of a plain loop of NumPy's own products.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from perfc.calibrate import Calibration, calibrate
from perfc.kernels.backend import MeasurementError
from perfc.machine import Machine

LIMIT = 0.10
RATIO = (0.95, 1.05)
PRODUCT = "compute.matrix.f32.sustained_flop_per_s"
MEASURED = ("sustained", "one_core", "latency_s", "launch_", "clock_sustained")


def product_rate(extent: int, seconds: float = 3.0) -> float:
    """NumPy's own products in a row: median of the best third, as anyone would write it."""
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


def ceilings(machine: Machine) -> dict[str, float]:
    return {
        key: rate.value
        for key, rate in machine.facts.items()
        if key.rpartition(".")[2].startswith(MEASURED) and rate.source == "lab"
    }


def compare(runs: list[dict[str, float]]) -> float:
    """Print every ceiling of every run; the largest distance from the median."""
    worst = 0.0
    for key in runs[0]:
        values = [r[key] for r in runs if key in r]
        middle = statistics.median(values)
        gap = max(abs(v / middle - 1) for v in values)
        if "launch_" not in key:  # no ceiling: it depends on where the system puts threads
            worst = max(worst, gap)
        shown = "  ".join(f"{v:.4g}" for v in values)
        print(f"{key:58} {middle:10.4g}  {gap:6.1%}{' !' if gap > LIMIT else '  '}  {shown}")
    return worst


def attempt(
    device: str, file: Path, *, quick: bool, resumes: int
) -> Calibration | MeasurementError:
    """A calibration, resumed where rounds disagree, as its message advises."""
    for turn in range(resumes + 1):
        try:
            return calibrate(device, file, resume=turn > 0, quick=quick)
        except MeasurementError as error:
            refused = error
    return refused


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--resumes", type=int, default=2, help="of a run that is refused")
    parser.add_argument("--keep", type=Path, help="folder for the files; by default none is kept")
    given = parser.parse_args()
    runs, ratios, refused = list[dict[str, float]](), list[float](), 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        for index in range(given.runs):
            start = time.perf_counter()
            file = folder / f"run{index}.toml"
            done = attempt(given.device, file, quick=given.quick, resumes=given.resumes)
            if isinstance(done, MeasurementError):
                refused += 1
                print(
                    f"run {index}: {time.perf_counter() - start:.0f} s, refused: {done}", flush=True
                )
                continue
            runs.append(ceilings(done.machine))
            line = f"run {index}: {time.perf_counter() - start:.0f} s"
            if given.device == "cpu" and PRODUCT in runs[-1]:
                size = done.machine.facts[PRODUCT].note.removeprefix("n = ")
                ratios.append(runs[-1][PRODUCT] / product_rate(int(size)))
                line += f", product rate {ratios[-1]:.3f} of a plain loop of n = {size}"
            print(line, flush=True)
    worst = compare(runs) if runs else 0.0
    summary = {
        "runs": given.runs,
        "refused": refused,
        "worst": round(worst, 4),
        "ratios": [round(r, 3) for r in ratios],
    }
    print(json.dumps(summary))
    bad = worst > LIMIT or any(not RATIO[0] <= r <= RATIO[1] for r in ratios)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
