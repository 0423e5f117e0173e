"""Learns what whole runs on a processor take beside their kernels, each graph left out in turn.

    python -m perfc_lab.fits.processor_runs DATA MODELS [-o analyzers/runs/processor_runs.toml]

Rows are those of OpenVINO on a Xeon of grade A whose graph is there. The law has two numbers, the
factor of the kernels' sum and the cost of each kernel, of the least mean error of the logarithm.
What is printed is of graphs that the law has not seen, beside the kernels' own sums.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import perfc
from perfc.analyzers.runs.processor_runs import FILE
from perfc.common.whole_file import write_output
from perfc_lab.tables.whole_models import graded

RUNTIME, DEVICE, TARGET = "openvino", "Xeon Cascade Lake", "xeon-platinum-8280"
"""The largest of that generation: the table names no model."""
FACTORS = np.geomspace(0.5, 8, 200)
LAUNCHES_S = np.linspace(0, 50e-6, 101)
COVERAGE = 0.9


def learned(rows: np.ndarray) -> tuple[float, float]:
    """Factor and cost of a kernel, of rows of measured seconds, sum and number of kernels."""
    measured, kernels_s, launches = rows.T
    said = FACTORS[:, None, None] * kernels_s + LAUNCHES_S[None, :, None] * launches
    error = np.abs(np.log(said / measured)).mean(axis=2)
    factor, launch = np.unravel_index(int(error.argmin()), error.shape)
    return float(FACTORS[factor]), float(LAUNCHES_S[launch])


def wrong(rows: np.ndarray, law: tuple[float, float]) -> np.ndarray:
    """``log(measured / said)`` of rows."""
    return np.log(rows[:, 0] / (law[0] * rows[:, 1] + law[1] * rows[:, 2]))


def left_out(rows: np.ndarray) -> np.ndarray:
    """``log(measured / said)`` of each row by the law of the others; a row is a graph."""
    every = np.arange(len(rows))
    return np.array([wrong(rows[i : i + 1], learned(rows[every != i]))[0] for i in every])


def measured(folder: Path, models: Path) -> Sequence[tuple[str, float, float, float]]:
    """Graph, seconds, sum of the kernels' estimates, kernels."""
    frame = graded(folder)
    frame = frame[(frame["runtime"] == RUNTIME) & (frame["device"] == DEVICE)]
    found = []
    for graph, batch, time_ms in zip(
        frame["graph"], frame["batch"], frame["latency_ms"], strict=True
    ):
        table = perfc.analyze(
            models / graph, TARGET, runtime=RUNTIME, batch=int(batch), predictor="kernels"
        ).prediction
        found.append((graph, time_ms / 1e3, table.total.time_s, float(len(table.kernels))))
    return found


def main() -> None:
    """Print the errors, and write the law."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("models", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=FILE)
    asked = parser.parse_args()
    named = measured(asked.data, asked.models)
    rows = np.array([row[1:] for row in named])
    rest = left_out(rows)
    for (graph, time_s, *_), one in zip(named, rest, strict=True):
        print(f"{graph}: {1e3 * time_s:.2f} ms, {np.expm1(-one):+.0%}")
    kernels = np.abs(rows[:, 1] / rows[:, 0] - 1)
    error = np.abs(np.expm1(-rest))
    print(
        f"{len(rows)} graphs left out: MAPE {error.mean():.1%}, median {np.median(error):.1%}; "
        f"kernels alone {kernels.mean():.1%}"
    )
    rank = min(int(np.ceil((len(rest) + 1) * COVERAGE)), len(rest))
    factor, launch_s = learned(rows)
    text = (
        "# Whole runs on processors; written by lab/perfc_lab/fits/processor_runs.py.\n"
        f'[{RUNTIME}]\ntarget = "{TARGET}"\nfactor = {factor:.4g}\nlaunch_s = {launch_s:.4g}\n'
        f"reach = {np.sort(np.abs(rest))[rank - 1]:.4g}\nruns = {len(rows)}\n"
    )
    write_output(asked.output, text)


if __name__ == "__main__":
    main()
