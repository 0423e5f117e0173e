"""nn-Meter learns kernels measured one by one, of a model that it did not see too."""

from __future__ import annotations

import csv
import gzip
from itertools import groupby, islice
from pathlib import Path
from statistics import median

import pytest

from perfc_lab.papers.nn_meter import MeasuredKernel, NnMeter

ROWS = Path(__file__).resolve().parents[3] / "datasets" / "cpu-epyc-2c" / "kernels.csv.gz"
LINES = 40_000


def measured() -> dict[str, list[MeasuredKernel]]:
    """Return the kernels of one run on one thread of each of some models."""
    with gzip.open(ROWS, "rt", encoding="utf-8") as file:
        lines = [x for x in islice(csv.DictReader(file), LINES) if x["threads"] == "1"]
    runs = {}
    for model, group in groupby(lines, lambda x: x["model"]):
        rows = list(group)
        runs[model] = [
            MeasuredKernel(
                x["label"],
                x["kind"],
                x["op"],
                x["operands"],
                x["results"],
                float(x["mac"]),
                float(x["read_bytes"]),
                float(x["write_bytes"]),
                float(x["time_s"]),
            )
            for x in rows
            if x["dims"] == rows[0]["dims"]
        ]
    return runs


def test_kernels_of_unseen_models_add_up_to_their_runs() -> None:
    pytest.importorskip("xgboost")
    runs = measured()
    tested = list(runs)[::4]
    meter = NnMeter()
    meter.fit([kernel for model in runs if model not in tested for kernel in runs[model]])
    errors = [
        abs(float(meter.predict(runs[model]).sum()) / sum(k.time_s for k in runs[model]) - 1)
        for model in tested
    ]
    assert len(tested) > 10
    assert median(errors) < 0.35
