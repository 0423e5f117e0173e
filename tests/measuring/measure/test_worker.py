"""The process that runs a model: how often it runs, what it counts, what it leaves behind."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

from perfc.measuring.measure import worker

ort = pytest.importorskip("onnxruntime")


class Clock:
    """Seconds that pass only where a run takes them."""

    def __init__(self, takes_s: float) -> None:
        self.now_s, self.takes_s, self.steps, self.fed = 100.0, takes_s, 0, ""

    def perf_counter(self) -> float:
        return self.now_s

    def feed(self, path: str) -> None:
        self.fed = path

    def step(self) -> None:
        self.steps += 1
        self.now_s += self.takes_s

    def is_finite(self) -> bool:
        return True


CASE: dict[str, Any] = {"feeds": "feeds.npz"}


def request(**given: object) -> dict[str, Any]:
    return {"repeat": 3, "min_time_s": 0.5, "max_time_s": 20.0, "nodes": 10, **given}


@pytest.mark.parametrize(
    ("takes_s", "given", "warm", "count"),
    [
        # up to eight runs, or 0.3 s, warm up; then half a second and three runs at least
        (0.01, {}, 8, 50),
        (0.125, {}, 3, 4),
        (0.4, {}, 1, 3),
        (0.25, {"repeat": 1, "min_time_s": 0.0}, 2, 1),
        (0.25, {"repeat": 9, "min_time_s": 0.0}, 2, 9),
        # no more runs begin once the time is up
        (4.0, {"repeat": 100}, 1, 5),
        (0.125, {"max_time_s": 0.25}, 2, 2),
        (5.0, {"max_time_s": 5.0}, 1, 1),
    ],
)
def test_a_case_is_run_until_its_time_and_its_runs_are_over(
    takes_s: float, given: dict[str, Any], warm: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(takes_s)
    monkeypatch.setattr(worker, "time", clock)
    result = worker.measured(clock, CASE, request(**given))
    assert (result["warm"], len(result["times_s"])) == (warm, count)
    assert clock.steps == warm + count
    assert clock.fed == "feeds.npz"
    assert result["first_s"] == pytest.approx(takes_s)
    assert result["times_s"] == pytest.approx([takes_s] * count)
    assert result["is_finite"]


@pytest.mark.parametrize(
    ("takes_s", "given", "skip", "count"),
    [
        (0.05, {}, 2, 10),
        (0.001, {}, 2, 40),
        (0.3, {}, 2, 3),
        (2.0, {}, 1, 3),
        (1.0, {}, 1, 3),
        (0.999, {}, 2, 3),
        (12.0, {}, 1, 1),
        (7.0, {"max_time_s": 15.0}, 1, 2),
        # the runtime stops at a million events
        (0.001, {"nodes": 3000}, 2, 20),
        (0.001, {"nodes": 60_000}, 2, 3),
        (0.001, {"nodes": 0}, 2, 40),
        (0.01, {"min_time_s": 1.0, "max_time_s": 0.2}, 2, 20),
        (0.01, {"min_time_s": -1.0}, 2, 3),
    ],
)
def test_few_runs_are_profiled_behind_those_that_warm_up(
    takes_s: float, given: dict[str, Any], skip: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(takes_s)
    monkeypatch.setattr(worker, "time", clock)
    timed = {"times_s": [9.0, takes_s, 1e-9]} if takes_s < 9 else {"times_s": [takes_s]}
    result = worker.profiled(clock, CASE, timed, request(**given))
    assert result == {"skip": skip, "count": count}
    assert clock.steps == skip + count


def test_memory_is_what_the_system_says_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    said = SimpleNamespace(read_text=lambda **_: "Name:\tx\nVmHWM:\t  1234 kB\nVmRSS:\t 77 kB\n")
    monkeypatch.setattr(worker, "Path", lambda _: said)
    assert worker.memory("VmHWM") == 1234 * 1024
    assert worker.memory("VmRSS") == 77 * 1024
    assert worker.memory("VmSwap") == 0

    def nothing(**_: object) -> str:
        raise OSError

    said.read_text = nothing
    assert worker.memory("VmRSS") == 0
    peak = worker.memory("VmHWM")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert worker.memory("VmHWM") * 1024 == pytest.approx(peak, rel=0.2)


MODEL = """
<ir_version: 10, opset_import: ["": 21]>
small (float[2, 3] x, int64[2] rows) => (float[2, 3] y, int64[2] kept)
{
   [plus] a = Add (x, x)
   [over] y = Log (a)
   [same] kept = Identity (rows)
}
"""


@pytest.mark.parametrize(("least", "is_finite"), [(0.5, True), (-1.0, False)])
def test_a_request_leaves_times_versions_and_a_profile(
    least: float, is_finite: bool, tmp_path: Path
) -> None:
    model = tmp_path / "small.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), model)
    x = np.full((2, 3), 0.5, np.float32)
    x[0, 0] = least
    np.savez(tmp_path / "feeds.npz", i0=x, i1=np.array([1, 2]))
    asked = request(
        runtime="ort",
        device="cpu",
        threads=1,
        model=str(model),
        folder=str(tmp_path),
        inputs=[["x", 1, True], ["rows", 7, True]],
        cases=[{"feeds": str(tmp_path / "feeds.npz")}],
        profile=True,
        repeat=2,
        min_time_s=0.0,
        nodes=3,
    )
    (tmp_path / "request.json").write_text(json.dumps(asked))
    assert worker.main(str(tmp_path / "request.json")) == 0
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["stage"] == "profiled"
    assert not result["error"]
    assert result["version"] == f"onnxruntime {ort.__version__}"
    (case,) = result["cases"]
    assert case["is_finite"] is is_finite
    assert case["peak_rss_bytes"] >= result["base_rss_bytes"] > 0
    assert len(case["times_s"]) == 2
    assert result["profiles"] == [{"skip": 2, "count": 3}]
    events = json.loads((tmp_path / result["profile"]).read_text())
    ran = [e["name"] for e in events if e.get("cat") == "Node" and "kernel_time" in e["name"]]
    assert ran.count("over_kernel_time") == 5
    kept = onnx.load(tmp_path / "optimized.onnx")
    assert {n.op_type for n in kept.graph.node} >= {"Log", "Identity"}
    assert not (tmp_path / "optimized.bin").exists()


def test_a_device_that_the_runtime_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="this onnxruntime has no CUDAExecutionProvider"):
        worker.runtime(request(runtime="ort", device="cuda:1", folder=str(tmp_path)))
