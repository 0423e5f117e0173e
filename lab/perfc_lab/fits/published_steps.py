"""Fit the law of published training steps on A100 and V100, each architecture left out in turn.

    python -m perfc_lab.fits.published_steps DATA [-o analyzers/runs/step_law.toml]

Steps are those that NVIDIA published of its PyTorch examples on one card, run by their scripts,
data loading included. Printed are the error of each step with its architecture left out, the mean
by architecture, the share of steps inside their interval, and the same errors of the sum of the
kernels; then errors with each card left out, and rows that are below their lower bound. Networks
without convolutions have no law here: their time is what `perfc.analyze` predicts by default.
``-o`` writes the law.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import expm1, log
from pathlib import Path
from statistics import mean, median

import perfc
from perfc.analyzers.graph.measured_runs import model_folder
from perfc.analyzers.runs.run_table import precision, stored_element
from perfc.analyzers.runs.step_law import KernelTrait, StepLaw, is_convolutional, sums_s
from perfc.common.whole_file import write_output
from perfc.deployment.fields import KERNELS
from perfc_lab.tables.published_steps import PublishedStep, published_steps
from perfc_lab.training.runs.published_steps import (
    SummedStep,
    held,
    learnable,
    learned,
    left_out,
    reasons,
    with_band,
)


def as_toml(fit: StepLaw) -> str:
    """Return a law as the text of its TOML file."""
    measured = ", ".join(f'["{target}", "{stored}"]' for target, stored in fit.measured)
    factors = "\n".join(
        f"{p.value} = {fit.factors[p]:.4g}" for p in KernelTrait if p in fit.factors
    )
    return (
        "# Steps of convolutional networks; written by lab/perfc_lab/fits/published_steps.py.\n"
        f"low = {fit.band.low:.4g}\nhigh = {fit.band.high:.4g}\n"
        f"measured = [{measured}]\nsteps = {fit.steps}\narchitectures = {fit.architectures}\n\n"
        f"[factors]\n{factors}\n"
    )


def summed(step: PublishedStep, folder: Path) -> SummedStep:
    """Return a step with its kernels estimated one by one.

    Raises:
        PerfcError: its graph is not there, or cannot be read.
    """
    path = model_folder(folder) / step.graph
    report = perfc.analyze(str(path), deployment=step.deployment, predictor=KERNELS)
    stored = precision(step.deployment, stored_element(report.source), report.roofline)
    sums = sums_s(report.execution, report.prediction, stored, step.deployment.layout)
    total = report.prediction.total
    # networks without convolutions have no law here: their time is that of the default predictor
    if not is_convolutional(sums):
        total = perfc.analyze(str(path), deployment=step.deployment).prediction.total
    return SummedStep(
        step, stored, sums, total.time_s, total.low_s, total.high_s, report.roofline.floor_s
    )


def shown(step: SummedStep, error: float, is_held: bool) -> str:
    """Return a line for a step: predicted over measured less 1, of the law and of the kernels.

    ``error`` is ``log(measured / predicted)``; ``is_held`` says whether the interval holds the
    step.
    """
    row = step.step
    how = f"{row.deployment.target} {step.stored} {row.deployment.layout.value}"
    batch = row.deployment.dims["batch"]
    return (
        f"{row.architecture:24s} {how:38s} {batch:4d} {1e3 * row.time_s:7.1f} ms "
        f"{expm1(-error):+6.1%} kernels {step.kernels_s / row.time_s - 1:+6.1%} "
        f"{'held' if is_held else 'not held'}"
    )


def by_architecture(errors: Sequence[tuple[SummedStep, float]]) -> Mapping[str, list[float]]:
    """Return relative errors by architecture, from logarithms of measured over predicted time."""
    grouped: dict[str, list[float]] = defaultdict(list)
    for step, error in errors:
        grouped[step.step.architecture].append(expm1(-error))
    return grouped


def cards_left_out(steps: Sequence[SummedStep]) -> Iterator[str]:
    """Yield the errors of each card and precision by a law of the other cards."""
    for card in sorted({s.step.deployment.target.partition("-")[0] for s in steps}):
        of_card = [s for s in steps if s.step.deployment.target.startswith(card)]
        law = learned([s for s in steps if s not in of_card])
        for stored in sorted({s.stored for s in of_card}):
            rows = [s for s in of_card if s.stored == stored]
            logs = [log(s.step.time_s / s.predicted_s(law)) for s in rows]
            alone = mean(log(s.step.time_s / s.kernels_s) for s in rows)
            yield (
                f"without {card}, {stored}: {len(rows)} rows, mean of logarithms {mean(logs):+.2f} "
                f"({min(logs):+.2f} to {max(logs):+.2f}), of kernels alone {alone:+.2f}"
            )


def main() -> None:
    """Print the errors, and write the law."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    rows = list(published_steps(options.data))
    for why, count in reasons(rows).items():
        print(f"{count} rows left out: {why.value}")
    steps = [summed(row, options.data) for row in rows]
    for step in steps:
        if step.step.time_s < step.floor_s:
            share, row = step.step.time_s / step.floor_s, step.step
            print(f"{row.architecture}, {row.deployment.dims}: {share:.2f} of its floor")
    trained_on = learnable(steps)
    errors = left_out(trained_on)
    inside = list(held(errors))
    for (step, error), is_held in zip(errors, inside, strict=True):
        print(shown(step, error, is_held))
    # networks without convolutions: no law is fitted to them, so that all are held out
    others = [s for s in steps if s.step.left_out is None and s not in trained_on]
    held_out = [(s, log(s.step.time_s / s.printed_s)) for s in others]
    within = [s.low_s <= s.step.time_s <= s.high_s for s in others]
    for (step, error), is_held in zip(held_out, within, strict=True):
        print(shown(step, error, is_held))
    for name, logs in by_architecture([*errors, *held_out]).items():
        print(f"{name}: {len(logs)} rows, MAPE {mean(map(abs, logs)):.1%}, {mean(logs):+.1%}")
    for title, scored, ranges in (
        ("convolutional networks left out", errors, inside),
        ("all", [*errors, *held_out], [*inside, *within]),
    ):
        off = [abs(expm1(-error)) for _, error in scored]
        alone = [abs(s.kernels_s / s.step.time_s - 1) for s, _ in scored]
        print(
            f"{title}: {len(off)} rows, MAPE {mean(off):.1%}, median {median(off):.1%}, in range "
            f"{mean(ranges):.1%}; kernels alone {mean(alone):.1%}"
        )
    for line in cards_left_out(trained_on):
        print(line)
    law = with_band(learned(trained_on), errors)
    print(as_toml(law), end="")
    if options.output is not None:
        write_output(options.output, as_toml(law))


if __name__ == "__main__":
    main()
