"""Launches of whole runs as one table: repeated ones are a row, with its bounds of all."""

from __future__ import annotations

import numpy as np
import pytest

from perfc import testing
from perfc.analyzers.graph.dataset import sheet
from perfc.analyzers.graph.encode import encode_module
from perfc.analyzers.graph.rows import GraphRow, Measurements
from perfc.analyzers.steps.features import tabulate
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.analyzers.whole_runs.kernel_sums import tabulated_runs


def test_bounds_of_repeated_launches_are_of_all_repetitions() -> None:
    weights = [f"%w{n} = weight : f32[256, 256]" for n in range(3)]
    products = [f"%v{n + 1} = matmul(%v{n}, %w{n}) : f32[n, 256]" for n in range(3)]
    module = testing.module("%v0: f32[n, 256]", *weights, *products, n=8)
    setting = Setting(Precision.F32)
    row = GraphRow("net", "net", setting, "t4", 8192, 1.0)
    data = Measurements("one", {"net": encode_module("net", module, [setting])}, (row,), "")
    runs = tabulated_runs(data, np.ones(1))
    assert runs.times.tolist() == [3]
    every = tabulate(data.kernels(row).columns.at(row.batch), setting, sheet(row.target))
    assert runs.stack.floor_s.sum() == pytest.approx(every.floor_s.sum())
    assert (every.floor_s > 0).tolist() == [True] * 3
