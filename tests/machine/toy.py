"""A target file of a toy machine, and its reading."""

from __future__ import annotations

from pathlib import Path

from perfc.machine import Machine, load_machine

GOOD = """\
schema = 1
name = "toy"
aliases = ["plaything"]
kind = "cuda"
vendor = "nobody"
arch = "sm_00"
description = "A toy"

[source.sheet]
origin = "vendor"
title = "Toy sheet"
date = 2020-01-01

[source.lab]
origin = "measured"
tool = "a stopwatch"

[device]
sm_count = { value = 10, from = "sheet" }
clock_boost_hz = { value = 1e9, from = "sheet" }
clock_max_hz = { value = 1.2e9, from = "sheet" }

[compute.matrix.f16]
peak_flop_per_s = { value = 100e12, from = "sheet" }
flop_per_clock_per_sm = { value = 10000, from = "sheet", note = "systolic" }
sustained_flop_per_s = { value = 110e12, from = "lab" }

[compute.vector.f32]
peak_flop_per_s = { value = 10e12, from = "sheet" }

[memory.device]
capacity_bytes = { value = 1_000_000, from = "sheet" }
bandwidth_bytes_per_s = { value = 1e12, from = "sheet" }
"""


def write(folder: Path, text: str, name: str = "toy.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def toy(tmp_path: Path, text: str = GOOD) -> Machine:
    return load_machine(write(tmp_path, text))
