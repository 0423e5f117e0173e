"""A report says which measured rates did not repeat, where they bind the run, and is short."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfc.cli import run

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


def told(
    folder: Path, rounds: str, capsys: pytest.CaptureFixture[str]
) -> tuple[list[dict[str, Any]], str]:
    """Uncertain rates as data, and the whole report as text."""
    path = folder / "bench.toml"
    path.write_text(TARGET.replace("ROUNDS", rounds), encoding="utf-8")
    words = ["analyze", str(MODEL), "-t", str(path), "--no-predict"]
    assert run([*words, "--output-format", "json"]) == 0
    rates = json.loads(capsys.readouterr().out)["assumptions"]["uncertain_rates"]
    assert run([*words, "--full"]) == 0
    return rates, " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("rounds", "sentence"),
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
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rounds: str, sentence: str
) -> None:
    (first, *others), shown = told(tmp_path, rounds, capsys)
    assert first["key"] == MATRIX
    assert first["median"] == 2e11
    assert first["time_share"] > 0.9
    assert shown.count("uncertain rates: matrix units (") == 1
    assert sentence in shown
    # the vector unit was measured once, and binds next to nothing
    assert all(rate["time_share"] < 0.05 for rate in others)
    assert "vector units (" not in shown


def test_a_rate_that_repeats_is_not_talked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates, shown = told(tmp_path, ", rounds = 6, best = 2.1e11, worst = 1e11", capsys)
    assert MATRIX not in {rate["key"] for rate in rates}
    assert "uncertain rates" not in shown
