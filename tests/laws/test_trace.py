"""Laws of a trace: time is spent once, and names of streams, order and origin count nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfc import testing

from .networks import printed

KERNELS = ("sm90_xmma_gemm_f16f16", "vectorized_elementwise_kernel", "ncclDevKernel_AllReduce_Sum")


@st.composite
def launches(draw: st.DrawFn) -> list[testing.TraceLaunch]:
    """Return kernels on two streams; those of one stream do not overlap."""
    ends = {7: 10, 8: 10}
    result: list[testing.TraceLaunch] = []
    for _ in range(draw(st.integers(1, 6))):
        stream = draw(st.sampled_from(sorted(ends)))
        start, time = ends[stream] + draw(st.integers(0, 20)), draw(st.integers(1, 30))
        ends[stream] = start + time
        result.append(
            testing.TraceLaunch(draw(st.sampled_from(KERNELS)), start, time, stream=stream)
        )
    return result


def shown(folder: Path, given: Sequence[testing.TraceLaunch]) -> Any:
    """Return what `perfc trace` prints as JSON."""
    path = folder / "trace.json"
    path.write_text(json.dumps(testing.trace(given)), encoding="utf-8")
    return printed("trace", str(path), "--target", "h100")


@settings(deadline=None, max_examples=12)
@given(launches())
def test_each_moment_is_busy_or_idle(
    tmp_path_factory: pytest.TempPathFactory, given: list[testing.TraceLaunch]
) -> None:
    result = shown(tmp_path_factory.mktemp("trace"), given)
    (device,) = result["devices"]
    first, last = min(g.start_us for g in given), max(g.start_us + g.time_us for g in given)
    covered = {m for g in given for m in range(int(g.start_us), int(g.start_us + g.time_us))}
    assert device["span_s"] == pytest.approx((last - first) * 1e-6)
    assert device["busy_s"] == pytest.approx(len(covered) * 1e-6)
    idle_s = device["late_s"] + device["pending_s"] + device["unknown_s"]
    assert device["busy_s"] + idle_s == pytest.approx(device["span_s"])
    assert device["exposed_s"] <= device["busy_s"] + 1e-12
    for part in ("classes", "kernels"):
        assert sum(row["time_s"] for row in result[part]) == pytest.approx(result["kernel_s"])
        assert sum(row["launches"] for row in result[part]) == len(given)
    assert result["kernel_s"] == pytest.approx(sum(g.time_us for g in given) * 1e-6)


@settings(deadline=None, max_examples=8)
@given(launches(), st.integers(1, 10**6), st.randoms(use_true_random=False))
def test_origin_order_and_streams_count_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    given: list[testing.TraceLaunch],
    later: int,
    random: Any,
) -> None:
    folder = tmp_path_factory.mktemp("trace")
    one = shown(folder, given)
    moved = [replace(g, start_us=g.start_us + later, stream=g.stream + 5) for g in given]
    random.shuffle(moved)
    other = shown(folder, moved)
    assert numbers(one) == pytest.approx(numbers(other), rel=1e-6, abs=1e-12)


def numbers(result: Any) -> list[float]:
    """Return the times of a trace, by device, class and kernel."""
    by_name = sorted((row["kernel"], row["time_s"]) for row in result["kernels"])
    (device,) = result["devices"]
    times = [v for k, v in device.items() if k.endswith("_s")]
    return [*times, *(time_s for _, time_s in by_name)]


@settings(deadline=None, max_examples=6)
@given(launches())
def test_a_trace_does_not_differ_from_itself(
    tmp_path_factory: pytest.TempPathFactory, given: list[testing.TraceLaunch]
) -> None:
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    path.write_text(json.dumps(testing.trace(given)), encoding="utf-8")
    result = printed("diff", str(path), str(path))
    whole_ns = sum(1000 * g.time_us for g in given)
    assert result["times_ns"] == [whole_ns, whole_ns]
    for part in ("changed_ns", "appeared_ns", "disappeared_ns"):
        assert result[part] == [0, 0]
