"""From kernels to a run: launches, hosts, streams and steps, each example computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perfc
from perfc import testing
from perfc.analyzers.estimate.estimate import Estimate, Predictor, RunEstimate
from perfc.analyzers.estimate.floors import above_floors
from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.runs.host import (
    host_gap,
    host_note,
    host_times,
    known_hosts,
    launch_cost,
    launch_counts,
    launch_gap,
)
from perfc.analyzers.runs.overlap import overlap
from perfc.analyzers.runs.prediction import PredictionTable, notes, total
from perfc.analyzers.runs.recurrence import chained, chained_s
from perfc.analyzers.runs.timeline import RunHost, spread, timeline
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.ir import Numbers
from perfc.machine import load_machine
from perfc.passes.roofline.ceilings import KernelBound
from perfc.passes.roofline.roofline import GRAPH_GAP
from perfc.passes.runtimes import LaunchMode
from perfc.passes.runtimes import runtime as runtime_named

US = 1e-6


def ends(found: Interval) -> tuple[float, float, float]:
    return found.low, found.mid, found.high


def us(low: float, mid: float, high: float) -> object:
    return pytest.approx((low * US, mid * US, high * US))


# Launches


def test_a_launch_that_was_measured_is_surer_than_one_that_was_not(tmp_path: Path) -> None:
    measured = testing.machine(tmp_path, "launch_overhead_s 10e-6 lab")
    assert ends(launch_gap(measured, LaunchMode.EAGER)) == us(8, 10, 12.5)
    stated = testing.machine(tmp_path, "launch_overhead_s 10e-6 sheet")
    assert ends(launch_gap(stated, LaunchMode.EAGER)) == us(6, 10, 20)


def test_a_graph_takes_its_own_launch_or_a_quarter_of_the_hosts(tmp_path: Path) -> None:
    assert GRAPH_GAP == 0.25
    measured = testing.machine(tmp_path, "launch_overhead_s 10e-6 lab")
    assert ends(launch_gap(measured, LaunchMode.GRAPH)) == us(1.5, 2.5, 5)
    own = testing.machine(tmp_path, "launch_overhead_s 10e-6 lab", "launch_graph_s 2e-6 lab")
    assert ends(launch_gap(own, LaunchMode.GRAPH)) == us(1.6, 2, 2.5)
    assert ends(launch_gap(own, LaunchMode.EAGER)) == us(8, 10, 12.5)


ADD = b"""<ir_version: 10, opset_import: ["" : 21]>
g (float16[1000] x, float16[1000] y) => (float16[1000] z) { z = Add (x, y) }"""


@pytest.mark.parametrize("runtime", ["eager", "cudagraph"])
def test_a_machine_that_states_no_launch_is_launched_in_no_time(
    tmp_path: Path, runtime: str
) -> None:
    """6 kB pass 4 TB/s of L2 in 1.5 ns; nothing is added to that, and never a second."""
    machine = testing.machine(tmp_path)
    for launch in LaunchMode:
        assert ends(launch_gap(machine, launch)) == (0, 0, 0)
    report = perfc.analyze(ADD, str(machine.path), runtime=runtime, predictor="kernels")
    assert report.roofline.launch_gap_s == 0
    assert report.roofline.time_s == report.roofline.sustained_s
    assert report.roofline.kernels[0].launch_gap_s == 0
    stated = testing.machine(tmp_path, "launch_overhead_s 10e-6 sheet")
    gap_s = 10 * US * (GRAPH_GAP if runtime == "cudagraph" else 1)
    with_launch = perfc.analyze(ADD, str(stated.path), runtime=runtime).roofline
    assert with_launch.launch_gap_s == pytest.approx(gap_s - with_launch.sustained_s)


# The host


def run_of(low: float, mid: float, high: float, fixed: float = 0.0) -> RunEstimate:
    return RunEstimate(1 * US, Interval(low * US, mid * US, high * US), fixed * US)


def test_a_host_takes_a_launch_of_a_framework_for_each_kernel(tmp_path: Path) -> None:
    machine = testing.machine(tmp_path, "launch_overhead_s 10e-6 sheet")
    assert ends(host_gap(machine, Setting(Precision.F16))) == us(10, 30, 76)
    assert ends(host_gap(machine, Setting(Precision.F16, training=True))) == us(30, 90, 228)
    assert ends(host_gap(machine, Setting(Precision.F16, compiled=True))) == us(8, 15, 24)
    processor = testing.machine(tmp_path, kind="cpu")
    assert ends(host_gap(processor, Setting(Precision.F16, training=True))) == (0, 0, 0)


@pytest.mark.parametrize(
    ("runtime", "target", "latency_us", "launches"),
    [
        # BERT-base and -large, MobileNetV3, ResNet-50 in int8, EfficientNet-B1 at batch 1
        ("torchscript", "a100", 4160, 198),
        ("torchscript", "t4", 10370, 198),
        ("torchscript", "v100-sxm2-32gb", 13600, 390),
        ("eager", "a100", 9580, 302),
        ("tensorrt", "t4", 670, 73),
        ("tensorrt", "a100", 450, 56),
        ("ort", "a100", 6500, 609),
        ("paddle", "t4", 6010, 108),
        ("paddle-trt", "v100-sxm2-16gb", 2290, 140),
        ("paddle-trt", "v100-sxm2-16gb", 1040, 65),
    ],
)
def test_hosts_of_published_runs_at_batch_one_lie_in_the_interval(
    runtime: str, target: str, latency_us: float, launches: int
) -> None:
    times = host_times(load_machine(target), runtime_named(runtime))
    assert times is not None
    low_s, high_s = (launches * times.launch_s[i] + times.fixed_s[i] for i in (0, 2))
    assert low_s < latency_us * US < high_s


def test_every_host_is_known_by_its_boards_and_takes_less_for_what_runs_inside_an_operator() -> (
    None
):
    for host in known_hosts():
        for ends_s in (host.launch_s, host.helper_s, host.fixed_s):
            assert list(ends_s) == sorted(ends_s)
        assert host.helper_s <= host.launch_s
    eager = runtime_named("eager")
    slow, older, newer, other = (
        host_times(load_machine(t), eager) for t in ("jetson-orin-nano", "t4", "rtx5090", "mi300x")
    )
    assert slow is not None
    assert older is not None
    assert newer is not None
    assert other is not None
    assert slow.launch_s[1] > older.launch_s[1] > newer.launch_s[1]
    assert other not in (slow, older, newer)
    for like in ("eager-unfused", "transformers", "eager-literal", "eager:2"):
        assert host_times(load_machine("t4"), runtime_named(like)) == older


def test_the_host_of_transformers_launches_what_its_operators_are() -> None:
    """A layer is 40 launches: two norms of 8, rotation 10, attention 5, gate 3, six others."""
    machine = load_machine("a100")
    eager = runtime_named("eager")
    launch = launch_cost(machine, runtime_named("transformers"))
    assert launch == launch_cost(machine, eager)
    assert launch_cost(machine, runtime_named("vllm")) is None
    report = perfc.analyze("qwen2.5-0.5b", "a100", runtime="transformers", dims={"seq": 16})
    # positions are cast and multiplied by the inverse frequencies, angles are joined; cosines and
    # sines of them are computed, scaled and cast: once per pass, and read by every layer
    rotary = 3 + 2 * 3
    names = [k.anchor.results[0].name for k in report.kernels.kernels]
    assert [name.removeprefix("rotary.64.") for name in names if name.startswith("rotary.")] == [
        "f32",
        "angles",
        "both",
        "cos",
        "cos.scaled",
        "cos.narrow",
        "sin",
        "sin.scaled",
        "sin.narrow",
    ]
    # an embedding, the last token of each sequence, a norm and a head
    assert sum(launch_counts(report.execution)) == 24 * 40 + 1 + 1 + 8 + 1 + rotary
    assert launch is not None
    assert report.prediction.total.time_s >= launch.mid * 24 * 40


def test_what_is_said_of_a_host_wins_over_what_was_measured_and_that_over_all_hosts(
    tmp_path: Path,
) -> None:
    """Measured 25 µs or said 30 µs: with a fifth and a quarter on either side."""
    eager = runtime_named("eager")
    measured = testing.machine(tmp_path, "host_launch_s 25e-6 lab")
    assert ends(launch_cost(measured, eager)) == us(20, 25, 31.25)
    assert ends(host_gap(measured, Setting(Precision.F16))) == us(20, 25, 31.25)
    for said in (
        launch_cost(measured, eager, 30e-6),
        host_gap(measured, Setting(Precision.F16, host_launch_s=30e-6)),
    ):
        assert ends(said) == us(24, 30, 37.5)
    ort = runtime_named("ort")
    assert ends(launch_cost(measured, ort, 7e-6)) == us(5.6, 7, 8.75)
    usual = launch_cost(testing.machine(tmp_path), ort)
    assert usual is not None
    assert launch_cost(measured, ort) == usual * (25 / 30), "the same host runs both"


def test_a_device_faster_than_its_host_waits_for_each_launch() -> None:
    """Launches of 20 µs: kernels start at 0, 20, 40 and 60 µs, the one of 60 µs hides the next."""
    kernels = [kernel_of(time_us) for time_us in (4, 5, 6, 60, 7)]
    host = RunHost(Interval(8 * US, 20 * US, 40 * US), (1.0,) * 5)
    found = timeline(kernels, host)
    assert [k.wait_s / US for k in found] == pytest.approx([0, 16, 15, 14, 0])
    assert [k.device_s / US for k in found] == pytest.approx([4, 5, 6, 60, 7])
    assert ends(found[1].time) == pytest.approx(us(2.5 + 6.4, 5 + 16, 10 + 32))
    assert sum(k.time_s for k in timeline(kernels, RunHost(host.launch, (1, 1, 2, 1, 1)))) == (
        pytest.approx((20 + 20 + 20 + 20 + 60 + 7) * US)
    ), "the last launch of a kernel does half of it"
    assert timeline(kernels, None) == kernels
    assert timeline(kernels, RunHost(Interval.exactly(0.0), (1.0,) * 5)) == kernels


def test_equal_kernels_wait_equally_long() -> None:
    """The first of three never waits, the others 15 µs each."""
    kernels = [kernel_of(5)] * 3
    found = timeline(kernels, RunHost(Interval.exactly(20 * US), (1.0,) * 3))
    assert {id(k) for k in found} == {id(found[0])}
    assert found[0].wait_s == pytest.approx(10 * US)


@given(
    st.lists(st.tuples(st.floats(0.1, 1e3), st.floats(0, 1), st.floats(0, 50)), min_size=1),
    st.floats(1.0, 5.0),
    st.floats(0.0, 100.0),
)
def test_parts_of_kernels_and_the_fixed_time_sum_up_to_the_run(
    drawn: list[tuple[float, float, float]], factor: float, fixed_us: float
) -> None:
    """Scaling keeps proportions above the lower bounds."""
    kernels = [
        Estimate(t * low * US, Interval.exactly((t + gap) * US), Predictor.LAW, "x", gap_s=gap * US)
        for t, low, gap in drawn
    ]
    late = timeline(kernels, RunHost(Interval.exactly(20 * US), (1.0,) * len(kernels)))
    before_s = math.fsum([*(k.time_s for k in late), fixed_us * US])
    floor_s = math.fsum(k.floor_s for k in kernels)
    for ratio in (factor, 1.0, 1 / factor):
        total_s = max(ratio * before_s, floor_s)
        found, run = spread(late, RunEstimate(floor_s, Interval.exactly(total_s), fixed_us * US))
        assert run.time_s == math.fsum([*(k.time_s for k in found), run.fixed_s])
        assert run.time_s == pytest.approx(total_s)
        for before, after in zip(late, found, strict=True):
            assert after.time_s >= after.floor_s * (1 - 1e-9)
            assert after.device_s + after.gap_s + after.wait_s == pytest.approx(after.time_s)
            assert after.wait_s * before.time_s == pytest.approx(before.wait_s * after.time_s)
    assert (
        spread(late, replace(run, time=Interval.exactly(before_s), fixed_s=fixed_us * US))[0]
        == late
    )


def test_no_host_keeps_recorded_graphs_or_processors_waiting(tmp_path: Path) -> None:
    stated = testing.machine(tmp_path, "launch_overhead_s 10e-6 lab")
    for runtime in ("cudagraph", "inductor-cudagraph", "vllm"):
        for given_s in (None, 30e-6):
            assert launch_cost(stated, runtime_named(runtime), given_s) is None
    processor = testing.machine(tmp_path, "launch_overhead_s 10e-6 sheet", kind="cpu")
    assert launch_cost(processor, runtime_named("eager"), 30e-6) is None


def test_runtimes_without_measured_runs_launch_like_other_engines(tmp_path: Path) -> None:
    machine = testing.machine(tmp_path)
    assert launch_cost(machine, runtime_named("tvm")) == launch_cost(machine, runtime_named("ort"))


def test_the_note_of_a_host_says_how_long_a_launch_takes() -> None:
    eager = runtime_named("eager")
    assert host_note(RunHost(Interval(20e-6, 30e-6, 48e-6), (12.0,)), eager) == (
        "the device waits for its host: 12 launches, 30 µs each (20 to 48; --host-launch says "
        "better); --runtime cudagraph records them"
    )
    assert host_note(RunHost(Interval(20e-6, 25e-6, 31e-6), (12.0,)), eager, is_given=True) == (
        "the device waits for its host: 12 launches, 25 µs each (20 to 31); --runtime cudagraph "
        "records them"
    )


# Streams

TWO = b"""<ir_version: 10, opset_import: ["" : 21]>
g (float16[1000] x, float16[1000] y) => (float16[1000] a, float16[1000] b)
{ a = Exp (x)  b = Exp (y) }"""


def side_by_side(
    folder: Path, streams: int, time_us: float, gap_us: float, launch_us: float
) -> float:
    """Two kernels that need nothing of one another and leave the machine idle."""
    machine = (
        testing.machine(folder, f"launch_graph_s {launch_us * US} lab")
        if launch_us
        else testing.machine(folder)
    )
    report = perfc.analyze(TWO, str(machine.path), runtime=f"cudagraph:{streams}")
    time = Interval(0.5, 1.0, 2.0) * (time_us * US)
    kernels = [Estimate(1e-9, time, Predictor.LEARNED, "elementwise", gap_s=gap_us * US)] * 2
    return overlap(kernels, report.roofline, report.kernels, report.module)


def test_two_kernels_on_two_streams_take_half_the_time_of_one_stream(tmp_path: Path) -> None:
    assert side_by_side(tmp_path, 2, 10, 0, 0) == pytest.approx(0.5)
    assert side_by_side(tmp_path, 1, 10, 0, 0) == 1.0
    assert side_by_side(tmp_path, 2, 0, 0, 0) == 1.0


def test_launches_one_after_another_keep_streams_apart(tmp_path: Path) -> None:
    """Work of 8 µs launched every 2 µs: 16 µs on one stream, 2 + 8 on two."""
    assert side_by_side(tmp_path, 2, 10, 2, 2) == pytest.approx(10 / 16)


def test_kernels_of_two_streams_sum_up_to_the_run(tmp_path: Path) -> None:
    one, two = (
        perfc.analyze(TWO, str(testing.machine(tmp_path).path), runtime=f"cudagraph:{n}").prediction
        for n in (1, 2)
    )
    parts_s = [*(k.time_s for k in two.kernels), two.total.fixed_s]
    assert two.total.time_s == math.fsum(parts_s) <= one.total.time_s


# Steps of recurrent layers

LSTM = b"""<ir_version: 10, opset_import: ["" : 18]>
lstm (float[7, 2, 64] x, float[1, 256, 64] w, float[1, 256, 64] r) => (float[7, 1, 2, 64] y)
{ y, h, c = LSTM <hidden_size = 64> (x, w, r) }"""


def test_seven_steps_take_seven_times_one_for_each_launch() -> None:
    (kernel,) = perfc.analyze(LSTM, "a100", runtime="eager").roofline.kernels
    found = chained_s(kernel.kernel, Numbers({}))
    assert found is not None
    assert ends(found) == us(7, 35, 210)
    alone = Estimate(
        1e-9,
        Interval(1 * US, 2 * US, 3 * US),
        Predictor.ROOFLINE,
        "recurrent",
        in_run=Interval.exactly(0.0),
    )
    once = chained(alone, kernel, Numbers({}))
    assert ends(once.time) == us(8, 37, 213)
    assert (once.is_extrapolating, once.is_measured, once.in_run) == (True, False, None)
    twice = KernelBound(
        kernel.kernel, kernel.counts, 2.0, kernel.floor, kernel.sustained, 0.0, 0.0, kernel.dtype
    )
    assert ends(chained(alone, twice, Numbers({})).time) == us(15, 72, 423)


def test_other_kernels_have_no_steps() -> None:
    kernel = testing.kernel({})
    estimate = Estimate(1e-9, Interval.exactly(1 * US), Predictor.LEARNED, "elementwise")
    assert chained_s(kernel.kernel, Numbers({})) is None
    assert chained(estimate, kernel, Numbers({})) is estimate


# Sums


def kernel_of(
    mid: float, predictor: Predictor = Predictor.LEARNED, name: str = "matmul", **more: bool
) -> Estimate:
    return Estimate(1 * US, Interval(0.5, 1.0, 2.0) * (mid * US), predictor, name, **more)


def test_a_total_sums_kernels_and_host_and_ends_at_its_floor() -> None:
    """Kernels of one class that nobody measured here err together; classes apart, as 3, 4, 5."""
    found = total([kernel_of(10), kernel_of(20)], 5 * US)
    assert found.time.mid == pytest.approx(30 * US)
    assert found.time.low == pytest.approx((30 - 15) * US)
    assert found.time.high == pytest.approx((30 + 30) * US)
    assert (found.floor_s, found.fixed_s) == (5 * US, 0.0)
    others = total([kernel_of(3), kernel_of(4, name="softmax")], 0.0)
    assert others.time.high == pytest.approx((7 + 5) * US)
    assert others.time.low == pytest.approx((7 - 2.5) * US)
    least = total([kernel_of(10)], 8 * US)
    assert ends(least.time) == us(8, 10, 20)
    assert ends(total([kernel_of(10)], 30 * US).time) == us(30, 30, 40)


def test_shares_of_predictors_are_of_the_kernels_time() -> None:
    kernels = kernel_of(10), kernel_of(30, Predictor.LAW)
    table = PredictionTable(kernels, total(kernels, 0.0))
    assert table.share(Predictor.LEARNED) == 0.25
    assert table.share(Predictor.LAW) == 0.75
    assert table.share(Predictor.ROOFLINE) == 0.0
    assert PredictionTable((), run_of(0, 0, 0)).share(Predictor.LEARNED) == 0.0


def test_a_faster_kernel_shortens_the_run_but_not_below_the_hosts_pace() -> None:
    """Kernels of 10 and 30 µs and 4 µs of no kernel; 22 µs of kernels make 26 of 44."""
    kernels = kernel_of(10), kernel_of(30)
    plain = PredictionTable(kernels, run_of(44, 44, 44, fixed=4), launched=kernels)
    assert plain.total_with({}) == pytest.approx(44 * US)
    assert plain.total_with({1: 12 * US}) == pytest.approx(26 * US)
    # 50 µs after the first launch comes the last one
    host = RunHost(Interval.exactly(50 * US), (1.0, 1.0))
    late = timeline(kernels, host)
    found, run = spread(late, run_of(84, 84, 84, fixed=4))
    waiting = PredictionTable(tuple(found), run, launched=kernels, host=host)
    assert waiting.total_with({0: 20 * US}) == pytest.approx(84 * US)
    assert waiting.total_with({1: 12 * US}) == pytest.approx(66 * US)
    assert waiting.total_with({}, launch_factor=0.5) == pytest.approx(59 * US)
    # measured runs take twice that
    doubled, run = spread(found, replace(run, time=Interval.exactly(168 * US)))
    whole = PredictionTable(tuple(doubled), run, launched=kernels, host=host, alone=waiting.total)
    assert whole.run_factor == pytest.approx(2)
    # all of it by the kernels, as the fixed time is known: 164 of 80 µs
    assert whole.total.fixed_s == pytest.approx(4 * US)
    assert whole.total_with({1: 12 * US}) == pytest.approx((4 + 62 * 164 / 80) * US)
    assert whole.time_of(plain) == pytest.approx((4 + 40 * 164 / 80) * US)


def test_notes_begin_where_more_than_a_tenth_is_unknown(tmp_path: Path) -> None:
    machine = testing.machine(tmp_path)
    known, strange = kernel_of(90), kernel_of(30, is_extrapolating=True)
    assert list(notes([known, strange], machine, "eager")) == []
    bare = kernel_of(30, Predictor.ROOFLINE, is_measured=False)
    assert list(notes([known, bare], machine, "eager")) == [
        "25 % of the time is in kernels without a predictor: wide intervals"
    ]
    few = kernel_of(10, Predictor.ROOFLINE, is_measured=False)
    assert list(notes([known, few], machine, "eager")) == []
    assert list(notes([bare], machine, "eager")) == [
        "no measurement of eager on a machine like toy: wide intervals (perfc adapt)"
    ]
    assert list(notes([], machine, "eager")) == []


# Floors


def test_streams_do_not_lower_a_floor_that_both_kernels_share(tmp_path: Path) -> None:
    """Both pass the same cache: one after another or at once, 8 kB at 4 TB/s are 2 ns."""
    machine = str(testing.machine(tmp_path).path)
    for runtime in ("cudagraph", "cudagraph:2"):
        found = perfc.analyze(TWO, machine, runtime=runtime).roofline
        assert [k.floor_s for k in found.kernels] == pytest.approx([1e-9, 1e-9])
        assert found.floor_s == pytest.approx(2e-9)


@given(
    st.lists(st.tuples(st.floats(1e-7, 1.0), st.floats(0.0, 1.0)), min_size=1, max_size=12),
    st.floats(0.5, 2.0),
)
def test_floors_move_time_between_kernels_and_add_none(
    pairs: list[tuple[float, float]], ratio: float
) -> None:
    times_s, floors_s = np.array(pairs).T
    sum_s = ratio * float(times_s.sum())
    found = above_floors(times_s, floors_s, sum_s)
    assert found.sum() == pytest.approx(max(sum_s, float(floors_s.sum())), rel=1e-6)
    assert (found >= floors_s * (1 - 1e-9)).all()
    assert (found <= np.maximum(times_s * ratio, floors_s) * (1 + 1e-9)).all(), "others shrink"
