"""One model with trained weights: how wide its interval is where it lies outside."""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

import perfc
from perfc.analyzers.graph.predictor import GraphEstimates, GraphPredictor, Say, TrainingBudget
from perfc.analyzers.graph.rows import Measurements, Quantity
from perfc.analyzers.graph.weights import GraphCard
from perfc.analyzers.runs.host import host_gap
from perfc.analyzers.steps.setting import Setting
from perfc.analyzers.whole_runs import shipped
from perfc.analyzers.whole_runs.estimate import (
    STRANGE_WIDENING,
    WIDENING,
    WholeRunEstimate,
    estimate,
)
from perfc.analyzers.whole_runs.reach import FAR_BELOW
from perfc.frontend import load
from perfc.machine import load_machine
from perfc_lab.training.graphs.cards import SMALL, small_peaks

from .graph_rows import measurements

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

MODEL = Path(__file__).parents[3] / "examples" / "models" / "resnet50.onnx.gz"
HALF_WIDTH = 0.1
SETTING = Setting()
ALIVE_BYTES = 7_827_456
"""What ResNet-50 keeps alive at once of one image, in f32."""


class Fixed(GraphPredictor):
    """A second and a tenth to both sides, whatever the model."""

    name: ClassVar[str] = "fixed"
    title: ClassVar[str] = "fixed"
    is_far: ClassVar[bool] = False

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Nothing is learned."""

    def predict(self, data: Measurements) -> Array:
        return np.ones(len(data))

    def estimates(self, data: Measurements) -> GraphEstimates:
        value = self.predict(data)
        far = np.full(len(data), self.is_far)
        return GraphEstimates(value, value * np.exp(-0.1), value * np.exp(0.1), far, ~far)


class Reaching(Fixed):
    """One that knows how wide intervals of machines nobody measured are."""

    reaches_machines: ClassVar[bool] = True


class Instant(Reaching):
    """A nanosecond, from launches, to which the host's time is added."""

    reads_launches: ClassVar[bool] = True

    def predict(self, data: Measurements) -> Array:
        return np.full(len(data), 1e-9)


def estimated(
    kind: type[Fixed],
    target: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    batch: int = 8,
    setting: Setting = SETTING,
    small_peaks: tuple[float, ...] = (),
) -> WholeRunEstimate:
    run = "rtx3090", SETTING.precision.value, SETTING.mode.value, SETTING.framework
    card = GraphCard(
        "fixed",
        "fixed",
        Quantity.TIME.value,
        "made",
        "",
        "",
        ("rtx3090",),
        (SETTING.mode.value,),
        10,
        10,
        10_000,
        (1.0, 0.9, 1.1),
        runs=(run,),
        small_peaks=small_peaks,
    )
    monkeypatch.setattr(shipped, "loaded", lambda _: (kind(), card))
    return estimate(load(MODEL), Path("made.json"), target, setting, batch)


@pytest.mark.parametrize("is_far", [False, True])
@pytest.mark.parametrize(
    ("kind", "target", "times"),
    [(Fixed, "rtx3090", 1), (Fixed, "a100", STRANGE_WIDENING), (Reaching, "a100", WIDENING)],
)
def test_what_lies_far_from_trained_graphs_has_a_wider_interval_on_every_machine(
    kind: type[Fixed], target: str, times: float, is_far: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "is_far", is_far)
    found = estimated(kind, target, monkeypatch)
    wanted = HALF_WIDTH * max(times, WIDENING if is_far else 1)
    assert log(found.high / found.value) == pytest.approx(wanted)
    assert any("features are outside" in reason for reason in found.outside) == is_far
    assert any("whole run on a100" in reason for reason in found.outside) == (target == "a100")


@pytest.mark.parametrize("setting", [SETTING, Setting(compiled=True), Setting(training=True)])
def test_no_run_is_shorter_than_its_host_takes(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether or not it is like those measured."""
    machine = load_machine("rtx3090")
    found = estimated(Instant, "rtx3090", monkeypatch, setting=setting)
    (said,) = [reason for reason in found.outside if "take its host" in reason]
    assert (len(found.outside) == 1) == (setting == SETTING)
    launch = host_gap(machine, setting)
    launches = found.value / launch.mid
    assert 50 < launches < 500
    assert found.low == pytest.approx(launches * launch.low)
    assert found.high == pytest.approx(launches * launch.high)
    assert said == f"launches take its host {1e3 * found.value:.2g} ms"


def test_a_host_that_is_ahead_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = estimated(Fixed, "rtx3090", monkeypatch)
    assert (found.value, found.outside) == (1.0, ())


@pytest.mark.parametrize("target", ["rtx3090", "a100"])
@pytest.mark.parametrize(("batch", "is_far"), [(1, True), (7, True), (8, False), (256, False)])
def test_a_batch_far_below_those_measured_lies_outside(
    batch: int, is_far: bool, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = (8 * FAR_BELOW * ALIVE_BYTES,)
    found = estimated(Reaching, target, monkeypatch, batch=batch, small_peaks=small)
    wide = HALF_WIDTH * (WIDENING if is_far or target == "a100" else 1)
    assert log(found.high / found.value) == pytest.approx(wide)
    (*others,) = [reason for reason in found.outside if "batch" in reason]
    wanted = f"batch {batch} is far below the measured batches, 64 and more"
    assert others == [wanted] * is_far


def test_a_card_that_does_not_say_how_small_its_runs_were_calls_none_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not estimated(Fixed, "rtx3090", monkeypatch, batch=1).outside


def test_small_runs_are_those_that_a_twentieth_is_below() -> None:
    data = measurements(count=48)
    found = small_peaks(data)
    assert found
    for (target, precision, part, framework), least in found.items():
        mine = [
            data.graphs[r.graph].ops.whole_at(r.batch)["peak_bytes"]
            for r in data.rows
            if (r.target, r.setting.precision.value) == (target, precision)
            and (r.part, r.setting.framework) == (part, framework)
        ]
        assert sum(one < least for one in mine) <= SMALL * len(mine)
        assert sum(one <= least for one in mine) >= SMALL * len(mine)


@pytest.mark.parametrize("precision", ["f16", "amp f16"])
@pytest.mark.parametrize("batch", [1, 8])
def test_a_small_batch_is_no_surer_in_a_precision_that_was_not_run(
    precision: str, batch: int
) -> None:
    """Weights that come with perfc, a setting whose rows begin at hundreds of images."""
    found = perfc.predict(MODEL, "rtx4090", batch=batch, runtime="eager", dtype=precision)
    assert any("far below the measured batches" in reason for reason in found.outside)
    assert found.value > 1e-3
    assert found.high > 1.5 * found.low


def test_a_batch_like_those_measured_is_as_sure_as_before() -> None:
    found = perfc.predict(MODEL, "rtx4090", batch=256, runtime="eager", dtype="f16")
    assert not found.outside
    assert found.high < 1.5 * found.low


def test_an_analysis_warns_of_a_batch_of_one() -> None:
    path = MODEL.with_name("vit-b16.onnx.gz")
    table = perfc.analyze(path, "rtx4090", runtime="eager", dtype="f16").prediction
    assert table.total.time_s == pytest.approx(table.timeline.time_s, rel=0.3)
    assert any("far below the measured batches" in note for note in table.notes)
