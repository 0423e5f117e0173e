"""Streams: order is kept, nothing is used more than it is there, one stream is the sum."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perfc
from perfc.errors import PassError
from perfc.passes.roofline.streams import Timeline, depends_on
from perfc.passes.runtimes import LaunchMode, runtime

RESNET = Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz"


Run = tuple[list[set[int]], list[float], list[tuple[float, ...]]]


@st.composite
def runs(draw: st.DrawFn) -> Run:
    count = draw(st.integers(1, 12))
    depends = [
        draw(st.sets(st.integers(0, i - 1), max_size=3)) if i else set[int]() for i in range(count)
    ]
    times = draw(st.lists(st.floats(1e-6, 1e-3), min_size=count, max_size=count))
    shares = st.tuples(st.floats(0.1, 1.0), st.floats(0.1, 1.0))
    return depends, times, draw(st.lists(shares, min_size=count, max_size=count))


@given(runs())
def test_one_stream_is_the_sum(
    run: tuple[list[set[int]], list[float], list[tuple[float, ...]]],
) -> None:
    depends, times, uses = run
    found = Timeline(depends, times, uses, [0.0] * len(times), 1)
    assert found.makespan_s == pytest.approx(math.fsum(times))


@given(runs(), st.integers(1, 4))
def test_order_is_kept_and_nothing_is_used_twice(run: Run, streams: int) -> None:
    depends, times, uses = run
    found = Timeline(depends, times, uses, [0.0] * len(times), streams)
    for i, before in enumerate(depends):
        assert all(found.end_s[j] <= found.start_s[i] for j in before)
        assert found.end_s[i] - found.start_s[i] >= times[i] * (1 - 1e-9)
        assert found.stream[i] < streams
    # a unit's work does not get less by sharing it, and no chain shorter
    for column in zip(*uses, strict=True):
        work = math.fsum(u * t for u, t in zip(column, times, strict=True))
        assert found.makespan_s >= work * (1 - 1e-9)
    assert found.makespan_s >= math.fsum(times) / streams * (1 - 1e-9)


def small(*depends: set[int], streams: int = 2, wait_s: float = 0.0, use: float = 0.5) -> Timeline:
    count = len(depends)
    return Timeline(list(depends), [1.0] * count, [(use,)] * count, [wait_s] * count, streams)


def test_branches_overlap_as_far_as_the_machine_has_room() -> None:
    none: set[int] = set()
    assert small(none, {0}, {0}, {1, 2}).makespan_s == pytest.approx(3.0)
    assert small(none, {0}, {0}, {1, 2}, use=1.0).makespan_s == pytest.approx(4.0)
    assert small(none, {0}, {0}, {1, 2}, streams=1).makespan_s == pytest.approx(4.0)


def test_the_host_launches_one_after_the_other_whatever_the_streams() -> None:
    none: set[int] = set()
    found = small(none, none, none, streams=3, wait_s=10.0)
    assert found.start_s == [0.0, 10.0, 20.0]


def test_more_streams_shorten_no_floor_below_what_units_need() -> None:
    runs = {
        n: perfc.analyze(RESNET, "a100", dims={"batch": 1}, runtime=f"cudagraph:{n}")
        for n in (1, 2, 64)
    }
    plain = perfc.analyze(RESNET, "a100", dims={"batch": 1}, runtime="cudagraph")
    assert runs[1].roofline.floor_s == plain.roofline.floor_s
    assert runs[2].roofline.floor_s <= plain.roofline.floor_s
    busiest = max(
        math.fsum(k.floor.get(c, 0.0) for k in plain.roofline.kernels)
        for c in plain.roofline.kernels[0].floor
    )
    assert runs[64].roofline.floor_s >= busiest * (1 - 1e-12)
    # the shortcuts of four blocks beside their convolutions
    first, second = runs[2].prediction.total, runs[1].prediction.total
    assert first.floor_s <= first.low_s <= first.time_s < second.time_s


def test_every_kernel_waits_for_what_it_reads() -> None:
    report = perfc.analyze(RESNET, "a100", runtime="cudagraph")
    depends = depends_on(report.kernels, report.module.graph)
    writers = {v: i for i, k in enumerate(report.kernels.kernels) for v in k.writes}
    for i, kernel in enumerate(report.kernels.kernels):
        assert {writers[v] for v in kernel.reads if v in writers} <= depends[i]


def test_a_recorded_graph_runs_eager_kernels_with_shorter_gaps() -> None:
    assert runtime("cudagraph").launch is LaunchMode.GRAPH
    assert runtime("cudagraph").patterns == runtime("eager").patterns
    eager, graph = (
        perfc.analyze(RESNET, "a100", dims={"batch": 1}, runtime=n).prediction.total
        for n in ("eager", "cudagraph")
    )
    assert graph.time_s < eager.time_s


@pytest.mark.parametrize(
    "name", ["eager:", "eager:0", "eager:x", "eager:1000", "eager:-2", "eager:²"]
)
def test_a_number_of_streams_that_is_none_is_one_clear_line(name: str) -> None:
    with pytest.raises(PassError, match="no number of streams"):
        runtime(name)
