"""Launches of a training step: every kernel of its own graph, with what each is for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.features.rows import DataError
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.steps.columns import Columns, columns
from perfc.analyzers.steps.features import ROLE, tabulate
from perfc.analyzers.steps.launch_kind import LaunchKind, LaunchRole
from perfc.analyzers.steps.launches import launches
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.api import typed
from perfc.machine import load_machine
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc_lab.tables.timm import TimmLine, lower_steps
from perfc_lab.tables.timm_variants import read_trained, require_parameters
from perfc_lab.tables.training_step import step_launches

MODELS = Path(__file__).parents[3] / "examples" / "models"
TRAINED = Setting(version=(1, 12), training=True)


def listed(name: str, setting: Setting = TRAINED, batch: int = 8) -> tuple[Columns, Columns]:
    """Launches of the step, and of the forward pass alone."""
    am = Analyses()
    module = am.apply(Canonicalize(True), typed(MODELS / f"{name}.onnx.gz", am=am))
    envs = [{s.name: batch for s in module.symbols}]
    step = columns(step_launches(module, am, setting, envs)[1])
    return step, columns(launches(module, am, setting, envs)[1])


def summed(found: Columns, role: LaunchRole, amount: str = "mac") -> float:
    of_role = found.traits[ROLE] == role.number
    return float((found.amounts[amount] * found.times)[of_role].sum())


def test_a_convolution_is_done_three_times_but_for_the_first_ones_data_gradient() -> None:
    step, forward = listed("resnet50")
    once = float((forward.amounts["mac"] * forward.times).sum())
    head, stem = 8 * 2048 * 1000, 8 * 64 * 112 * 112 * 147
    assert summed(step, LaunchRole.FORWARD) == once
    assert summed(step, LaunchRole.FILTER_GRADIENT) == once - head
    assert summed(step, LaunchRole.DATA_GRADIENT) == once - head - stem
    assert summed(step, LaunchRole.BACKWARD) == 2 * head


def test_casts_of_parameters_and_of_their_gradients_are_one_launch() -> None:
    mixed, _ = listed("resnet50")
    plain, _ = listed("resnet50", replace(TRAINED, precision=Precision.F32))
    kinds = mixed.kind == LaunchKind.WEIGHT_CAST.number
    assert kinds.sum() == 1
    # each of 54 matrices and the bias of the head, forward and back
    assert mixed.times[kinds] == pytest.approx(2 * 55)
    assert LaunchKind.WEIGHT_CAST.number not in plain.kind


def test_launches_of_a_step_count_once_and_floors_are_those_of_the_forward_pass() -> None:
    step, forward = listed("vit-b16")
    sheet = Sheet(load_machine("rtx3090"))
    told, thrice = tabulate(step, TRAINED, sheet), tabulate(forward, TRAINED, sheet)
    once = tabulate(forward, replace(TRAINED, training=False), sheet)
    assert ROLE in told.names
    assert ROLE not in thrice.names
    assert np.allclose(thrice.scale_s, 3 * once.scale_s)
    assert not told.floor_s[step.traits[ROLE] > LaunchRole.FORWARD.number].any()
    floors = [float((t.floor_s * c.times).sum()) for t, c in ((told, step), (once, forward))]
    assert floors[0] == pytest.approx(floors[1], rel=0.05)
    assert 2 < (told.scale_s * step.times).sum() / (once.scale_s * forward.times).sum() < 4


def test_both_layouts_of_a_row_share_launches_that_grow_with_the_batch() -> None:
    row = TimmLine("resnet50", "resnet50", TRAINED, "rtx3090", 64, 1.0, 25.56e6)
    last = replace(row, setting=replace(TRAINED, channels_last=True))
    first, second = lower_steps(MODELS / "resnet50.onnx.gz", [row, last])
    assert first is second
    beyond, direct = first.at(256), listed("resnet50", batch=256)[0]
    for amount in ("mac", "read_bytes", "write_bytes"):
        expected = (direct.amounts[amount] * direct.times).sum()
        assert (beyond.amounts[amount] * beyond.times).sum() == pytest.approx(expected, rel=1e-9)


def test_a_row_of_another_model_of_the_same_name_is_refused() -> None:
    module, _ = read_trained(MODELS / "resnet50.onnx.gz")
    require_parameters(module, {25.56e6, 20e6})
    for stated in (15.41e6, 72.69e6):
        with pytest.raises(DataError, match="million parameters were run"):
            require_parameters(module, {stated})
