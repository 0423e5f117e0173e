"""Fit the bytes by which a process grows for libraries and for each kernel, by runtime.

    python -m perfc_lab.fits.processes MODELS

MODELS is a folder of the networks of ``DATASETS``. Writes
``passes/layout/processes/by_framework.toml``: the bytes with the least sum of relative errors of
the growth. `perfc.passes.layout.processes` replays the other part of the growth: weights and
tensors.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

import numpy as np
from scipy.optimize import linprog

from perfc.api import analyze
from perfc.measuring.measure.tables.dataset import read
from perfc.measuring.measure.tables.rows import ModelRow
from perfc.passes.layout.processes.by_framework import FILE, GROWN, LibraryBytes
from perfc.passes.runtimes import runtime
from perfc.view.report.memory_sections.footprint import table_of
from perfc_lab.data.fitted import as_toml

ROOT = Path(__file__).resolve().parents[3] / "datasets"
DATASETS = {
    "cpu-genoa-2c/models": "ort-cpu-blocked",
    "cpu-genoa-2c-openvino/models": "openvino",
    "cpu-genoa-2c-torch/memory": "eager",
}
"""Runtime of each table of measured networks in `ROOT`."""


def rows_of(name: str, table: str, models: Path) -> list[tuple[int, int, int]]:
    """Return, for each run, its measured growth in bytes, the replayed part, and the kernels.

    Args:
        name: table of the runs in `ROOT`.
        table: name of the runtime.
        models: folder of the networks; runs of other networks are left out.
    """
    rows: list[tuple[int, int, int]] = []
    for run in read(ROOT / f"{name}.csv.gz", ModelRow):
        paths = [p for e in (".onnx.gz", ".onnx") if (p := models / f"{run.model}{e}").exists()]
        if not paths:
            continue
        dims = {key: int(n) for key, _, n in (d.partition("=") for d in run.dims.split())}
        report = analyze(paths[0], "generic-x86-64", dims=dims, runtime=table)
        kernels = report.kernels.kernels
        # each framework replays the growth in its way
        grown = GROWN[runtime(table).framework](kernels, table_of(report), report.env)
        growth = run.peak_rss_bytes - run.base_rss_bytes
        rows.append((growth, grown.grown_bytes, len(kernels)))
    return rows


def fitted(rows: list[tuple[int, int, int]]) -> LibraryBytes:
    """Return the bytes with the least sum of relative errors, by linear programming.

    Variables are the bytes of libraries, those of a kernel, and an absolute error for each run.
    """
    growth, grown, kernels = np.array(rows, float).T
    count = len(rows)
    sides = np.column_stack([np.ones(count), kernels])
    slack, rest = -np.eye(count), growth - grown
    best = linprog(
        np.concatenate([[0, 0], 1 / growth]),
        # both sides of |libraries + kernel bytes · kernels - rest| <= error; variables are at least
        # 0
        np.block([[sides, slack], [-sides, slack]]),
        np.concatenate([rest, -rest]),
    )
    return LibraryBytes(float(best.x[0]), float(best.x[1]))


def main() -> None:
    """Write the file, and print the median error on its rows."""
    by_framework: dict[str, LibraryBytes] = {}
    for name, table in DATASETS.items():
        rows = rows_of(name, table, Path(sys.argv[1]))
        library = by_framework[runtime(table).framework.value] = fitted(rows)
        errors = [abs((grown + library.bytes_of(kernels)) / g - 1) for g, grown, kernels in rows]
        print(f"{table}: {len(rows)} runs, median error {median(errors):.1%}: {library}")
    comment = "Written by `python -m perfc_lab.fits.processes` from the runs of `datasets`."
    FILE.write_text(as_toml(by_framework, comment), encoding="utf-8")


if __name__ == "__main__":
    main()
