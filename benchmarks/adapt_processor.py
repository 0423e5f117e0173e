"""What rows of a few models do for others on a processor, where a roofline answers.

    python benchmarks/adapt_processor.py datasets/cpu-epyc-2c

Takes the kernels of some models, corrects the roofline by them as `perfc adapt` does, and predicts
the total time of every run of all other models. Prints mean and median absolute error, without
correction and after rows of one, two and four models drawn at random.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, median

from perfc.analyzers.estimators.roofline import measured_share
from perfc.analyzers.intervals.adapt import Correction, adapt, of_class
from perfc.ir.op import Kind
from perfc.machine import load_machine
from perfc.measuring.adapt import ROOFLINE, of_kernel, residuals
from perfc.measuring.measure import dataset
from perfc.measuring.measure.rows import KernelRow, ModelRow

TARGET = "generic-x86-64"
MODELS, DRAWS = (1, 2, 4), 20


def total_s(kernels: Sequence[KernelRow], corrections: Mapping[str, Correction]) -> float:
    """Predicted time of a run."""
    whole = 0.0
    for row in kernels:
        time_s = row.sustained_s * measured_share("cpu", Kind(row.kind)).mid
        own = of_class(corrections, ROOFLINE, row.kind)
        if own is not None:
            time_s *= own.at(time_s / row.launches)
        whole += max(time_s, row.floor_s)
    return whole


def main() -> None:
    """Print a line for each number of threads and models."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    kernels = dataset.read(folder / "kernels.csv.gz", KernelRow)
    models = dataset.read(folder / "models.csv.gz", ModelRow)
    machine = load_machine(TARGET)
    print("| threads | models | kernels | mean error | median |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for threads in sorted({m.threads for m in models}):
        measured = {(m.digest, m.dims): m.time_s for m in models if m.threads == threads}
        runs: dict[tuple[str, str], list[KernelRow]] = {key: [] for key in measured}
        for k in kernels:
            if k.threads == threads and k.kernel >= 0 and (k.digest, k.dims) in runs:
                runs[k.digest, k.dims].append(k)
        digests = sorted({digest for digest, _ in runs})
        for count in (0, *MODELS):
            errors: list[float] = []
            seen: list[int] = []
            for draw in range(DRAWS if count else 1):
                chosen = random.Random(draw).sample(digests, count)
                rows = [m for r in runs if r[0] in chosen for k in runs[r] for m in of_kernel(k)]
                found = adapt(residuals(rows, machine)).corrections if rows else {}
                others = [r for r in runs if r[0] not in chosen]
                errors += [abs(total_s(runs[r], found) / measured[r] - 1) for r in others]
                seen.append(len(rows))
            print(
                f"| {threads} | {count} | {median(seen):.0f} | {mean(errors):.1%} "
                f"| {median(errors):.1%} |"
            )


if __name__ == "__main__":
    main()
