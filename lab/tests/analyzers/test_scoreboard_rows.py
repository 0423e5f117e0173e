"""How scoreboards hold rows out: what is trained on, what is tested, and what is said of it."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.graph.rows import Quantity
from perfc_lab.data.rows import Rows
from perfc_lab.datasets import ecnas
from perfc_lab.datasets.ecnas import EcNasRuns
from perfc_lab.training import power

# Power


class Watching:
    """A source of products that draw what a law says, and of rows without power."""

    name = "aic_gemm"

    def rows(self, folder: Path) -> list[Rows]:
        rng = np.random.default_rng(0)
        found = []
        for target, cap in (("h200-sxm-141gb", 700.0), ("b200-sxm-180gb", 1000.0)):
            columns = {n: rng.choice([2048.0, 4096.0, 8192.0], 300) for n in "mnk"}
            flop = 2 * columns["m"] * columns["n"] * columns["k"]
            rate = {"h200-sxm-141gb": 989e12, "b200-sxm-180gb": 2250e12}[target]
            busy = rng.uniform(0.05, 0.95, 300)
            time_s = flop / rate / busy
            share = 1 - 0.5 * np.exp(-2 * busy)
            rows = Rows("matmul", target, "bf16", Protocol.GRAPH, "", columns, time_s, cap * share)
            silent = replace(rows, power_w=None)
            unknown = replace(rows, power_w=np.full(300, np.nan))
            found += [rows, silent, unknown]
        return found


class Other(Watching):
    """A source whose power nobody asks for."""

    name = "neusight"

    def rows(self, folder: Path) -> list[Rows]:
        raise AssertionError


def test_the_fit_of_power_writes_what_the_law_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Base 0.5 and a rate of 2 of the matrix unit; either board is predicted by the other."""
    out = tmp_path / "power.toml"
    monkeypatch.setattr(power, "sources", lambda: {"a": Watching(), "b": Other()})
    monkeypatch.setattr(power, "FILE", out)
    monkeypatch.setattr(power, "LONG_S", 0.0005)
    monkeypatch.setattr(power, "SHORT_S", 0.0002)
    rows = power.watched(tmp_path)
    assert len(rows.share) == 600
    assert set(rows.board) == {"h200-sxm-141gb", "b200-sxm-180gb"}
    power.main([str(tmp_path)])
    found = tomllib.loads(out.read_text(encoding="utf-8"))
    assert found["kernels"] == len(rows.share)
    assert sorted(found["boards"]) == sorted(set(rows.board))
    assert found["base"] == pytest.approx(0.5, abs=0.02)
    assert found["rates"]["matrix16"] == pytest.approx(2, abs=0.1)
    assert "special" not in found["rates"]
    assert found["low_ratio"] == pytest.approx(1, abs=0.03)
    assert found["high_ratio"] == pytest.approx(1, abs=0.03)
    assert found["short_low_ratio"] <= found["low_ratio"]
    assert found["short_high_ratio"] >= found["high_ratio"]
    assert 0.5 < found["idle"] < 0.95
    assert "board left out h200-sxm-141gb" in capsys.readouterr().out


# Trainings of cells


def test_a_training_is_the_mean_of_its_steps(tmp_path: Path) -> None:
    """160,000 images in 625 steps are batches of 256; 1,250 s and J are two each."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    adjacency = "[[0, 1, 0], [0, 0, 1], [0, 0, 0]]"
    labels = "[-1, 0, -2]"
    pd.DataFrame(
        {
            "adjacency_json": adjacency,
            "op_labels_json": labels,
            "train_steps": [625, 625, 0],
            "train_time_s": [1250.0, 0.0, 9.0],
            "gpu_energy_j": 62_500.0,
            "gpu_power_w": 50.0,
        }
    ).to_parquet(tmp_path / ecnas.TABLE)
    ecnas.cells.cache_clear()
    (row,) = EcNasRuns().rows(tmp_path)
    assert (row.batch, row.time_s, row.energy_j, row.power_w) == (256, 2, 100, 50)
    assert row.value(Quantity.ENERGY) == 100
    assert row.setting.training
    made = EcNasRuns().encode(row.graph, [row.setting], tmp_path)
    assert made is not None
    assert made.ops.ops.count("conv") >= 9
    assert EcNasRuns().encode("cell-none", [row.setting], tmp_path) is None
