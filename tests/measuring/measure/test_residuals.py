"""Intervals of fitted times: from models that the fit had not seen."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

import perfc
from perfc.analyzers.estimators.fitted_rates import of_machine
from perfc.analyzers.estimators.fitted_rates.efficiencies import WHOLE
from perfc.machine import load_machine
from perfc.measuring.measure.fitting import fit_file
from perfc.measuring.measure.fitting.residuals import between
from perfc.measuring.measure.tables import dataset
from perfc.measuring.measure.tables.rows import KernelRow, ModelRow

from .test_fit import TABLE, kernel, whole

MODELS = Path(__file__).parents[3] / "examples" / "models"


@pytest.fixture
def rows() -> tuple[list[KernelRow], list[ModelRow]]:
    """Products whose times scatter by a fifth either way."""
    rng = random.Random(0)
    models = []
    for m in range(12):
        kernels = [kernel(m, p, *(16 * rng.randint(8, 40) for _ in "mkn")) for p in range(12)]
        noisy = []
        for k in kernels:
            time_s = k.time_s * rng.uniform(0.8, 1.2)
            noisy.append(replace(k, part_s=time_s, time_s=time_s, best_s=time_s))
        models.append(noisy)
    return [k for ks in models for k in ks], [whole(ks) for ks in models]


def test_ratios_stand_in_the_target_and_hold_the_scatter(
    rows: tuple[list[KernelRow], list[ModelRow]], tmp_path: Path
) -> None:
    kernels, models = rows
    dataset.write(tmp_path / "kernels.csv.gz", kernels)
    dataset.write(tmp_path / "models.csv.gz", models)
    path = tmp_path / "mine.toml"
    fit_file.fit_from(tmp_path / "kernels.csv.gz", "generic-x86-64", path)
    result = of_machine(load_machine(path), TABLE)
    assert result is not None
    product = result.ratios["gemm.stored"]
    assert 0.7 < product.low < 0.9
    assert 1.1 < product.high < 1.35
    run = result.ratios[WHOLE]
    assert product.low < run.low <= 1 <= run.high < product.high


def test_analysis_with_a_fitted_target_uses_its_ratios(
    rows: tuple[list[KernelRow], list[ModelRow]], tmp_path: Path
) -> None:
    kernels, models = rows
    dataset.write(tmp_path / "kernels.csv.gz", kernels)
    dataset.write(tmp_path / "models.csv.gz", models)
    path = tmp_path / "mine.toml"
    fit_file.fit_from(tmp_path / "kernels.csv.gz", "generic-x86-64", path)
    report = perfc.analyze(MODELS / "bert-base.onnx.gz", str(path), runtime=TABLE)
    result = of_machine(report.machine, TABLE)
    assert result is not None
    for k in report.prediction.kernels:
        if k.predictor.value == "fitted" and k.time_s > 2 * k.floor_s:
            ratios = result.ratios[k.class_name]
            assert k.low_s == pytest.approx(k.time_s * ratios.low)
            assert k.high_s == pytest.approx(k.time_s * ratios.high)


def test_ranks_leave_a_tenth_out() -> None:
    result = between([[i / 100] for i in range(50, 151)])
    assert result.low == pytest.approx(0.54, abs=0.02)
    assert result.high == pytest.approx(1.46, abs=0.02)
    assert between([[1.1], [1.2]]).low == 1


def test_a_model_of_many_kernels_counts_as_one() -> None:
    many = [[1.0] for _ in range(40)] + [[3.0] * 1000]
    assert between(many).high < 3
