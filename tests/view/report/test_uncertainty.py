"""A report says which measured rates did not repeat, where they bind the run, and is short."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perfc
from perfc.cli import run
from perfc.machine import load_machine
from perfc.view.report import collect

MODEL = Path(__file__).parents[3] / "examples" / "models" / "resnet50.onnx.gz"
MATRIX = "compute.matrix.f32.sustained_flop_per_s"
TARGET = """\
schema = 1
name = "bench"
aliases = []
kind = "cpu"
vendor = "nobody"
arch = "x86-64"
description = "A processor"

[source.lab]
origin = "measured"
title = "a stopwatch"

[device]
sm_count = { value = 4, from = "lab" }
clock_max_hz = { value = 4e9, from = "lab" }
launch_overhead_s = { value = 1e-7, from = "lab" }

[compute.matrix.f32]
peak_flop_per_s = { value = 5e11, from = "lab" }
sustained_flop_per_s = { value = 2e11, from = "lab"ROUNDS }

[compute.vector.f32]
peak_flop_per_s = { value = 5e11, from = "lab" }
sustained_flop_per_s = { value = 2e11, from = "lab", rounds = 1, best = 2e11, worst = 2e11 }

[memory.device]
capacity_bytes = { value = 16e9, from = "lab" }
bandwidth_bytes_per_s = { value = 4e11, from = "lab" }
"""


def report(folder: Path, rounds: str) -> perfc.Report:
    path = folder / "bench.toml"
    path.write_text(TARGET.replace("ROUNDS", rounds), encoding="utf-8")
    return perfc.analyze(MODEL, path)


def text(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    code = run(["analyze", str(MODEL), "-t", str(folder / "bench.toml"), "--no-predict", "--full"])
    assert code == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("rounds", "told"),
    [
        (
            ", rounds = 6, best = 2.6e11, worst = 1.5e11",
            "of the time): 150 Gflop/s to 260 Gflop/s in 6 rounds",
        ),
        (", rounds = 1, best = 2e11, worst = 2e11", "of the time): measured once, 200 Gflop/s"),
        (
            ", rounds = 0, best = 2.1e11, worst = 1.5e11",
            "of the time): measured while other programs ran, 150 Gflop/s to 210 Gflop/s",
        ),
    ],
)
def test_an_uncertain_rate_that_binds_the_run_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rounds: str, told: str
) -> None:
    found = collect(report(tmp_path, rounds), predict=False).assumptions.uncertain_rates
    assert found[0].key == MATRIX
    assert found[0].time_share > 0.9
    shown = text(tmp_path, capsys)
    assert shown.count("uncertain rates: matrix units (") == 1
    assert told in shown
    # the vector unit was measured once, and binds next to nothing
    assert all(r.time_share < 0.05 for r in found[1:])
    assert "vector units (" not in shown


def test_a_rate_that_repeats_is_not_talked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    views = collect(report(tmp_path, ", rounds = 6, best = 2.1e11, worst = 1e11"), predict=False)
    assert MATRIX not in {r.key for r in views.assumptions.uncertain_rates}
    assert "uncertain rates" not in text(tmp_path, capsys)


def test_uncertain_rates_are_data_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(tmp_path, ", rounds = 6, best = 2.6e11, worst = 1.5e11")
    target = str(tmp_path / "bench.toml")
    assert run(["analyze", str(MODEL), "-t", target, "--output-format", "json"]) == 0
    (first, *_) = json.loads(capsys.readouterr().out)["assumptions"]["uncertain_rates"]
    assert first["key"] == MATRIX
    assert (first["median"], first["worst"], first["best"]) == (2e11, 1.5e11, 2.6e11)
    assert load_machine(target).facts[MATRIX].is_uncertain
