"""Answers of published predictors within the limits of physics, over models, batches and GPUs."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

import perfc
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.runs.energy import idle_w, power_model
from perfc.analyzers.whole_runs import shipped
from perfc.machine import load_machine
from perfc.machine.capacity import CONTEXT_BYTES
from perfc.passes.memory.storage import BufferRole
from perfc.view.report.sections.confidence import Grade, confidence

pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
MODELS = sorted((Path(__file__).resolve().parents[3] / "examples/models").glob("*.onnx.gz"))
TARGETS = ("a100", "t4", "rtx4090", "h200-sxm-141gb", "l4", "v100-sxm2-32gb", "rtx3090", "b200")
PUBLISHED = [name for name in shipped.names() if name != "physics-residual"]
CASES = [*product(MODELS, (1, 8, 64, 512), TARGETS, PUBLISHED)]
SLACK = 1e-9


def impossible(path: Path, batch: int, target: str, predictor: str) -> Iterator[str]:
    """Yield what physics forbids of an answer."""
    report = perfc.analyze(path, target, predictor=predictor, batch=batch)
    table, machine = report.prediction, load_machine(target)
    time, other = table.total.time, dict(table.other_quantities)
    if not report.roofline.floor_s <= time.low * (1 + SLACK) <= time.mid * (1 + SLACK):
        yield f"time {time} below {report.roofline.floor_s}"
    if math.isclose(time.mid, report.roofline.floor_s, rel_tol=1e-6):
        if confidence(report, table).grade is not Grade.LOW:
            yield "the bound with a grade above low"
        if not any("raised" in reason for reason in table.outside):
            yield "the bound without a note"
    weights = report.footprint.parts[BufferRole.PARAMETER]
    if other.get("memory_bytes", math.inf) < weights + CONTEXT_BYTES:
        yield f"memory {other['memory_bytes']} below weights {weights} and context"
    limit_w, least_w = Sheet(machine).power_w, idle_w(machine, power_model())
    powers = [other["power_w"]] if "power_w" in other else []
    powers += [other["energy_j"] / time.mid] if "energy_j" in other else []
    for power_w in powers:
        if not least_w * (1 - SLACK) <= power_w <= limit_w * (1 + SLACK):
            yield f"power {power_w} outside {least_w} to {limit_w}"
    if len(powers) == 2 and not math.isclose(*powers, rel_tol=1e-6):
        yield f"power {powers[0]}, energy over time {powers[1]}"


@pytest.mark.parametrize("predictor", PUBLISHED)
def test_an_answer_is_possible(predictor: str) -> None:
    resnet = next(path for path in MODELS if path.name.startswith("resnet50"))
    assert [*impossible(resnet, 64, "t4", predictor)] == []


@pytest.mark.long
def test_500_drawn_answers_are_possible() -> None:
    wrong = [
        (path.name, batch, target, predictor, *faults)
        for path, batch, target, predictor in random.Random(0).sample(CASES, 500)
        if (faults := [*impossible(path, batch, target, predictor)])
    ]
    assert wrong == []
