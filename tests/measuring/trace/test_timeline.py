"""Kernels and the operators that launched them: by time, by number, by the capture of a graph."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from perfc.errors import ParseError
from perfc.measuring.trace.facts import DeviceTrace, OperatorCall, nanoseconds
from perfc.measuring.trace.formats import read_trace
from perfc.measuring.trace.notes import notes_of
from tests.measuring.trace.samples import chrome, kernel, operator, runtime, text_of

LAUNCH = "cudaLaunchKernel"


def read(tmp_path: Path, trace: object, name: str = "trace.json", **more: str) -> DeviceTrace:
    path = tmp_path / name
    path.write_text(text_of(trace), encoding="utf-8")
    return read_trace(path, **more)


def operators(trace: DeviceTrace) -> dict[str, str]:
    """Return operator and shapes by kernel."""
    rows, made = trace.launches, [*trace.calls, OperatorCall("")]
    calls = (made[call] for call in rows.call)
    names = (trace.kernels[kernel] for kernel in rows.kernel)
    return {n: f"{c.operator} {c.shapes}".strip() for n, c in zip(names, calls, strict=True)}


def test_a_number_equal_to_the_correlation_names_no_operator(tmp_path: Path) -> None:
    events = (
        operator("aten::result_type", 10, 2, [64, 64], number=49),
        operator("aten::mm", 20, 5, [8192, 8192], [8192, 8192], number=50),
        operator("aten::relu", 100, 20, [64, 64], number=300),
        runtime(LAUNCH, 110, 3, 50),
        kernel("clamp", 200, 2, 50, 50),
        operator("aten::mm", 130, 20, [1024, 1024], [1024, 1024], number=301),
        runtime(LAUNCH, 140, 3, 49),
        kernel("sgemm", 300, 170, 49, 49),
        kernel("no launch", 500, 9, 300, 300),
    )
    assert operators(read(tmp_path, chrome(*events))) == {
        "clamp": "aten::relu 64×64",
        "sgemm": "aten::mm 1024×1024, 1024×1024",
        "no launch": "",
    }


def test_a_number_of_an_operator_that_is_not_around_the_launch_gives_way(tmp_path: Path) -> None:
    events = (
        operator("aten::view", 10, 5, [7, 7], number=1),
        operator("aten::mm", 20, 20, [8, 8], [8, 8], number=2),
        runtime(LAUNCH, 25, 3, 90),
        kernel("launched", 50, 2, 90, 1),
        kernel("no launch", 60, 2, 91, 1),
    )
    assert operators(read(tmp_path, chrome(*events))) == {
        "launched": "aten::mm 8×8, 8×8",
        "no launch": "aten::view 7×7",
    }


def test_the_operator_is_the_innermost_with_tensors(tmp_path: Path) -> None:
    attention = "aten::_scaled_dot_product_flash_attention"
    events = (
        operator("aten::linear", 0, 100, [2, 2]),
        operator("aten::addmm", 10, 80, [2, 4]),
        runtime(LAUNCH, 20, 5, 1),
        kernel("inner", 200, 1, 1),
        operator("aten::empty", 30, 0, [3]),
        runtime(LAUNCH, 30, 1, 2),
        kernel("behind an operator of no time", 210, 1, 2),
        operator("aten::_no_tensors", 40, 10),
        runtime(LAUNCH, 42, 5, 3),
        kernel("without shapes", 220, 1, 3),
        operator("torch::autograd::AccumulateGrad", 100, 50, [9, 9]),
        operator("record_param_comms", 110, 20),
        runtime(LAUNCH, 115, 5, 4),
        kernel("nccl", 230, 1, 4),
        operator("c10d::alltoall_", 151, 8, [6], [6]),
        operator("record_param_comms", 152, 6, [6]),
        runtime(LAUNCH, 153, 4, 6),
        kernel("all to all", 235, 1, 6),
        operator(attention, 160, 40, [1, 2, 3, 4]),
        operator("aten::_flash_attention_forward", 165, 30, [1, 3, 2, 4]),
        runtime(LAUNCH, 170, 5, 5),
        kernel("flash", 240, 1, 5),
    )
    assert operators(read(tmp_path, chrome(*events))) == {
        "inner": "aten::addmm 2×4",
        "behind an operator of no time": "aten::addmm 2×4",
        "without shapes": "aten::addmm 2×4",
        "nccl": "record_param_comms",
        "all to all": "record_param_comms 6",
        "flash": f"{attention} 1×2×3×4",
    }


def test_operators_are_those_of_a_search_of_all(tmp_path: Path) -> None:
    rng, events, expected = random.Random(4), list[dict[str, Any]](), dict[str, str]()

    def nested(begin: float, end: float, around: str, depth: int) -> None:
        at = begin
        while at + 4 < end and depth < 5:
            low, high = sorted(rng.uniform(at, end) for _ in range(2))
            if high - low < 2 or rng.random() < 0.1:
                break
            name = f"aten::op_{len(events)}"
            events.append(operator(name, low, high - low, [depth + 1]))
            nested(low, high, name, depth + 1)
            at = high
        moment = rng.uniform(at, end - 0.5) if around and at < end - 0.5 else None
        if moment is not None:
            number = len(events)
            events.append(runtime(LAUNCH, moment, 0.4, number))
            events.append(kernel(f"k{number}", 1e6 + number, 1, number, number))
            expected[f"k{number}"] = around

    nested(0, 4000, "", 0)
    rng.shuffle(events)
    made = operators(read(tmp_path, chrome(*events)))
    assert len(expected) > 9
    assert {k: v.split()[0] for k, v in made.items()} == expected


def graph_events(correlation: int, ts: float, *names: str) -> list[dict[str, Any]]:
    """Return the launch of a graph with its kernels."""
    kernels = [kernel(name, 1000 + ts + at, 1, correlation) for at, name in enumerate(names)]
    return [runtime("cudaGraphLaunch", ts, 1, correlation), *kernels]


def capture_events(
    correlation: int, ts: float, size: int, *names: str, is_named: bool = True
) -> list[dict[str, Any]]:
    """Return the capture of a graph with one operator for each kernel."""
    made = [runtime("cudaStreamBeginCapture", ts, 1, correlation)]
    for at, name in enumerate(names, 1):
        more = {"kernel": name} if is_named else {}
        made += [
            operator(f"aten::{name}", ts + 10 * at, 5, [size, size]),
            runtime(LAUNCH, ts + 10 * at + 1, 2, correlation + at, **more),
        ]
    return [*made, runtime("cudaStreamEndCapture", ts + 10 * len(names) + 8, 1, correlation + 90)]


@pytest.mark.parametrize("is_named", [True, False])
def test_kernels_of_a_graph_have_the_operators_of_its_capture(
    tmp_path: Path, is_named: bool
) -> None:
    # another stream may work during a capture
    eager = runtime(LAUNCH, 18, 1, 99), kernel("eager", 30, 1, 99)
    captured = [
        *capture_events(100, 0, 8, "mm", "relu", is_named=is_named),
        *eager,
        *capture_events(200, 100, 16, "bmm", is_named=is_named),
    ]
    (tmp_path / "capture.json").write_text(text_of(chrome(*captured)))
    replays = (*graph_events(1, 10, "mm", "relu"), *graph_events(2, 20, "bmm"))
    expected = {"mm": "aten::mm 8×8", "relu": "aten::relu 8×8", "bmm": "aten::bmm 16×16"}
    for at, trace in enumerate(
        (
            read(tmp_path, chrome(*replays), capture=str(tmp_path / "capture.json")),
            read(tmp_path, chrome(*captured, *replays), "both.json"),
        )
    ):
        assert operators(trace) | expected == operators(trace), at
        assert (trace.replays, trace.joined, notes_of(trace)) == (3, 3, ())
        assert len({e for e in trace.launches.execution if e >= 0}) == 3
    alone = read(tmp_path, chrome(*replays))
    assert set(operators(alone).values()) == {""}
    assert "3 kernels of graphs without operators" in notes_of(alone)[0]


def test_graphs_are_identified_by_their_kernels_or_by_their_order(tmp_path: Path) -> None:
    """Another order of streams, two sizes of one graph, and a graph that was never captured."""
    captured = [
        *capture_events(100, 0, 8, "mm", "relu"),
        *capture_events(200, 100, 16, "mm", "relu"),
        *capture_events(300, 200, 4, "mm", "exp", "mm"),
    ]
    replays = [
        *graph_events(1, 1000, "relu", "mm"),
        *graph_events(2, 1100, "mm", "relu"),
        *graph_events(3, 1200, "mm", "mm", "exp"),
    ]
    other = graph_events(4, 1300, "mm", "sum")
    for launches, expected in (
        (replays, ["8×8", "8×8", "16×16", "16×16", "4×4", "4×4", "4×4"]),
        # no longer in turn: which of the two sizes was launched is not known
        ([*replays, *other], ["", "", "", "", "4×4", "4×4", "4×4", "", ""]),
    ):
        trace = read(tmp_path, chrome(*captured, *launches))
        calls = trace.calls
        made = [calls[call].shapes if call >= 0 else "" for call in trace.launches.call]
        assert made == expected
        assert (trace.replays, trace.joined) == (len(made), len([m for m in made if m]))


def test_a_capture_without_graphs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "capture.json").write_text(text_of(chrome(kernel("k", 1, 1, 1))))
    with pytest.raises(ParseError, match="no capture of a graph"):
        read(tmp_path, chrome(kernel("k", 1, 1, 1)), capture=str(tmp_path / "capture.json"))


def test_old_and_bare_forms_are_read(tmp_path: Path) -> None:
    """Text times and numbers, categories of PyTorch 1.8, an array, the profiler before Kineto."""
    old = [
        {
            "ph": "X",
            "cat": "Operator",
            "name": "aten::mm",
            "pid": 1,
            "tid": "5",
            "ts": "10",
            "dur": "9",
            "args": {
                "External id": 3,
                "Input dims": [[2, 2], [2, 2]],
                "Input type": ["float", "float"],
            },
        },
        {
            "ph": "X",
            "cat": "Runtime",
            "name": LAUNCH,
            "pid": 1,
            "tid": 5,
            "ts": 11,
            "dur": 2,
            "args": {"correlation": "7", "external id": 7},
        },
        {
            "ph": "X",
            "cat": "Kernel",
            "name": "sgemm",
            "pid": 0,
            "tid": "stream 7",
            "ts": "100.5",
            "dur": "90",
            "args": {"correlation": 7, "external id": 7, "device": 0},
        },
        {
            "ph": "X",
            "cat": "Memcpy",
            "name": "Memcpy DtoH",
            "pid": 0,
            "ts": 200,
            "dur": 1,
            "args": {"correlation": 8, "external id": 8},
        },
    ]
    for trace in (old, {"schemaVersion": 1, "traceEvents": old}):
        made = read(tmp_path, trace)
        assert operators(made)["sgemm"] == "aten::mm 2×2, 2×2"
        assert [*made.launches.start_ns] == [100_500, 200_000]
    legacy = [
        {"ph": "X", "name": "aten::mm", "pid": "CPU functions", "tid": 1, "ts": 1, "dur": 3},
        {"ph": "X", "name": "sgemm", "pid": "CUDA functions", "tid": 0, "ts": 5, "dur": 90},
    ]
    assert [*read(tmp_path, legacy).launches.duration_ns] == [90_000]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1661938466279503, 1661938466279503000),
        (4952280098161.183, 4952280098161183),
        ("2.5", 2500),
        (True, None),
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
        ("x", None),
        (None, None),
        (-3, -3000),
        (4.6e15, None),
    ],
)
def test_times_are_whole_nanoseconds(given: object, expected: int | None) -> None:
    assert nanoseconds({"ts": given}, "ts") == expected
    assert nanoseconds({}, "ts") is None


@pytest.mark.parametrize(("end", "found"), [(16.0, "aten::mm 8×8"), (16.001, "")])
def test_a_launch_may_end_a_microsecond_after_its_operator(
    tmp_path: Path, end: float, found: str
) -> None:
    events = (
        operator("aten::mm", 10, 5, [8, 8]),
        runtime(LAUNCH, 12, round(end - 12, 3), 1),
        kernel("sgemm", 20, 1, 1),
    )
    assert operators(read(tmp_path, chrome(*events))) == {"sgemm": found}


@pytest.mark.parametrize(("end", "is_inside"), [(16.0, True), (16.001, False)])
def test_an_operator_may_end_a_microsecond_after_the_one_around_it(
    tmp_path: Path, end: float, is_inside: bool
) -> None:
    attention, inner = "aten::_scaled_dot_product_flash_attention", "aten::_flash_forward"
    events = (
        operator(attention, 10, 5, [8, 8]),
        operator(inner, 11, round(end - 11, 3), [8, 8]),
        runtime(LAUNCH, 12, 1, 1),
        kernel("flash", 20, 1, 1),
    )
    name = attention if is_inside else inner
    assert operators(read(tmp_path, chrome(*events))) == {"flash": f"{name} 8×8"}
