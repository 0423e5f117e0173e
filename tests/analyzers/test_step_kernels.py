"""Kernels that nobody timed alone take what whole steps taught."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perfc
from perfc.analyzers.artefacts.artefact import FORMAT, Artefact, WeightsError, save, schema_of
from perfc.analyzers.artefacts.card import Card
from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.estimate.estimate import Estimate, Predictor
from perfc.analyzers.estimate.floors import above_floors
from perfc.analyzers.features.distance import coordinates
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.intervals.conformal import Band, Bands, Calibration, Unseen
from perfc.analyzers.runs.prediction import PredictionTable, predict
from perfc.analyzers.steps.columns import columns
from perfc.analyzers.steps.features import tabulate
from perfc.analyzers.steps.kernels import (
    KERNEL_ERROR,
    MODES,
    NINE_IN_TEN,
    setting_of,
)
from perfc.analyzers.steps.launch_kind import LaunchKind
from perfc.analyzers.steps.predict import CLASS, weights_name
from perfc.analyzers.steps.setting import Precision, RunMode, Setting
from perfc.ir.op import Kind
from perfc.machine import load_machine

from . import flat_weights

MODEL = Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz"
KIN = (("rtx3090", "amp f16", "torch 1.13"), ("rtx4090", "amp f16", "torch 2.4"))


def write_steps(folder: Path, mode: RunMode, factor: float = 2.0, hull: float = 1e12) -> None:
    """Weights by which every launch takes ``factor`` times its scale."""
    machines = [load_machine(k[0]) for k in KIN]
    features = tabulate(columns([]), Setting(), Sheet(machines[0])).names
    leaves = [
        Forest(features, np.array([-1], np.int16), np.full(1, value, np.float32),
               np.zeros(1, np.int32), np.zeros(1, np.int32), 0.0)
        for value in (0.0, np.log(0.1))
    ]  # fmt: skip
    name = weights_name(mode)
    card = Card(
        name=name, class_name=CLASS, format=FORMAT, schema=schema_of(CLASS, (), features),
        parameters=(), features=features, protocols=(Protocol.STEP,), frameworks=("torch 2.4",),
        dtypes=("f16",), targets=tuple(m.name for m in machines), configurations=KIN,
        places={"f16": tuple(coordinates(Sheet(m), "f16") for m in machines)},
        bases={"factor": 0.0, "spread": 0.0},
        calibration=Calibration(Bands(Band(-1.0, 1.0), Unseen(0.0, Band(-3.0, 3.0)))),
        split="none", data={}, metrics={}, versions={}, rows=1,
    )  # fmt: skip
    box = np.full(len(features), hull)
    more = {"multipliers": np.full((len(KIN), len(LaunchKind)), factor)}
    save(Artefact(card, *leaves, -box, box, np.zeros(len(features)), more=more), folder)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    for mode in MODES.values():
        write_steps(folder, mode)
    return folder


def analysed(runtime: str, dtype: str = "f16", target: str = "rtx3090") -> perfc.Report:
    return perfc.analyze(MODEL, target, dims={"batch": 16}, runtime=runtime, dtype=dtype)


def of(report: perfc.Report, folder: Path) -> PredictionTable:
    return predict(
        report.roofline, report.kernels, source=report.source, module=report.module, folder=folder
    )


def by_time(estimate: Estimate) -> float:
    return estimate.time_s


def of_operators(report: perfc.Report, folder: Path) -> list[Estimate]:
    """Predictions of the kernels of operators, without helper launches."""
    found = of(report, folder).kernels
    pairs = zip(found, report.kernels.kernels, strict=True)
    return [estimate for estimate, kernel in pairs if kernel.helper is None]


@pytest.mark.parametrize("runtime", ["eager", "inductor"])
def test_every_kernel_of_a_step_is_known(runtime: str, weights: Path) -> None:
    report = analysed(runtime)
    found = of(report, weights)
    assert {k.predictor for k in of_operators(report, weights)} == {Predictor.STEPS}
    for k, bound in zip(found.kernels, report.roofline.kernels, strict=True):
        assert bound.floor_s == k.floor_s <= k.low_s <= k.time_s <= k.high_s
        assert k.is_measured or bound.kernel.helper is not None
    total = found.total
    assert total.floor_s <= total.low_s < total.time_s < total.high_s


def test_times_follow_what_steps_taught(weights: Path, tmp_path: Path) -> None:
    report = analysed("eager")
    write_steps(tmp_path, RunMode.EAGER, factor=4.0)
    once, twice = of(report, weights), of(report, tmp_path)
    longest = max(range(len(once.kernels)), key=lambda i: once.kernels[i].time_s)
    assert twice.kernels[longest].time_s == pytest.approx(2 * once.kernels[longest].time_s)
    k = once.kernels[longest]
    assert k.in_run is not None
    assert k.in_run.high / k.time_s == pytest.approx(np.exp(0.1))
    alone = np.hypot(0.1, NINE_IN_TEN * KERNEL_ERROR)
    assert k.high_s / k.time_s == pytest.approx(np.exp(alone))


def test_what_kernels_alone_are_off_does_not_widen_the_run(weights: Path) -> None:
    # so many images that the host is ahead
    report = perfc.analyze(MODEL, "rtx3090", batch=64, runtime="eager", dtype="f16")
    found = of(report, weights)
    assert all(
        k.in_run and k.low_s <= k.in_run.low <= k.in_run.high <= k.high_s
        for k in of_operators(report, weights)
    )
    assert found.total.high_s < sum(k.high_s for k in found.kernels)


def test_machines_without_steps_get_wider_intervals(weights: Path) -> None:
    def width(target: str) -> float:
        longest = max(of_operators(analysed("eager", target=target), weights), key=by_time)
        return longest.high_s / longest.time_s

    assert width("h100") > width("rtx3090")


@pytest.mark.parametrize(
    ("dtype", "measured"), [("bf16", "rtx3090"), ("bf16", "h100"), ("f32", "rtx3090")]
)
def test_steps_of_the_machine_come_before_operators(
    dtype: str, measured: str, tmp_path: Path
) -> None:
    write_steps(tmp_path, RunMode.EAGER)
    flat_weights.write(tmp_path, "matmul", (dtype,), (measured,))
    found = of_operators(analysed("eager"), tmp_path)
    assert {k.predictor for k in found} == {Predictor.STEPS}


def test_intervals_of_what_is_unlike_all_steps_stay_finite(tmp_path: Path) -> None:
    write_steps(tmp_path, RunMode.EAGER, hull=1.0)
    report = analysed("eager", target="h100")
    for k in of_operators(report, tmp_path):
        assert k.is_extrapolating
        assert k.high_s <= 60 * k.time_s


def test_operators_come_first_where_steps_know_no_such_machine(tmp_path: Path) -> None:
    write_steps(tmp_path, RunMode.EAGER)
    flat_weights.write(tmp_path, "matmul", ("bf16",), ("a100",))
    found = of(analysed("eager", target="h100"), tmp_path)
    learned = [k for k in found.kernels if k.predictor is Predictor.LEARNED]
    assert {k.class_name for k in learned} == {"matmul"}


@pytest.mark.parametrize(
    ("runtime", "dtype", "target"),
    [("ort", "f16", "rtx3090"), ("eager", "", "rtx3090"), ("eager", "f16", "generic-x86-64")],
)
def test_what_no_step_was_measured_in_is_left_to_the_roofline(
    runtime: str, dtype: str, target: str, weights: Path
) -> None:
    found = of(analysed(runtime, dtype, target), weights)
    assert {k.predictor for k in found.kernels} == {Predictor.ROOFLINE}


def test_steps_of_inference_know_no_optimiser(weights: Path) -> None:
    """Inference taught nothing of updates: all weights at once were told nine times too slow."""
    step = perfc.analyze(MODEL, "rtx3090", train="adamw", dtype="f16", batch=4)
    told = of(step, weights).kernels
    kinds = [k.kernel.kind for k in step.roofline.kernels]
    updated = {t.predictor for t, kind in zip(told, kinds, strict=True) if kind is Kind.OPTIMIZER}
    assert updated == {Predictor.ROOFLINE}
    assert Predictor.STEPS in {t.predictor for t in told}


def test_without_weights_the_roofline_answers(tmp_path: Path) -> None:
    found = of(analysed("eager"), tmp_path)
    assert {k.predictor for k in found.kernels} == {Predictor.ROOFLINE}


def test_damaged_weights_are_one_line(tmp_path: Path) -> None:
    write_steps(tmp_path, RunMode.EAGER)
    path = tmp_path / f"{weights_name(RunMode.EAGER)}.npz"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(WeightsError) as caught:
        of(analysed("eager"), tmp_path)
    assert "\n" not in str(caught.value)


def test_the_newest_version_of_the_machine_is_taken(weights: Path) -> None:
    from perfc.analyzers.artefacts import artefact

    card = artefact.load(weights / f"{weights_name(RunMode.EAGER)}.json").card
    here = setting_of(card, "f16", compiled=False, target="rtx3090")
    there = setting_of(card, "f16", compiled=False, target="h100")
    assert here is not None
    assert there is not None
    assert (here.precision, here.version) == (Precision.AMP_F16, (1, 13))
    assert there.version == (2, 4)
    assert setting_of(card, "bf16", compiled=False, target="h100") is None


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
