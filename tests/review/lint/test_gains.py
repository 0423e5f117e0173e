"""What rules compute, by hand: padding, alignment, gains at their thresholds, what is meant so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from onnx import TensorProto

from perfc.analyzers.estimate.estimate import Estimate, Predictor
from perfc.analyzers.estimate.interval import Interval
from perfc.ir.problem import SlidingWindow
from perfc.ir.tensors.types import DType
from perfc.machine import load_machine
from perfc.passes.roofline.ceilings import Ceiling
from perfc.passes.roofline.roofline import GRAPH_GAP
from perfc.passes.runtimes import LaunchMode
from perfc.review.lint.finding import Gain, GainBasis
from perfc.review.lint.subject import Subject
from perfc.review.rules import launch_bound
from perfc.review.rules.depthwise_on_matrix_path import DepthwiseOnMatrixPath
from perfc.review.rules.misaligned_channels import wanted_in
from perfc.review.rules.misaligned_extents import padding, summed_granule, unpadded
from perfc.review.rules.wide_type import is_wide, share_in
from tests.review.lint.models import F16, F32, found, model, node


def test_a_gain_is_the_difference_of_two_runs() -> None:
    assert Gain.of((10.0, 4.0), (7.0, 3.0), GainBasis.BOUNDS) == Gain(
        3.0, 0.3, 1.0, GainBasis.BOUNDS, 10.0
    )
    assert Gain.of((10.0, 4.0), (9.5, 1.0), GainBasis.BOUNDS).floor_s == 0.5
    assert Gain.of((10.0, 4.0), (12.0, 3.0), GainBasis.BOUNDS) == Gain(
        -2.0, -0.2, 0.0, GainBasis.BOUNDS, 10.0
    )
    assert Gain.of((10.0, 4.0), (10.0 - 1e-9, 4.0), GainBasis.BOUNDS).time_s == 0.0
    assert Gain.of((10.0, 4.0), (10.0 - 1e-7, 4.0), GainBasis.BOUNDS).time_s > 0
    assert Gain.of((0.0, 0.0), (1.0, 0.0), GainBasis.BOUNDS).share == 0.0


@pytest.mark.parametrize(
    ("asked", "wanted", "share"),
    [
        ({"n": 8}, {"n": 8}, 0.0),
        ({"n": 9}, {"n": 8}, 7 / 16),
        ({"n": 9, "k": 9}, {"n": 8}, 7 / 16),
        ({"n": 4, "k": 12}, {"n": 8, "k": 8}, 1 - 48 / 128),
        ({"n": 0}, {"n": 8}, 7 / 8),
        ({"n": 1, "k": 2}, {}, 0.0),
    ],
)
def test_padding_is_the_share_of_products_that_nobody_asked_for(
    asked: dict[str, int], wanted: dict[str, int], share: float
) -> None:
    assert padding(asked, wanted) == pytest.approx(share)


def bound(gap_s: float = 0.0, **sustained_s: float) -> Any:
    times_s = {Ceiling[name.upper()]: t for name, t in sustained_s.items()}
    return SimpleNamespace(
        sustained=times_s, launch_gap_s=gap_s, time_s=gap_s + max(times_s.values(), default=0.0)
    )


def test_what_is_left_without_padding() -> None:
    assert unpadded(bound(matrix=3.0), 0.25) == pytest.approx(2.0)
    assert unpadded(bound(matrix=3.0, waves=6.0), 0.25) == pytest.approx(4.0)
    assert unpadded(bound(matrix=3.0, device=3.5), 0.25) == pytest.approx(3.0)
    assert unpadded(bound(matrix=3.0, device=9.0), 0.25) == pytest.approx(9.0)
    assert unpadded(bound(1.0, matrix=3.0), 0.25) == pytest.approx(4.0), "its launch hides it"
    assert unpadded(bound(matrix=3.0), 0.0) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("dtype", "target", "tf32", "granule"),
    [
        (DType.F16, "a100", True, 8),
        (DType.I8, "a100", True, 16),
        (DType.F32, "a100", True, 4),
        (DType.F32, "a100", False, None),
        (DType.U8, "a100", True, 16),
        (DType.F16, "generic-x86-64", True, None),
        (DType.F16, "p100-pcie-16gb", True, None),
        (DType.F64, "a100", True, 2),
    ],
)
def test_sixteen_bytes_of_what_is_summed_are_a_granule(
    dtype: DType, target: str, tf32: bool, granule: int | None
) -> None:
    kernel: Any = SimpleNamespace(dtype=dtype, tf32=tf32)
    assert summed_granule(kernel, load_machine(target)) == granule


def test_few_channels_are_padded_to_four_and_patches_not_at_all() -> None:
    def window(extents: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        return SimpleNamespace(static_extents=extents, strides=strides)

    sliding = window((3, 3), (1, 1))
    assert [wanted_in(sliding, c, 8) for c in (1, 3, 4, 5, 9)] == [4, 4, 4, 8, 8]
    assert wanted_in(sliding, 3, 2) == 2
    assert wanted_in(window((16, 16), (16, 16)), 3, 8) == 1
    assert wanted_in(window((3, 3), (3, 3)), 3, 8) == 4, "27 products are no multiple of 8"
    assert wanted_in(window((), ()), 9, 8) == 8


def subject(*kernels: tuple[DType, float]) -> Any:
    table = SimpleNamespace(kernels=[SimpleNamespace(time_s=t) for _, t in kernels])
    return SimpleNamespace(
        report=SimpleNamespace(prediction=table),
        kernels=[SimpleNamespace(dtype=d) for d, _ in kernels],
    )


def test_the_share_of_wide_kernels_is_of_their_time() -> None:
    assert share_in(subject((DType.F32, 3.0), (DType.F16, 1.0)), is_wide) == 0.75
    assert share_in(subject((DType.F16, 1.0)), is_wide) == 0.0
    assert share_in(subject((DType.F32, 0.0)), is_wide) == 0.0


def island() -> object:
    return model(
        [
            node("Cast", ["x"], ["a"], to=F16, name="down"),
            node("Sigmoid", ["a"], ["b"], name="middle"),
            node("Cast", ["b"], ["c"], to=F32, name="up"),
            node("Relu", ["c"], ["y"], name="next"),
        ],
        {"x": [4096, 4096]},
        {"y": [4096, 4096]},
    )


def product(dtype: int = F32) -> object:
    kind = np.float16 if dtype == F16 else np.float32
    w = np.ones((1024, 1024), kind)
    return model(
        [node("MatMul", ["x", "w"], ["y"])],
        {"x": [4096, 1024]},
        {"y": [4096, 1024]},
        {"w": w},
        dtype,
    )


WHOLE = [
    ("PF409", island, True),
    ("PF407", product, True),
    ("PF408", product, False),
]
"""Rules that say nothing where nothing is gained, a model of each, and whether TF32 may serve."""


@pytest.mark.parametrize(("code", "made", "tf32"), WHOLE)
@pytest.mark.parametrize("time_s", [None, -1.0, 0.0, 1e-6])
def test_rules_that_compare_runs_speak_only_of_a_gain(
    code: str, made: Any, tf32: bool, time_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    gain = None if time_s is None else Gain(time_s, 0.5, 0.0, GainBasis.REANALYSIS, 1.0)
    monkeypatch.setattr(Subject, "rewriting", lambda *_: gain)
    monkeypatch.setattr(Subject, "deployed", lambda *_, **__: gain)
    findings = found(made(), code, tf32=tf32)
    assert [f.gain for f in findings] == ([gain] if time_s == 1e-6 else [])


def launched(*kernels: tuple[float, float, float]) -> Any:
    """Kernels with their time, what of it waits, and launches."""
    table = SimpleNamespace(
        launched=[
            Estimate(0.0, Interval.exactly(t), Predictor.LEARNED, "x", gap_s=w)
            for t, w, _ in kernels
        ],
        total_with=lambda times_s, factor: sum(times_s.values()) + factor,
    )
    overhead = SimpleNamespace(value=4.0)
    machine = SimpleNamespace(launch_overhead_s=overhead)
    report = SimpleNamespace(prediction=table, machine=machine)
    bounds = [SimpleNamespace(launches=n) for *_, n in kernels]
    return SimpleNamespace(report=report, kernels=bounds, now=(100.0, 1.0))


def test_recorded_launches_leave_their_own_gaps() -> None:
    gap_s = 4.0 * GRAPH_GAP
    gain = launch_bound.replayed(launched((10.0, 6.0, 1.0), (10.0, 1.0, 1.0)))
    assert gain.time_s == pytest.approx(100.0 - (max(4.0, gap_s) + 9.0 + GRAPH_GAP))
    many = launch_bound.replayed(launched((10.0, 9.5, 1e6)))
    assert many.time_s == pytest.approx(100.0 - (10.0 + GRAPH_GAP))
    assert (gain.basis, gain.base_s) == (GainBasis.BOUNDS, 100.0)
    none = launched((10.0, 6.0, 1.0))
    none.report.machine.launch_overhead_s = None
    assert launch_bound.replayed(none).time_s == pytest.approx(100.0 - (4.0 + GRAPH_GAP))


def waiting_for(
    waiting: float,
    *,
    launches: float = 3.0,
    kind: str = "cuda",
    launch: LaunchMode = LaunchMode.EAGER,
) -> Any:
    """A run of which so much waits for launches."""
    made = launched((10.0, 6.0, launches))
    made.report.prediction.total = SimpleNamespace(time_s=1.0)
    made.report.prediction.wait_s, made.report.prediction.gap_s = 0.25 * waiting, 0.75 * waiting
    made.report.machine.kind = kind
    runtime = SimpleNamespace(name="x", launch=launch, is_dispatched=False)
    made.report.kernels = SimpleNamespace(runtime=runtime)
    return made


def test_a_run_waits_for_its_launches_from_a_tenth_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_bound, "recorded", lambda _: None)
    rule = launch_bound.LaunchBound()

    def messages(run: Any) -> list[str]:
        return [f.message for f in rule.check(cast(Any, run))]

    assert messages(waiting_for(0.1)) == ["10.0 % of the run waits for 3 launches"]
    assert messages(waiting_for(0.0999)) == []
    assert messages(waiting_for(0.5, launches=2.0)) == ["50.0 % of the run waits for 2 launches"]
    assert messages(waiting_for(0.5, launches=1.0)) == []
    assert messages(waiting_for(0.5, kind="cpu")) == []
    assert messages(waiting_for(0.5, launch=LaunchMode.GRAPH)) == []


def table_of(rows: int, width: int) -> object:
    nodes = [node("Cast", ["x"], ["i"], to=TensorProto.INT64), node("Gather", ["w", "i"], ["y"])]
    return model(nodes, {"x": [1]}, {"y": [1, width]}, {"w": np.zeros((rows, width), np.float32)})


def test_weights_that_a_run_hardly_reads_are_told_from_a_mebibyte_on() -> None:
    (finding,) = found(table_of(1025, 256), "PF302")
    assert finding.saved_bytes == 1 << 20
    assert found(table_of(1024, 256), "PF302") == []


def attention(rows: int) -> object:
    """Scores of ``rows`` by ``rows`` between small operands."""
    return model(
        [
            node("MatMul", ["x", "w"], ["scores"], name="scores"),
            node("Softmax", ["scores"], ["weights"], name="softmax"),
            node("MatMul", ["weights", "v"], ["y"], name="out"),
        ],
        {"x": [rows, 64]},
        {"y": [rows, 64]},
        {"w": np.ones((64, rows), np.float16), "v": np.ones((rows, 64), np.float16)},
        F16,
    )


def test_a_tensor_on_its_way_is_too_large_beyond_the_cache() -> None:
    (finding,) = found(attention(8192), "PF301")
    assert finding.message.startswith(
        "f16[8192, 8192] takes 128 MiB, 32x what the 3 kernels around it"
    )
    assert "a fused operator (Attention, opset 23)" in finding.advice
    assert found(attention(2048), "PF301") == [], "8 MiB fit the cache"


def test_a_depthwise_window_is_told_with_its_next_ceiling() -> None:
    asked: list[tuple[float, float | None]] = []

    def lightened(index: int, time_s: float, floor_s: float | None = None) -> Gain:
        asked.append((time_s, floor_s))
        return Gain(1.0, 0.1, 0.0, GainBasis.BOUNDS, 10.0)

    pair = ((15, 15), (15, 15))
    problem = SlidingWindow(
        1, 64, 64, (56, 56), (56, 56), (31, 31), (1, 1), (1, 1), pair, groups=64
    )
    anchor = SimpleNamespace(name="conv")
    kernel = SimpleNamespace(problem=problem, anchor=anchor)
    times = {Ceiling.VECTOR: 6.0, Ceiling.DEVICE: 2.0, Ceiling.L2: 1.0}
    one = SimpleNamespace(
        kernel=kernel,
        binding=Ceiling.VECTOR,
        sustained=times,
        sustained_s=6.0,
        floor={Ceiling.VECTOR: 3.0, Ceiling.DEVICE: 0.5},
    )
    run: Any = SimpleNamespace(kernels=[one], lightened=lightened)
    (finding,) = DepthwiseOnMatrixPath().check(run)
    assert finding.message == "depthwise 31x31 convolution: vector units at 3.0x the next ceiling"
    assert asked == [(2.0, 0.5)]
    one.sustained = {Ceiling.VECTOR: 6.0}
    one.floor = {}
    (finding,) = DepthwiseOnMatrixPath().check(run)
    assert finding.message.endswith("vector units at 0.0x the next ceiling")
    assert asked[-1] == (0.0, 0.0)
    one.binding = Ceiling.DEVICE
    assert list(DepthwiseOnMatrixPath().check(run)) == []


def quantised(*, is_first: bool) -> object:
    """Quantised at the door of the model, or between two nodes."""
    nodes = [
        node("QuantizeLinear", ["x" if is_first else "r", "s", "z"], ["q"], name="q"),
        node("DequantizeLinear", ["q", "s", "z"], ["d"], name="d"),
        node("Softmax", ["d"], ["y"], name="after"),
    ]
    if not is_first:
        nodes.insert(0, node("Softmax", ["x"], ["r"], name="before"))
    scales = {"s": np.float32(0.1).reshape(()), "z": np.zeros((), np.int8)}
    return model(nodes, {"x": [4096, 4096]}, {"y": [4096, 4096]}, scales)


def test_a_conversion_at_the_door_of_a_model_is_meant() -> None:
    assert [f.nodes for f in found(quantised(is_first=True), "PF405")] == [("d",)]
    (first, second) = found(quantised(is_first=False), "PF405")
    assert (first.nodes, second.nodes) == (("q",), ("d",))
    assert first.message == "QuantizeLinear next to Softmax runs as a separate kernel under ort"
