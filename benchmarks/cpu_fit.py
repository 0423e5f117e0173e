"""Fits efficiencies to some models of a dataset and predicts the total times of others.

    python benchmarks/cpu_fit.py datasets/cpu-zen5-2c/kernels.csv.gz
    python benchmarks/cpu_fit.py ROWS --models ../shared/models --target my.toml

Models to fit to are chosen by the classes of their kernels, without looking at any time; the
others are drawn at random. With `--models`, the fit is written into a copy of the target file,
and the other models are analysed with it as a user would; without, predictions are made from rows.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from perfc.analyzers.estimators.fitted_rates import of_machine
from perfc.analyzers.estimators.fitted_rates.classes import classify
from perfc.api import analyze
from perfc.measuring.measure.fitting import fit_file
from perfc.measuring.measure.fitting.evaluate import PredictedRun, leave_one_out, predict
from perfc.measuring.measure.fitting.fit import LEAST_SAMPLES, fit, samples_of, total_s
from perfc.measuring.measure.tables.dataset import read, write
from perfc.measuring.measure.tables.rows import KernelRow, ModelRow, subject_of

GOAL = 0.12
LIMIT = 0.15
TABLE = "ort-cpu-blocked"


def is_single(m: ModelRow | KernelRow) -> bool:
    """Whether a run is at batch 1."""
    return "=4" not in m.dims.split(" ")[0]


def analysed(
    options: argparse.Namespace, kernels: list[KernelRow], models: list[ModelRow],
    train: set[str], tests: list[ModelRow],
) -> list[PredictedRun]:  # fmt: skip
    """Total times of the test models by the analysis with a fitted target file."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "kernels.csv"
        write(rows, [k for k in kernels if k.digest in train])
        write(Path(folder) / "models.csv", [m for m in models if m.digest in train])
        target = Path(folder) / "fitted.toml"
        fit_file.fit_from(rows, options.target, target)
        found: list[PredictedRun] = []
        for m in tests:
            path = next(options.models.glob(f"{m.model}.onnx*"), None)
            if path is None:
                continue
            dims = {k: int(v) for k, _, v in (d.partition("=") for d in m.dims.split())}
            report = analyze(str(path), str(target), dims=dims, runtime=TABLE)
            efficiencies = of_machine(report.machine, TABLE)
            assert efficiencies is not None
            total = total_s(report, efficiencies)
            found.append(PredictedRun(m.model, m.dims, m.time_s, total, report.roofline.floor_s))
        return found


def choose(kernels: Sequence[KernelRow], count: int) -> list[str]:
    """Digests of the models to fit to, so that their kernels cover classes and sizes of all.

    Greedy: next the model that adds most to the classes with too few kernels, weighted by the time
    their kernels would take at measured rates. What was measured plays no part.
    Source: Nemhauser, Wolsey & Fisher 1978, greedy maximisation of submodular functions.
    """
    have: dict[str, dict[str, int]] = {}
    weight: dict[str, float] = {}
    for r in kernels:
        if r.kernel < 0:
            continue
        decade = math.floor(2 * math.log10(max(r.sustained_s, 1e-9)))
        name = f"{classify(subject_of(r)).names[0]} {decade}"
        counts = have.setdefault(r.digest, {})
        counts[name] = counts.get(name, 0) + 1
        weight[name] = weight.get(name, 0.0) + r.sustained_s**0.5
    chosen: list[str] = []
    covered: dict[str, int] = {}
    enough = 4 * LEAST_SAMPLES

    def gain(digest: str) -> float:
        return sum(
            weight[n] * (min(covered.get(n, 0) + c, enough) - min(covered.get(n, 0), enough))
            for n, c in have[digest].items()
        )

    while len(chosen) < min(count, len(have)):
        best = max((d for d in have if d not in chosen), key=gain)
        chosen.append(best)
        for n, c in have[best].items():
            covered[n] = covered.get(n, 0) + c
    return chosen


def mean_error(outcomes: Sequence[PredictedRun]) -> float:
    """Mean absolute relative error."""
    return sum(abs(o.error) for o in outcomes) / max(len(outcomes), 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", type=Path)
    parser.add_argument("--threads", type=int, help="those with most runs by default")
    parser.add_argument("--train", type=int, default=20)
    parser.add_argument("--test", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", default="generic-x86-64")
    parser.add_argument("--models", type=Path, help="folder of the models: analyse them")
    parser.add_argument("--both", action="store_true", help="predict batch 4 as well")
    options = parser.parse_args()
    models = read(fit_file.models_beside(options.rows), ModelRow)
    threads = options.threads or fit_file.most_common(m.threads for m in models)
    models = [m for m in models if m.threads == threads]
    kernels = [k for k in read(options.rows, KernelRow) if k.threads == threads]
    train = set(choose([k for k in kernels if is_single(k)], options.train))
    others = sorted({m.digest for m in models} - train)
    test = set(random.Random(options.seed).sample(others, min(options.test, len(others))))
    fitted_to = [m for m in models if m.digest in train]
    samples, host = samples_of([k for k in kernels if k.digest in train], fitted_to)
    efficiencies = fit(samples, host)
    tests = [m for m in models if m.digest in test and (options.both or is_single(m))]
    if options.models is not None:
        outcomes = analysed(options, kernels, models, train, tests)
    else:
        outcomes = predict([k for k in kernels if k.digest in test], tests, efficiencies)
    for o in sorted(outcomes, key=lambda o: -abs(o.error)):
        badge = "" if o.floor_s <= o.time_s else "  faster than its floor"
        times = f"{o.time_s * 1e3:9.2f} ms {o.prediction_s * 1e3:9.2f} ms {o.error:+7.1%}"
        print(f"{o.model:52} {o.dims:12} {times}{badge}")
    left = leave_one_out(
        [k for k in kernels if k.digest in train], fitted_to, samples, host
    )  # fmt: skip
    below = sum(o.floor_s <= o.time_s for o in outcomes)
    print(f"fitted to {len(train)} models: {len(samples)} kernels, "
          f"{len(efficiencies.seconds)} classes, {threads} threads")  # fmt: skip
    print(f"leaving one of them out: {mean_error(left):.1%}")
    error = mean_error(outcomes)
    print(f"{len(test)} other models: MAPE {error:.1%} (at most {LIMIT:.0%}, goal {GOAL:.0%})")
    print(f"floor below the truth: {below} of {len(outcomes)}")
    return 0 if error <= LIMIT and below == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
