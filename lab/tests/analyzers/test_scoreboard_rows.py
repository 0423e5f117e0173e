"""How scoreboards hold rows out: what is trained on, what is tested, and what is said of it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfc.analyzers.features.rows import Protocol, Rows
from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.steps.columns import LinearColumns
from perfc.analyzers.steps.predict import StepEstimate
from perfc.analyzers.steps.setting import RunMode, Setting
from perfc_lab.datasets import ecnas
from perfc_lab.datasets.ecnas import EcNasRuns
from perfc_lab.tables.architectures import family
from perfc_lab.tables.timm import StepRow
from perfc_lab.training import power
from perfc_lab.training.experiments import steps
from perfc_lab.training.experiments.steps import FAMILIES, RANDOM, StepExperiment

# Steps

TIMM = ("resnet", "vit", "vgg", "swin", "deit", "beit", "pit", "cait")
NAMES = [f"{family}{i}" for family in TIMM for i in range(5)]


def rows() -> list[StepRow]:
    columns = LinearColumns((32, 64), np.zeros((1, 1)))
    return [
        StepRow(name, columns, Setting(compiled=compiled), target, 8, 1.0)
        for name in NAMES
        for target in ("rtx3090", "rtx4090")
        for compiled in (False, True)
    ]


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[StepRow], dict[str, Any]]]:
    """What was trained on; every step is predicted to take 1.1 s in 0.9 to 1.2 s."""
    calls: list[tuple[list[StepRow], dict[str, Any]]] = []

    def train(name: str, taught: Sequence[StepRow], recipe: object, **more: Any) -> str:
        calls.append((list(taught), {**more, "recipe": recipe}))
        return name

    def estimated(found: str, tested: Sequence[StepRow]) -> list[tuple[StepRow, StepEstimate]]:
        taught = {(r.architecture, r.target) for r in calls[-1][0]}
        assert not taught & {(r.architecture, r.target) for r in tested}
        said = StepEstimate(np.ones(1), 1.1, 0.9, 1.2, 0.5, False, found)
        return [(r, said) for r in tested]

    monkeypatch.setattr(steps, "train_steps", train)
    monkeypatch.setattr(steps, "estimated", estimated)
    monkeypatch.setattr(steps, "every_row", lambda folder, say, training: tuple(rows()))
    return calls


def test_steps_are_held_out_by_architecture_by_family_and_by_machine(
    trained: list[tuple[list[StepRow], dict[str, Any]]], tmp_path: Path
) -> None:
    """40 architectures on two machines: three draws of six, every family once, either machine."""
    experiment = StepExperiment("step-eager", "title", RunMode.EAGER)
    said: list[str] = []
    found = list(experiment.evaluate(tmp_path, said.append))
    assert [(f.split, f.slice, f.rows) for f in found] == [
        (RANDOM, "eager, rtx3090", 18), (RANDOM, "eager, rtx4090", 18), (RANDOM, "eager", 36),
        (FAMILIES, "eager, rtx3090", 40), (FAMILIES, "eager, rtx4090", 40), (FAMILIES, "eager", 80),
        ("unseen machine rtx3090", "eager, rtx3090", 40),
        ("unseen machine rtx4090", "eager, rtx4090", 40),
    ]  # fmt: skip
    assert all(f.mape == pytest.approx(0.1) and f.coverage == f.floor_holds == 1 for f in found)
    assert [f.goal for f in found] == [0.10] * 3 + [0.14] * 3 + [None] * 2
    random, families, machines = trained[:3], trained[3:-2], trained[-2:]
    assert all(not r.setting.compiled for taught, _ in trained for r in taught)
    assert all(how["group"] is str and how["recipe"] is experiment.recipe for _, how in random)
    assert all(how["group"] is family for _, how in families)
    assert all(how["recipe"] is experiment.by_family for _, how in families)
    assert all(how["leave_machines_out"] is False for _, how in (*random, *families))
    assert [{r.target for r in taught} for taught, _ in machines] == [{"rtx4090"}, {"rtx3090"}]
    assert any(line == "step-eager: without rtx3090" for line in said)


def test_one_machine_is_not_left_out(
    trained: list[tuple[list[StepRow], dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = tuple(r for r in rows() if r.target == "rtx3090")
    monkeypatch.setattr(steps, "every_row", lambda folder, say, training: own)
    found = list(StepExperiment("x", "title", RunMode.COMPILED).evaluate(tmp_path, lambda _: None))
    assert [(f.split, f.slice) for f in found] == [
        (RANDOM, "compiled, rtx3090"), (FAMILIES, "compiled, rtx3090"),
    ]  # fmt: skip


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
    pd.DataFrame({
        "adjacency_json": adjacency, "op_labels_json": labels, "train_steps": [625, 625, 0],
        "train_time_s": [1250.0, 0.0, 9.0], "gpu_energy_j": 62_500.0, "gpu_power_w": 50.0,
    }).to_parquet(tmp_path / ecnas.TABLE)  # fmt: skip
    ecnas.cells.cache_clear()
    (row,) = EcNasRuns().rows(tmp_path)
    assert (row.batch, row.time_s, row.energy_j, row.power_w) == (256, 2, 100, 50)
    assert row.value(Quantity.ENERGY) == 100
    assert row.setting.training
    made = EcNasRuns().encode(row.graph, [row.setting], tmp_path)
    assert made is not None
    assert made.ops.ops.count("conv") >= 9
    assert EcNasRuns().encode("cell-none", [row.setting], tmp_path) is None
