"""Time lines of traces: lanes by stream and thread, and the trace for Perfetto."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc import cli
from perfc.common.formats import fitting
from perfc.measuring.trace.analyses import lanes
from perfc.measuring.trace.analyses.lanes import LaneKind, TimeLanes, lanes_of
from perfc.measuring.trace.formats import read_trace
from perfc.measuring.trace.steps import selected
from perfc.measuring.trace.summary import TraceSummary, summarized
from tests.measuring.trace import samples


def summary_of(folder: Path, trace: object, *, has_frames: bool = False) -> TraceSummary:
    path = folder / "trace.json"
    path.write_text(samples.text_of(trace), encoding="utf-8")
    return summarized(selected(read_trace(path, has_frames=has_frames), is_all=True))


def titles(line: TimeLanes) -> list[tuple[str, str, int]]:
    return [(each.group, each.title, len(each.which)) for each in line.lanes]


def streams() -> dict[str, Any]:
    """Return kernels of two streams that overlap, the second in two devices, within two steps."""
    events = [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": f"ProfilerStep#{n}",
            "ts": 1e6 + 100 * n,
            "dur": 90,
            "pid": 1,
            "tid": 1,
        }
        for n in range(2)
    ]
    for n, (stream, device) in enumerate(((7, 0), (20, 0), (20, 1), (7, 0))):
        at = 1e6 + 50 * n
        events += [
            samples.operator("aten::mm", at, 20, [64, 64], [64, 64], number=n),
            samples.runtime("cudaLaunchKernel", at + 5, 4, n),
        ]
        kernel = samples.kernel(samples.GEMM, at + 30, 60, n, n)
        kernel["args"] |= {"stream": stream, "device": device}
        events.append(kernel)
    return samples.chrome(*events)


def test_lanes_are_steps_threads_launches_and_streams(tmp_path: Path) -> None:
    line = lanes_of(summary_of(tmp_path, streams()))
    assert titles(line) == [
        ("host", "steps", 2),
        ("host", "operators of thread 1", 4),
        ("host", "launches", 4),
        ("device 0", "stream 7", 2),
        ("device 0", "stream 20", 1),
        ("device 1", "stream 20", 1),
    ]
    by_title = {(each.group, each.title): each for each in line.lanes}
    assert by_title["host", "steps"].which == (0, 1)
    stream = by_title["device 0", "stream 7"]
    assert stream.start_ns == (30_000, 180_000), "from the first span, not of the clock"
    assert stream.wait_ns == (25_000, 25_000)
    assert by_title["host", "launches"].duration_ns == (4000,) * 4
    assert (line.begin_ns, line.end_ns) == (5000, 240_000)
    assert line.operators == (("aten::mm", "64×64, 64×64"),)


def test_modules_have_a_lane_where_they_are_read(tmp_path: Path) -> None:
    frame = {
        "ph": "X",
        "cat": "python_function",
        "name": "nn.Module: Linear_0",
        "ts": 0,
        "dur": 99,
        "pid": 1,
        "tid": 1,
    }
    trace = samples.kineto()
    trace["traceEvents"].append(frame)
    assert not [t for _, t, _ in titles(lanes_of(summary_of(tmp_path, trace))) if "modules" in t]
    line = lanes_of(summary_of(tmp_path, trace, has_frames=True))
    assert ("Linear_0", "module") in line.operators


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 60)), min_size=1, max_size=60))
def test_spans_of_a_level_do_not_overlap_and_none_is_lost(spans: list[tuple[int, int]]) -> None:
    given_ = [(begin, length, n, -1) for n, (begin, length) in enumerate(spans)]
    made = lanes.lane((LaneKind.DEVICE, "device 0", "kernels"), given_, 0)
    assert Counter(zip(made.start_ns, made.duration_ns, strict=True)) == Counter(spans)
    ends: dict[int, int] = {}
    for begin, length, level in zip(made.start_ns, made.duration_ns, made.level, strict=True):
        if level < lanes.MOST_LEVELS - 1:
            assert begin >= ends.get(level, 0)
        ends[level] = begin + length
    assert max(made.level) < lanes.MOST_LEVELS


def test_what_is_left_out_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MOST_SPANS", 3)
    monkeypatch.setattr(lanes, "MOST_LANES", 2)
    line = lanes_of(summary_of(tmp_path, streams()))
    assert line.notes == (
        "the time line has the 3 longest of 4 operators",
        "the time line has the first 3 of 4 launches",
        "the time line has 2 of 6 threads and streams",
    )
    assert all(len(each.which) <= 3 for each in line.lanes)


@pytest.mark.parametrize("name", samples.WRITERS)
def test_every_format_has_a_trace_for_perfetto(name: str, tmp_path: Path) -> None:
    source, path = tmp_path / "trace.json", tmp_path / "out.perfetto.json"
    source.write_text(samples.text_of(samples.WRITERS[name]()), encoding="utf-8")
    assert cli.run(["trace", str(source), "--all", "-o", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    assert samples.SECRET not in text
    tree = json.loads(text)
    named = {(e["pid"], e.get("tid")) for e in tree["traceEvents"] if e["ph"] == "M"}
    ends: dict[tuple[int, int], list[float]] = {}
    slices = [e for e in tree["traceEvents"] if e["ph"] == "X"]
    for e in sorted(slices, key=lambda e: (e["ts"], -e["dur"])):
        track = e["pid"], e["tid"]
        assert track in named
        assert (e["pid"], None) in named
        around = ends.setdefault(track, [])
        while around and around[-1] <= e["ts"]:
            around.pop()
        assert not around or e["ts"] + e["dur"] <= around[-1], "slices of a track nest"
        around.append(e["ts"] + e["dur"])
    assert min((e["ts"] for e in slices), default=0) == 0


def test_slices_of_kernels_have_class_and_lower_bound(tmp_path: Path) -> None:
    source, path = tmp_path / "trace.json", tmp_path / "out.json"
    source.write_text(samples.text_of(samples.kineto()), encoding="utf-8")
    words = ["trace", str(source), "--all", "--output-format", "trace", "-o", str(path)]
    assert cli.run(words) == 0
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    first, *_ = (e for e in events if e["ph"] == "X" and e["name"] == samples.GEMM)
    assert first["cat"] == first["args"]["class"] == "matrix product"
    assert first["args"]["operator"] == "aten::mm"
    assert 0 < first["args"]["floor_s"] < first["dur"] * 1e-6
    mean_us = (230.5 + 231.0) / 2
    assert first["args"]["floor_share"] == pytest.approx(first["args"]["floor_s"] * 1e6 / mean_us)
    assert (first["ts"], first["dur"]) == (15.0, 230.5)


@pytest.mark.parametrize(
    ("name", "form"), [("a.json", "json"), ("a.perfetto.json", "trace"), ("A.HTML", "html")]
)
def test_the_longest_suffix_selects_the_format(name: str, form: str) -> None:
    assert fitting(Path(name), ("text", "json", "html", "trace"))[0] == form
