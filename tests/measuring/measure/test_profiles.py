"""Profiles made elsewhere: recognized by content, aligned with the model, hostile ones refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from perfc.errors import ParseError
from perfc.measuring.measure import profilers
from perfc.measuring.measure.matching import align
from perfc.measuring.measure.profile import ProfilerKind
from perfc.measuring.measure.runtimes import kineto, ort_profile, tensorrt
from perfc.measuring.measure.runtimes.events import LARGEST_ITEM, events
from perfc.measuring.measure.session import read_profile


def node(name: str, ts: float, dur: float, op: str = "Conv") -> dict[str, object]:
    args = {"op_name": op, "provider": "CPUExecutionProvider"}
    return {
        "cat": "Node",
        "ph": "X",
        "name": f"{name}_kernel_time",
        "ts": ts,
        "dur": dur,
        "args": args,
    }


def run(ts: float, dur: float) -> dict[str, object]:
    return {"cat": "Session", "ph": "X", "name": "model_run", "ts": ts, "dur": dur, "args": {}}


def write(path: Path, content: object) -> str:
    text = json.dumps(content)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return str(path)


def ort(residual_times: Mapping[str, float]) -> list[dict[str, object]]:
    result: list[dict[str, object]] = [
        {"cat": "Session", "name": "model_loading_array", "ts": 0, "dur": 5, "args": {}}
    ]
    ts = 10.0
    for turn in range(3):
        for name, us in residual_times.items():
            result.append(node(name, ts, us * (10 if turn == 0 else 1)))
            ts += 1000
        result.append(run(0, 500))
    return result


NAMES = {"v2_nchwc": 40, "v4_nchwc": 60, "v7_nchwc": 5, "fc": 10}


def test_onnxruntime_profile_is_charged_by_names(residual: str, tmp_path: Path) -> None:
    path = write(tmp_path / "p.json.gz", ort(NAMES))
    m = read_profile(residual, path)
    assert profilers.recognize(path) is ProfilerKind.ORT
    assert m.attribution.share == 1
    assert m.total_s == pytest.approx(500.5e-6)
    times = {c.part.nodes[0]: c.time_s for c in m.rows if c.part.nodes}
    assert times["fc"] == pytest.approx(10.5e-6)
    assert sum(times.values()) == pytest.approx(sum(NAMES.values()) * 1e-6 + 4 * 0.5e-6)


def test_first_run_warms_up_and_subgraphs_are_not_counted_twice(tmp_path: Path) -> None:
    content = [node("inner", 20, 30), node("loop", 10, 100, "Loop"), run(0, 200)] * 2
    result = {k.name: k.time_s for k in ort_profile.read(write(tmp_path / "p", content)).kernels}
    assert result["inner"] == pytest.approx(30.5e-6)
    assert result["loop"] == pytest.approx(70.5e-6)


def test_only_whole_microseconds_are_cut(tmp_path: Path) -> None:
    content = [node("view", 10, 0.0), node("product", 20, 30.25), run(0, 200)] * 2
    result = {k.name: k.time_s for k in ort_profile.read(write(tmp_path / "p", content)).kernels}
    assert result == {"view": 0.0, "product": pytest.approx(30.25e-6)}


def test_profile_of_another_model_is_one_clear_line(embedding: str, tmp_path: Path) -> None:
    path = write(tmp_path / "p.json", ort(dict.fromkeys(("conv_1", "conv_2", "q"), 50.0)))
    with pytest.raises(ParseError, match="profile of another model: 0 % of its time"):
        read_profile(embedding, path)


def operator(name: str, ts: float, dur: float, key: int) -> dict[str, object]:
    return {
        "ph": "X",
        "cat": "cpu_op",
        "name": f"aten::{name}",
        "tid": 1,
        "ts": ts,
        "dur": dur,
        "args": {"External id": key},
    }


FORWARD = (
    "conv2d",
    "batch_norm",
    "relu",
    "conv2d",
    "batch_norm",
    "add",
    "relu",
    "adaptive_avg_pool2d",
    "flatten",
    "linear",
)


def trace(names: tuple[str, ...], *, device: bool) -> dict[str, object]:
    result: list[dict[str, object]] = []
    key = 0
    for turn in range(3):
        for i, name in enumerate(names):
            ts = 1000.0 * (turn * len(names) + i)
            key += 2
            result.append(operator(name, ts, 100 + i, key))
            result.append(operator(f"inner_{name}", ts + 1, 50, key + 1))
            if device:
                args = {"External id": key + 1}
                result.append(
                    {
                        "ph": "X",
                        "cat": "kernel",
                        "name": "k",
                        "ts": ts + 500,
                        "tid": 7,
                        "dur": 10.0 + i,
                        "args": args,
                    }
                )
    return {"schemaVersion": 1, "traceEvents": result}


@pytest.mark.parametrize("device", [False, True])
def test_pytorch_trace_is_aligned_with_the_model(
    residual: str, tmp_path: Path, device: bool
) -> None:
    path = write(tmp_path / "t.json", trace(FORWARD, device=device))
    m = read_profile(residual, path, "a100" if device else "")
    assert m.setting.device == ("cuda" if device else "cpu")
    times = {c.part.nodes: c.time_s for c in m.rows if c.part.runtime}
    first = 10e-6 if device else 100e-6
    assert times["conv_a",] == pytest.approx(first)
    assert times["fc",] == pytest.approx(first + 9e-6)
    assert m.attribution.share == 1
    assert m.runs == 2


def test_pytorch_trace_of_another_model_is_refused(embedding: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", trace(FORWARD, device=False))
    with pytest.raises(ParseError, match="of another model: of 3 costly operators"):
        read_profile(embedding, path)


def test_repetition_and_common_subsequence() -> None:
    assert kineto.period("abcabcabc") == 3
    assert kineto.period("abcab") == 5
    assert align.common("axbyc", "abcz") == [(0, 0), (2, 1), (4, 2)]


LAYERS = [
    {"count": 20},
    {"name": "conv_a + relu_a", "timeMs": 2.0, "averageMs": 0.2, "medianMs": 0.1},
    {"name": "Reformatting CopyNode for Input Tensor 0 to conv_b", "averageMs": 0.01},
    {"name": "conv_b + PWN(add, relu_b)", "averageMs": 0.3},
    {"name": "{ForeignNode[pool...fc]}", "averageMs": 0.05},
]


def test_tensorrt_layers_are_charged_to_their_nodes(residual: str, tmp_path: Path) -> None:
    path = write(tmp_path / "p.json", LAYERS)
    m = read_profile(residual, path, "a100")
    assert profilers.recognize(path) is ProfilerKind.TENSORRT
    assert m.attribution.share == 1
    assert m.total_s == pytest.approx(0.46e-3)
    charged = {c.part.nodes: c.time_s for c in m.rows if c.part.runtime}
    assert charged["conv_a", "relu_a"] == pytest.approx(0.11e-3)
    assert any({"pool", "flatten", "fc"} <= set(n) for n in charged)


def test_tensorrt_layer_information_names_nodes_that_names_do_not(
    residual: str, tmp_path: Path
) -> None:
    times = write(tmp_path / "p.json", [{"count": 1}, {"name": "myelin_1", "averageMs": 1.0}])
    named = "".join(f"[ONNX Layer: {n}]" for n in ("conv_a", "bn_a", "conv_b", "add", "fc"))
    layers = write(tmp_path / "l.json", {"Layers": [{"Name": "myelin_1", "Metadata": named}]})
    for order in ((times, layers), (layers, times)):
        m = read_profile(residual, order[0], "a100", layers=order[1])
        assert m.attribution.share == 1
    with pytest.raises(ParseError, match="layer information without times"):
        read_profile(residual, layers, "a100")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "not a profile"),
        (b"\x00\x01\x02", "not a profile"),
        (b"hello", "not a profile"),
        (b'{"a": 1}', "no profiler known here"),
        (b'[{"averageMs": 1e999}]', "nothing ran"),
        (b'[{"averageMs": "x"}, {"averageMs": true}]', "nothing ran"),
        (b'{"traceEvents": "none", "ph": 1}', "no list of events"),
        (b'{"traceEvents": []}', "no operator of PyTorch"),
        (b'[{"name": "x_kernel_time", "cat": "Node"}]', "nothing ran"),
        (b'[{"name": "x_kernel_time", "cat": "Node", "dur": -1, "ts": 1}]', "nothing ran"),
        (b'[{"name": "x_kernel_time", ' + b"[" * 100_000, "nested too deeply|not JSON"),
        (b'[{"name": "x_kernel_time"} nonsense' + b"." * 100, "not JSON"),
        (b"\x1f\x8bnot gzip at all", "cannot be unpacked"),
    ],
    ids=range(13),
)
def test_hostile_files_give_one_line(content: bytes, text: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(content)
    with pytest.raises(ParseError, match=text):
        profilers.read(path)


def test_a_cut_profile_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    text = json.dumps(ort(NAMES))
    path = tmp_path / "p.json"
    path.write_text(text[: len(text) - 60])
    assert len(profilers.read(path).kernels) == len(NAMES)


def test_events_are_read_across_pieces_and_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perfc.measuring.measure.runtimes.events.CHUNK", 7)
    content = [{"name": "α→β" * i, "value": [i, {"x": "]"}]} for i in range(20)]
    path = write(tmp_path / "p.json", content)
    path_raw = tmp_path / "raw.json"
    path_raw.write_text(json.dumps({"other": 1, "list": content}, ensure_ascii=False))
    assert list(events(path)) == content
    assert list(events(path_raw, "list")) == content


def test_one_giant_event_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text('[{"name": "' + "a" * (LARGEST_ITEM + (2 << 20)) + '"}]')
    with pytest.raises(ParseError, match="not JSON"):
        list(events(path))


def test_tensorrt_names_are_taken_apart() -> None:
    assert tensorrt.members_of("/c/Conv + /r/Relu") == ("/c/Conv", "/r/Relu")
    assert tensorrt.members_of("PWN(/a/Sigmoid, /a/Mul)") == ("/a/Sigmoid", "/a/Mul")
    assert tensorrt.members_of("{ForeignNode[/a...b/c]}") == ("/a...b/c",)
    assert tensorrt.members_of("Reformatting CopyNode for Output Tensor 0 to x") == ()


def test_device_times_belong_to_the_operator_around_the_launch(tmp_path: Path) -> None:
    """PyTorch 1.13 to 2.1 write the correlation number where others write the operator's."""

    def event(category: str, name: str, ts: int, dur: int, **args: object) -> dict[str, object]:
        return {
            "ph": "X",
            "cat": category,
            "name": name,
            "ts": ts,
            "dur": dur,
            "pid": 1,
            "tid": 1,
            "args": args,
        }

    trace = [
        event("cpu_op", "aten::linear", 0, 50, **{"External id": 1}),
        event("cpu_op", "aten::addmm", 5, 30, **{"External id": 2}),
        event("cuda_runtime", "cudaLaunchKernel", 10, 5, correlation=3),
        event("cpu_op", "aten::relu", 60, 20, **{"External id": 3}),
        event("cuda_runtime", "cudaLaunchKernel", 65, 5, correlation=1),
        event("kernel", "gemm", 100, 70, correlation=3, **{"External id": 3}),
        event("kernel", "relu", 200, 4, correlation=1, **{"External id": 1}),
    ]
    kernels = profilers.read(write(tmp_path / "p.json", {"traceEvents": trace})).kernels
    assert {k.name: pytest.approx(k.time_s) for k in kernels} == {"0:linear": 70e-6, "1:relu": 4e-6}
