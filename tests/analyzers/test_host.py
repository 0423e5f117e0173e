"""A device that is faster than its host waits for it, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import perfc
from perfc.analyzers.runs.host import EAGER_HOST, host_gap
from perfc.analyzers.steps.setting import Setting
from perfc.machine import load_machine

RESNET = str(Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz")


def test_one_image_is_launched_as_slowly_as_eight() -> None:
    one, eight = (perfc.predict(RESNET, target="rtx4090", dims={"batch": n}) for n in (1, 8))
    assert one.value == eight.value
    assert 150 * EAGER_HOST.mid < one.value < 500 * EAGER_HOST.mid
    assert any("host" in reason for reason in one.outside)
    assert one.floor_s < one.low < one.value < one.high < 20 * one.low


def test_a_run_that_was_measured_keeps_its_number() -> None:
    found = perfc.predict(RESNET, target="rtx4090", dims={"batch": 256})
    assert not found.outside
    assert found.value > 400 * EAGER_HOST.high


@pytest.mark.parametrize("target", ["a100", "mi300x"])
def test_recorded_graphs_and_other_runtimes_do_not_wait(target: str) -> None:
    eager, recorded, ort = (
        perfc.analyze(RESNET, target, runtime=r).prediction for r in ("eager", "cudagraph", "ort")
    )
    assert eager.total.time_s == pytest.approx(len(eager.kernels) * EAGER_HOST.mid)
    assert recorded.total.time_s < eager.total.time_s
    assert ort.total.time_s < eager.total.time_s
    assert eager.energy is None or eager.energy.power_w > 0


def test_processors_have_no_host() -> None:
    assert host_gap(load_machine("cpu"), Setting()).high == 0
