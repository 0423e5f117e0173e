"""One model with trained weights: how wide its interval is where it lies outside."""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from perfc.analyzers.graph import shipped
from perfc.analyzers.graph.estimate import WIDENING, Estimate, estimate
from perfc.analyzers.graph.predictor import Budget, GraphEstimates, GraphPredictor, Say
from perfc.analyzers.graph.rows import Measurements, Quantity
from perfc.analyzers.graph.weights import GraphCard
from perfc.analyzers.steps.setting import Setting
from perfc.frontend import load

if TYPE_CHECKING:
    from perfc.analyzers.classes import Array

MODEL = Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz"
HALF_WIDTH = 0.1


class Fixed(GraphPredictor):
    """A second and a tenth to both sides, whatever the model."""

    name: ClassVar[str] = "fixed"
    title: ClassVar[str] = "fixed"
    is_far: ClassVar[bool] = False

    def fit(self, train: Measurements, validation: Measurements, budget: Budget, say: Say) -> None:
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


def estimated(kind: type[Fixed], target: str, monkeypatch: pytest.MonkeyPatch) -> Estimate:
    setting = Setting()
    card = GraphCard(
        "fixed", "fixed", Quantity.TIME.value, "made", "", "", ("rtx3090",),
        (setting.mode.value,), 10, 10, 10_000, (1.0, 0.9, 1.1),
    )  # fmt: skip
    monkeypatch.setattr(shipped, "loaded", lambda _: (kind(), card))
    return estimate(load(MODEL), Path("made.json"), target, setting, 8)


@pytest.mark.parametrize("is_far", [False, True])
@pytest.mark.parametrize(
    ("kind", "target", "times"),
    [(Fixed, "rtx3090", 1), (Fixed, "a100", WIDENING), (Reaching, "a100", 1)],
)
def test_what_lies_far_from_trained_graphs_has_a_wider_interval_on_every_machine(
    kind: type[Fixed], target: str, times: float, is_far: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "is_far", is_far)
    found = estimated(kind, target, monkeypatch)
    wanted = HALF_WIDTH * (WIDENING if is_far else times)
    assert log(found.high / found.value) == pytest.approx(wanted)
    assert any("features lie outside" in reason for reason in found.outside) == is_far
    assert any("measured on a100" in reason for reason in found.outside) == (target == "a100")
