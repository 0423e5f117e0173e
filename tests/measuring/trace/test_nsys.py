"""Exports of Nsight Systems: graphs as a whole, operators of NVTX, several processes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from perfc.measuring.trace.analyses.stack import StackBy, stack_times
from perfc.measuring.trace.facts import DeviceTrace, OperatorCall
from perfc.measuring.trace.formats import read_trace
from perfc.measuring.trace.steps import selected
from perfc.measuring.trace.summary import summarized

KIND = "CUPTI_ACTIVITY_KIND_"
LAUNCH = "start INTEGER, end INTEGER, deviceId INTEGER, correlationId INTEGER, globalPid INTEGER"
SCHEMA = f"""
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    CREATE TABLE {KIND}KERNEL ({LAUNCH}, demangledName INTEGER);
    CREATE TABLE {KIND}GRAPH_TRACE ({LAUNCH}, graphId INTEGER);
    CREATE TABLE {KIND}RUNTIME (start INTEGER, end INTEGER, correlationId INTEGER,
        globalTid INTEGER, nameId INTEGER);
    CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT, textId INTEGER,
        globalTid INTEGER);
    INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'relu'), (3, 'cudaLaunchKernel_v7000');
"""
PROCESSES = (5 << 24, 6 << 24)


def read(
    tmp_path: Path, *, has_frames: bool = False, **tables: list[tuple[object, ...]]
) -> DeviceTrace:
    path = tmp_path / "trace.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as base:
        base.executescript(SCHEMA)
        for name, rows in tables.items():
            marks = ", ".join("?" * len(rows[0]))
            table = name if name == "NVTX_EVENTS" else KIND + name
            base.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        base.commit()
    return read_trace(path, has_frames=has_frames)


def test_a_graph_that_was_traced_as_a_whole_is_busy_time(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        KERNEL=[(1000, 2500, 0, 1, 1, 1), (3000, 4500, 0, 2, 1, 1)],
        GRAPH_TRACE=[(40_000, 90_000, 0, 100, 1, 3)],
    )
    made = summarized(trace)
    assert made.devices[0].busy_ns == 53_000
    assert {k.kernel: k.time_ns for k in made.kernels} == {"gemm": 3000, "CUDA graph": 50_000}


def test_operators_of_nvtx_have_their_extents_in_each_process(tmp_path: Path) -> None:
    ranges, calls, kernels = [], [], []
    for process, size in zip(PROCESSES, (64, 32), strict=True):
        label = (
            f"aten::mm, seq = 3, op_id = 7, sizes = [[{size}, 8], [8, 4], []], input_op_ids = []"
        )
        ranges += [
            (0, 90, "secret range", None, process + 1),
            (10, 50, label, None, process + 1),
            (60, 80, "aten::relu, op_id = 9", None, process + 1),
            (10, 50, "aten::bmm", None, process + 2),
        ]
        calls += [(20, 30, 1, process + 1, 3), (65, 70, 2, process + 1, 3)]
        kernels += [(100, 200, 0, 1, process, 1), (300, 310, 0, 2, process, 2)]
    trace = read(tmp_path, NVTX_EVENTS=ranges, RUNTIME=calls, KERNEL=kernels)
    operators = [trace.calls[call] for call in trace.launches.call]
    assert [f"{c.operator} {c.shapes}".strip() for c in operators] == [
        "aten::mm 64×8, 8×4, 1",
        "aten::relu",
        "aten::mm 32×8, 8×4, 1",
        "aten::relu",
    ]
    assert [*trace.launches.host_ns] == [20, 65, 20, 65]
    assert "secret" not in repr(trace)


@pytest.mark.parametrize("label", ["[" * 3000, "[[1, 2], [", "[[-1, 99999999999999999999]]"])
def test_extents_of_nvtx_that_are_none_are_left_out(tmp_path: Path, label: str) -> None:
    text = f"aten::mm, op_id = 1, sizes = {label}, input_op_ids = []"
    trace = read(
        tmp_path,
        NVTX_EVENTS=[(0, 90, text, None, 1)],
        RUNTIME=[(1, 2, 1, 1, 3)],
        KERNEL=[(5, 9, 0, 1, 0, 1)],
    )
    (call,) = trace.calls
    assert isinstance(call, OperatorCall)
    assert (call.operator, call.shapes) == ("aten::mm", "")


def test_marks_of_nvtx_are_steps(tmp_path: Path) -> None:
    starts = (0, 1000, 2000)
    trace = read(
        tmp_path,
        NVTX_EVENTS=[(at, at + 500, f"iteration {n}", None, 1) for n, at in enumerate(starts)],
        RUNTIME=[(at + 10, at + 12, n, 1, 3) for n, at in enumerate(starts)],
        KERNEL=[(at + 700, at + 750 + n, 0, n, 0, 1) for n, at in enumerate(starts)],
    )
    made = selected(trace)
    assert [s.kernel_ns for s in made.steps] == [50, 51, 52]
    assert made.step == 2


def test_ranges_of_nvtx_are_calls(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        has_frames=True,
        NVTX_EVENTS=[
            (0, 90, "layer 3", None, 1),
            (5, 60, "aten::mm, op_id = 1", None, 1),
            (0, 90, "other", None, 2),
            (0, 90, "KEY=secret", None, 1),
        ],
        RUNTIME=[(10, 20, 1, 1, 3), (70, 80, 2, 1, 3)],
        KERNEL=[(100, 200, 0, 1, 0, 1), (300, 310, 0, 2, 0, 2)],
    )
    made = stack_times(summarized(trace), StackBy.CALL)
    times = [(n.path, round(n.time_s * 1e9), round(n.self_s * 1e9)) for n in made]
    assert times == [("layer 3", 110, 10), ("layer 3/aten::mm", 100, 100)]
