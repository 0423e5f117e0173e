"""Predictions keep to physics, say what they do not know, and are quick."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.artefacts.artefact import Artefact, WeightsError
from perfc.analyzers.estimators.predictor import Estimates, predict, predict_with
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import KernelError
from perfc.analyzers.intervals.conformal import EXTRAPOLATED
from perfc.machine import load_machine
from perfc_lab.board import coverage_of
from perfc_lab.data import weights as weights_
from perfc_lab.training.fit import train

from .conftest import QUICK
from .synthetic import blocks, matmul_rows


def estimates(found: Artefact, target: str, rows: dict[str, np.ndarray] | None = None) -> Estimates:
    columns = rows or dict(matmul_rows(target, 400, seed=9).columns)
    return predict_with(found, columns, "bf16", Sheet(load_machine(target)), Protocol.GRAPH, "one")


@pytest.mark.parametrize("target", ["h100", "l40s", "t4", "p100", "cpu"])
def test_no_prediction_beats_its_floor(trained: Artefact, target: str) -> None:
    found = estimates(trained, load_machine(target).name)
    assert (found.floor_s > 0).all()
    assert (found.floor_s <= found.low_s).all()
    assert (found.low_s <= found.time_s).all()
    assert (found.time_s <= found.high_s).all()
    assert ((found.efficiency > 0) & (found.efficiency <= 1)).all()


def test_a_law_with_noise_is_learned_with_its_interval(trained: Artefact) -> None:
    rows = matmul_rows("h100-sxm5-80gb", 2000, seed=77)
    found = estimates(trained, rows.target, dict(rows.columns))
    error = np.abs(found.time_s / rows.time_s - 1)
    assert error.mean() < 0.08
    assert 0.8 < coverage_of(rows.time_s, found.low_s, found.high_s) < 0.98


def test_a_machine_without_kin_says_so_and_widens() -> None:
    """Machines that are each off by a factor of their own say nothing sure of one far from all."""
    factors = (0.9, 1.0, 1.1)
    apart = [
        replace(rows, time_s=rows.time_s * factor)
        for rows, factor in zip(blocks(), factors, strict=True)
    ]
    trained = train("matmul", apart, QUICK, ("n", "k"))
    rows = {"m": np.array([256.0]), "n": np.array([2048.0]), "k": np.array([2048.0])}
    seen, near, far = (estimates(trained, t, rows) for t in ("h100", "h200", "t4"))
    widths = [float(e.high_s[0] / e.low_s[0]) for e in (seen, near, far)]
    assert widths[2] > 1.1 * max(widths[:2])
    assert not seen.extrapolating[0]
    assert far.extrapolating[0] == (widths[2] > EXTRAPOLATED)


def test_a_shape_outside_of_the_hull_says_so(trained: Artefact) -> None:
    rows = {n: np.array([v, 2.0**22]) for n, v in (("m", 256.0), ("n", 2048.0), ("k", 2048.0))}
    found = estimates(trained, "h100", rows)
    width = found.high_s / found.low_s
    assert found.extrapolating.tolist() == (width > EXTRAPOLATED).tolist()
    assert width[1] > width[0]


def test_equal_kernels_get_equal_times_in_their_places(trained: Artefact) -> None:
    rows = {n: np.array([v, 64.0, v]) for n, v in (("m", 256.0), ("n", 2048.0), ("k", 2048.0))}
    found = estimates(trained, "h100", rows)
    assert found.time_s[0] == found.time_s[2] > found.time_s[1]


def test_what_is_no_kernel_is_one_line(trained: Artefact, tmp_path: Path) -> None:
    machine = load_machine("h100")
    with pytest.raises(WeightsError, match="no weights for matmul"):
        predict("matmul", {}, "bf16", machine, Protocol.GRAPH, folder=tmp_path)
    weights_.save(trained, tmp_path)
    for rows, said in (
        ({"m": np.ones(1), "n": np.ones(1)}, "without 'k'"),
        ({"m": np.ones(1), "n": -np.ones(1), "k": np.ones(1)}, "no extent"),
        ({"m": np.ones(1), "n": np.array([np.nan]), "k": np.ones(1)}, "no extent"),
    ):
        with pytest.raises(KernelError, match=said):
            predict("matmul", rows, "bf16", machine, Protocol.GRAPH, folder=tmp_path)


SPEED = """
import time
start = time.process_time()
import numpy as np
numpy_s = time.process_time() - start
from perfc.analyzers.estimators.predictor import predict
from perfc.analyzers.features.rows import Protocol
from perfc.machine import load_machine
rng = np.random.default_rng(0)
rows = {n: rng.integers(1, 8192, 500).astype(float) for n in ("m", "n", "k")}
predict("matmul", rows, "bf16", load_machine("h100"), Protocol.GRAPH, "vllm")
print((time.process_time() - start) / numpy_s)
import sys
assert not {"xgboost", "scipy", "pandas", "pyarrow"} & set(sys.modules)
"""


@pytest.mark.speed
def test_a_process_that_predicts_500_kernels_takes_no_four_times_what_importing_numpy_takes() -> (
    None
):
    found = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", SPEED], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.append(float(done.stdout))
    assert min(found) < 4
