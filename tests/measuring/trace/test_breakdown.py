"""Time of a trace by what the host did: modules, lines, calls, idle time, critical path, queues."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc import cli
from perfc.errors import ParseError
from perfc.measuring.trace.analyses import host, stack
from perfc.measuring.trace.analyses.breakdown import TITLES
from perfc.measuring.trace.analyses.idle import (
    Cause,
    CauseTime,
    idle_causes,
    queue_length,
    queue_lengths,
)
from perfc.measuring.trace.analyses.path import critical_path
from perfc.measuring.trace.analyses.stack import StackBy, StackTime, stack_times
from perfc.measuring.trace.formats import read_trace
from perfc.measuring.trace.formats.kineto import label_of
from perfc.measuring.trace.steps import selected
from perfc.measuring.trace.summary import TraceSummary, summarized
from perfc.measuring.trace.timeline import HostKind
from tests.measuring.trace.samples import SECRET, chrome, kernel, operator, runtime, text_of

Event = dict[str, Any]
HOST = {Cause.OPERATOR, Cause.PYTHON, Cause.CALL, Cause.SYNCHRONIZATION, Cause.UNRECORDED}
SENT = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def written(folder: Path, *events: Event) -> Path:
    path = folder / "trace.json"
    path.write_text(text_of(chrome(*events)))
    return path


def summary(folder: Path, *events: Event) -> TraceSummary:
    whole = read_trace(written(folder, *events), has_frames=True)
    return summarized(selected(whole, is_all=True))


def frame(name: str, ts: float, dur: float, tid: int = 1) -> Event:
    return {
        "ph": "X",
        "cat": "python_function",
        "name": name,
        "pid": 1,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": {"Python id": 1},
    }


def launch(
    number: int, host: float, start: float, length: float, name: str = "k", stream: int = 7
) -> list[Event]:
    """Return a call of 2 µs and its kernel."""
    made = kernel(name, start, length, number)
    made["args"]["stream"] = stream
    return [runtime("cudaLaunchKernel", host, 2, number), made]


def microseconds(causes: Sequence[CauseTime]) -> dict[tuple[str, str], float]:
    return {(c.cause, c.name): round(c.time_s * 1e6, 3) for c in causes}


SYNCHRONIZED = [
    operator("aten::mm", 0, 10),
    *launch(1, 2, 6, 24, "first"),
    runtime("cudaDeviceSynchronize", 12, 20, 2),
    operator("aten::add", 34, 10),
    *launch(3, 40, 45, 5, "second"),
]


def test_idle_time_goes_to_what_the_host_did_before_the_launch(tmp_path: Path) -> None:
    assert microseconds(idle_causes(summary(tmp_path, *SYNCHRONIZED))) == {
        (Cause.SYNCHRONIZATION.value, "cudaDeviceSynchronize"): 2,
        (Cause.UNRECORDED.value, ""): 2,
        (Cause.OPERATOR.value, "aten::add"): 6,
        (Cause.LATENCY.value, "cudaLaunchKernel"): 5,
    }


def test_the_critical_path_goes_through_synchronizations(tmp_path: Path) -> None:
    made = critical_path(summary(tmp_path, *SYNCHRONIZED))
    assert microseconds(made) == {
        (Cause.KERNEL.value, "first"): 24,
        (Cause.KERNEL.value, "second"): 5,
        (Cause.LATENCY.value, "cudaLaunchKernel"): 4 + 5,
        (Cause.OPERATOR.value, "aten::add"): 6,
        (Cause.UNRECORDED.value, ""): 2,
        (Cause.SYNCHRONIZATION.value, "cudaDeviceSynchronize"): 2,
    }
    assert sum(c.share for c in made) == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "ran", "waited"),
    [("a", Cause.KERNEL, Cause.STREAM), (SENT, Cause.COMMUNICATION, Cause.WAITING)],
)
def test_kernels_wait_for_another_stream(
    tmp_path: Path, name: str, ran: Cause, waited: Cause
) -> None:
    events = [
        *launch(1, 0, 10, 40, name),
        runtime("cudaStreamWaitEvent", 5, 1, 2),
        *launch(3, 8, 52, 8, "b", stream=8),
    ]
    whole = summary(tmp_path, *events)
    assert microseconds(idle_causes(whole)) == {(waited.value, name): 2}
    assert microseconds(critical_path(whole)) == {
        (Cause.KERNEL.value, "b"): 8,
        (waited.value, name): 2,
        (ran.value, name): 40,
        (Cause.LATENCY.value, "cudaLaunchKernel"): 10,
    }
    free = critical_path(summary(tmp_path, *events[:2], *events[3:]))
    assert (Cause.LATENCY.value, "cudaLaunchKernel") in microseconds(free)
    assert (ran.value, name) not in microseconds(free)


def test_queued_kernels_are_the_critical_path(tmp_path: Path) -> None:
    events = [*launch(1, 0, 5, 40), *launch(2, 3, 46, 10), *launch(3, 6, 57, 10)]
    whole = summary(tmp_path, *events)
    assert microseconds(idle_causes(whole)) == {(Cause.QUEUED.value, ""): 2}
    assert microseconds(critical_path(whole)) == {
        (Cause.KERNEL.value, "k"): 60,
        (Cause.QUEUED.value, ""): 2,
        (Cause.LATENCY.value, "cudaLaunchKernel"): 5,
    }


def test_a_copy_that_ends_within_its_call_stops_the_host(tmp_path: Path) -> None:
    copy = kernel("Memcpy DtoH (Device -> Pageable)", 20, 5, 1) | {"cat": "gpu_memcpy"}
    events = [runtime("cudaMemcpyAsync", 0, 30, 1), copy, *launch(2, 32, 36, 1)]
    assert microseconds(critical_path(summary(tmp_path, *events))) == {
        (Cause.LATENCY.value, "cudaMemcpyAsync"): 20,
        (Cause.COPY.value, "Memcpy DtoH (Device -> Pageable)"): 5,
        (Cause.SYNCHRONIZATION.value, "cudaMemcpyAsync"): 5,
        (Cause.UNRECORDED.value, ""): 2,
        (Cause.LATENCY.value, "cudaLaunchKernel"): 4,
        (Cause.KERNEL.value, "k"): 1,
    }


@given(st.data())
def test_causes_and_path_add_up_exactly(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    clocks, ends = {1: 0.0, 2: 3.0}, {7: 0.0, 8: 0.0}
    events: list[Event] = []
    short = st.integers(0, 9)
    for number in range(data.draw(st.integers(1, 12))):
        thread, stream = data.draw(st.sampled_from([1, 2])), data.draw(st.sampled_from([7, 8]))
        begin = clocks[thread] + data.draw(short)
        if data.draw(st.booleans()):
            name = data.draw(st.sampled_from(["cudaMalloc", "cudaStreamSynchronize"]))
            length = max(ends[stream] - begin, 0) + data.draw(short) / 4
            call = runtime(name, begin, length, 500 + number)
            events.append(call | {"tid": thread})
            begin += call["dur"]
        wait = runtime("cudaStreamWaitEvent", begin, 0.25, 900 + number) | {"tid": thread}
        events += [wait] * data.draw(st.integers(0, 1))
        start = max(begin + 1 + data.draw(short), ends[stream])
        call, ran = launch(number, begin + 1, start, data.draw(short), "k", stream)
        events += [operator("aten::mm", begin, 4) | {"tid": thread}, call | {"tid": thread}, ran]
        clocks[thread], ends[stream] = begin + 4, start + ran["dur"]
    longest, _ = launch(999, 0, 0, 1)
    events += [longest, kernel("k", max(ends.values()) + 1, 1, 999)]
    made = summary(tmp_path_factory.mktemp("t"), *events)
    rows = made.trace.launches
    (device,) = made.devices
    idle = idle_causes(made)
    late = sum(c.time_s for c in idle if Cause(c.cause) in HOST)
    assert round(late * 1e9) == device.late_ns
    assert round(sum(c.time_s for c in idle) * 1e9) == device.span_ns - device.busy_ns
    first = min(map(min, zip(rows.host_ns, rows.start_ns, strict=True)))
    last = max(map(sum, zip(rows.start_ns, rows.duration_ns, strict=True)))
    path = critical_path(made)
    assert round(sum(c.time_s for c in path) * 1e9) == last - first
    assert Cause.UNKNOWN.value not in {c.cause for c in path}


def test_a_queue_has_launches_that_have_not_ended() -> None:
    made = queue_length("0", 7, {1: (0, 20), 2: (1, 40), 3: (50, 60)})
    assert (made.maximum, made.launches, made.mean) == (2, 3, (20 + 39 + 10) / 60)
    assert (made.empty_share, made.full_share) == (10 / 60, 0)
    for count, share in ((1023, 0), (1024, 1)):
        assert queue_length("0", 7, dict.fromkeys(range(count), (0, 9))).full_share == share


def test_a_launch_of_a_graph_is_one_and_begins_with_its_kernel(tmp_path: Path) -> None:
    graph = runtime("cudaGraphLaunch", 10, 2, 1)
    ran = launch(2, 0, 1, 3)
    whole = summary(tmp_path, graph, kernel("a", 8, 4, 1), kernel("b", 20, 8, 1), *ran)
    (queue,) = queue_lengths(whole.trace)
    assert (queue.launches, queue.maximum, queue.mean) == (2, 1, 24 / 28)
    assert (queue.device, queue.stream) == ("0", 7)


TRAINED = [
    frame("nn.Module: Net_0", 0, 100),
    frame("/home/ann/project/nets/net.py(7): forward", 1, 98),
    frame("nn.Module: Linear_0", 10, 20),
    frame("torch/nn/modules/linear.py(9): forward", 11, 18),
    operator("aten::mm", 12, 8, [64, 64], [64, 64]),
    *launch(1, 14, 20, 30, "forward_gemm"),
    operator("aten::relu", 39, 9),
    *launch(2, 40, 60, 5),
    *launch(3, 140, 150, 2),
    operator("autograd::engine::evaluate_function: MmBackward0", 200, 30) | {"tid": 2},
    runtime("cudaLaunchKernel", 210, 2, 4) | {"tid": 2},
    kernel("gemm", 220, 60, 4),
    frame(f"{SECRET}={SECRET}.py(1): f", 0, 400),
    frame(f"a(b): {SECRET} c", 0, 400),
    frame("range", 350, 10) | {"cat": "user_annotation"},
]
TRAINED[4]["args"]["Sequence number"] = 5
TRAINED[12]["args"] |= {"Sequence number": 5, "Fwd thread id": 1}


def rows_of(made: Sequence[StackTime]) -> dict[str, tuple[float, ...]]:
    return {
        n.path: (n.launches, *(round(x * 1e6, 3) for x in (n.time_s, n.self_s, n.backward_s)))
        for n in made
    }


def test_kernels_count_for_the_modules_and_lines_around_their_launch(tmp_path: Path) -> None:
    whole = summary(tmp_path, *TRAINED)
    modules = stack_times(whole, StackBy.MODULE)
    assert rows_of(modules) == {
        "Net_0": (3, 95, 5, 60),
        "Net_0/Linear_0": (2, 90, 90, 60),
        "": (1, 2, 2, 0),
    }
    assert [n.depth for n in modules] == [0, 1, 0]
    (bounded,) = (k for k in whole.kernels if k.floor is not None)
    assert modules[0].floor_s == modules[1].floor_s == bounded.floor.floor_s  # type: ignore[union-attr]
    assert modules[1].bounded_s == pytest.approx(30e-6)
    assert modules[2].floor_share is None
    lines = stack_times(whole, StackBy.LINE)
    assert rows_of(lines) == {"nets/net.py(7): forward": (3, 95, 95, 60), "": (1, 2, 2, 0)}
    calls = rows_of(stack_times(whole, StackBy.CALL))
    forward = "Net_0/nets/net.py(7): forward"
    assert calls[f"{forward}/Linear_0/aten::mm"] == (1, 30, 30, 0)
    assert calls["autograd::engine::evaluate_function: MmBackward0"] == (1, 60, 60, 60)
    assert "Net_0" not in calls, "adds nothing to the only call in it"
    assert calls[forward] == (2, 35, 0, 0)
    for by in StackBy:
        total = sum(n.self_s for n in stack_times(whole, by))
        assert round(total * 1e9) == whole.kernel_ns


def test_lower_bounds_of_modules_add_up_to_those_of_kernels(tmp_path: Path) -> None:
    events = [frame("nn.Module: A_0", 0, 50), frame("nn.Module: B_0", 50, 200)]
    for at in range(4):
        events.append(operator("aten::mm", 40 * at, 30, [64, 64], [64, 64]))
        events += launch(at, 40 * at + 5, 400 + 60 * at, 30, "gemm")
        events += launch(at + 9, 40 * at + 9, 435 + 60 * at, 20, "splitKreduce")
    whole = summary(tmp_path, *events)
    floor_s = sum(k.floor.floor_s * k.executions for k in whole.kernels if k.floor)
    first, second = sorted(stack_times(whole, StackBy.MODULE), key=lambda n: n.name)
    assert (first.floor_s or 0) + (second.floor_s or 0) == pytest.approx(floor_s)
    assert first.floor_share == pytest.approx(floor_s / 4 / 50e-6)
    assert second.bounded_s == pytest.approx(second.time_s)


def test_a_recursive_function_counts_once(tmp_path: Path) -> None:
    name = "nets/net.py(7): walk"
    events = [frame(name, 0, 90), frame(name, 5, 60), *launch(1, 10, 20, 3), *launch(2, 70, 80, 4)]
    assert rows_of(stack_times(summary(tmp_path, *events), StackBy.LINE)) == {name: (2, 7, 7, 0)}


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("/home/ann/net.py(12): forward", "net.py(12): forward", HostKind.PYTHON),
        ("/Users/ann/a/b/net.py(1): <lambda>", "b/net.py(1): <lambda>", HostKind.PYTHON),
        (r"C:\Users\ann\nets\net.py(3): f", "nets/net.py(3): f", HostKind.PYTHON),
        ("vllm/v1/worker/model.py(5): run", "worker/model.py(5): run", HostKind.PYTHON),
        ("torch/_ops.py(7): __call__", "torch/_ops.py(7): __call__", HostKind.LIBRARY),
        ("/opt/site-packages/torch/nn/f.py(7): f", "nn/f.py(7): f", HostKind.LIBRARY),
        ("/data/torch/train.py(7): f", "torch/train.py(7): f", HostKind.PYTHON),
        (
            "<built-in method copy_ of Tensor object at 0x7f>",
            "<built-in method copy_ of Tensor>",
            HostKind.LIBRARY,
        ),
        ("nn.Module: Bottleneck_3", "Bottleneck_3", HostKind.MODULE),
    ],
)
def test_frames_have_two_components_of_their_file(text: str, name: str, kind: HostKind) -> None:
    label = label_of(text)
    assert label is not None
    assert (label.name, label.kind) == (name, kind)


@pytest.mark.parametrize("by", TITLES)
def test_a_breakdown_has_four_forms_and_no_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    path = written(tmp_path, *TRAINED)
    out = {}
    for form in ("text", "json", "csv", "markdown"):
        assert cli.run(["trace", str(path), "--all", "--by", by, "--output-format", form]) == 0
        out[form] = capsys.readouterr().out
        assert SECRET not in out[form]
        assert "ann" not in out[form].replace("channel", "")
    assert TITLES[by] in out["text"]
    made = json.loads(out["json"])["breakdown"]
    rows = made["nodes"] or made["causes"]
    assert made["by"] == by
    assert len(list(csv.DictReader(io.StringIO(out["csv"])))) == len(rows) > 0
    plain = read_trace(path).host
    assert plain is not None
    assert {getattr(x, "kind", None) for x in plain.labels.numbers} == {HostKind.CALL}


@pytest.mark.parametrize("by", [b.value for b in StackBy if b is not StackBy.CALL])
def test_a_trace_without_a_stack_says_how_to_record_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    path = written(tmp_path, *SYNCHRONIZED)
    assert cli.run(["trace", str(path), "--by", by]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "with_stack=True, with_modules=True" in line


def test_deep_stacks_are_cut_and_many_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = [frame(f"n.py({n}): f", n, 4000 - 2 * n) for n in range(1500)]
    whole = summary(tmp_path, *deep, *launch(1, 1600, 1700, 5))
    nodes = stack_times(whole, StackBy.LINE)
    assert len(nodes) == 200
    wide = [
        e
        for n in range(9)
        for e in (frame(f"n.py({n}): f", 50 * n, 40), *launch(n, 50 * n + 5, 50 * n + 9, 5))
    ]
    monkeypatch.setattr(host, "MOST_STACKS", 8)
    with pytest.raises(ParseError, match="more than 8 different call stacks"):
        stack_times(summary(tmp_path, *wide), StackBy.LINE)
    monkeypatch.undo()
    monkeypatch.setattr(stack, "MOST_NODES", 8)
    with pytest.raises(ParseError, match="more than 8 calls"):
        stack_times(summary(tmp_path, *wide), StackBy.CALL)
