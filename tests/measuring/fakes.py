"""Calibration of fake devices whose rates are known."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from perfc.kernels.backends.fake import LEVELS, RATES, TIMES, Fake
from perfc.measuring.calibrate import CalibratedTarget, MeasurementBudget, calibrate
from perfc.measuring.calibrate import run as module

QUICK = module._QUICK
TRUTH = {
    **{
        f"compute.{'matrix' if k.startswith('matrix') else 'vector'}.{k.partition('.')[2]}"
        ".sustained_flop_per_s": v
        for k, v in RATES.items()
        if k.startswith(("matrix.", "fma.", "dot."))
    },
    "compute.special.f32.sustained_op_per_s": RATES["special.exp2"],
    "device.clock_sustained_hz": RATES["clock"],
    "device.launch_overhead_s": TIMES["launch.eager"],
    "device.launch_graph_s": TIMES["launch.graph"],
    "device.host_launch_s": TIMES["launch.framework"],
    "link.host.sustained_bandwidth_bytes_per_s": RATES["link.h2d-pinned"],
    "link.host.pageable_bandwidth_bytes_per_s": RATES["link.h2d-pageable"],
    **{f"memory.{c.name}.sustained_bandwidth_bytes_per_s": c.bandwidth for c in LEVELS},
    **{f"memory.{c.name}.latency_s": c.latency_s for c in LEVELS},
    "device.idle_power_w": 100.0,
    "compute.matrix.f16.energy_per_flop_j": 1e-12,
    "memory.device.energy_per_byte_j": 1e-11,
}


def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    unhurried = {
        "cuda": MeasurementBudget(2, 4, 0.0, math.inf),
        "cpu": MeasurementBudget(2, 0, 0.0, 60.0),
    }
    monkeypatch.setattr(module, "_QUICK", unhurried)
    monkeypatch.setattr(module, "_BUDGETS", unhurried)


def measured(path: Path, **options: object) -> CalibratedTarget:
    backend = Fake(**options)  # type: ignore[arg-type]
    return calibrate("fake", path, backend=backend)


class Restless(Fake):
    """Others slow every case down by up to 60 %, each as it comes."""

    def _pace(self) -> float:
        return float(self.rng.uniform(1.0, 1.6))
