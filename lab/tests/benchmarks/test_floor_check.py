"""The check of floors against measured runs finds one that is above, and says which it knows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import floor_check as check
from perfc.api import typed
from perfc.machine import load_machine

ROOT = Path(__file__).parents[3]
RUN = check.Run("resnet50", "T4", "tensorrt", "int8", 32, 0, 1.0, "tensorrt")


def bounded(run: Any) -> Any:
    graph = typed(ROOT / "examples" / "models" / "resnet50.onnx.gz")
    (result,) = check.checked(graph, [run], {run.device: load_machine(check.TARGETS[run.device])})
    return result


def test_a_floor_above_a_measured_time_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    slow = bounded(RUN)
    assert 0 < slow.share < 1
    assert check.report([slow], top=1)
    fast = replace(slow, run=replace(RUN, time_s=slow.floor_s / 1.01))
    assert not check.report([slow, fast], top=1)
    assert "nobody knows why" in capsys.readouterr().out


def test_a_row_that_is_known_to_be_wrong_is_named_and_forgiven(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ((graph, device, precision, batch), why) = next(iter(check.ODD.items()))
    run = replace(RUN, graph=graph, device=device, precision=precision, batch=batch)
    assert check.report([check.Bounded(run, 2.0, 3.0)], top=1)
    assert why in capsys.readouterr().out


@pytest.mark.parametrize("precision", ["fp16", "int8", "fp32", "amp_fp16"])
def test_every_precision_of_the_tables_is_one_that_a_user_asks_for(precision: str) -> None:
    result = bounded(replace(RUN, precision=precision))
    assert 0 < result.floor_s <= result.time_s


@pytest.mark.parametrize(
    ("device", "runtime", "precision"),
    [
        ("Jetson Nano", "tensorrt", "fp16"),
        ("Jetson AGX Xavier", "eager", "fp16"),
        ("Xeon Cascade Lake", "openvino", "fp16"),
        ("Xeon Gold 6148", "paddle-mkldnn", "fp32"),
    ],
)
def test_boards_and_processors_have_floors_too(device: str, runtime: str, precision: str) -> None:
    run = replace(RUN, device=device, runtime=runtime, precision=precision)
    result = bounded(replace(run, table=check.RUNTIMES[runtime]))
    assert 0 < result.floor_s <= result.time_s


def test_devices_of_all_tables_have_their_targets() -> None:
    for device, target in check.TARGETS.items():
        assert load_machine(target).name == target, device


def test_another_graph_than_was_measured_is_refused() -> None:
    with pytest.raises(check.PerfcError, match="another graph was measured"):
        bounded(replace(RUN, published_mac=8e9))
