"""Launches of a whole step: what is counted, and what autocast and strides add."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.steps.columns import LinearColumns, columns, tabulated
from perfc.analyzers.steps.features import tabulate
from perfc.analyzers.steps.launch import Launch
from perfc.analyzers.steps.launch_kind import LaunchKind
from perfc.analyzers.steps.launches import LaunchWalk, launches
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.api import typed
from perfc.machine import load_machine
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.roofline.cost import Cost

MODELS = Path(__file__).parents[3] / "examples" / "models"
SETTINGS = (
    Setting(),
    Setting(version=(1, 13)),
    Setting(compiled=True),
    Setting(Precision.BF16, compiled=True),
)


def listed(name: str, setting: Setting, *batches: int) -> tuple[list[Launch], float]:
    am = Analyses()
    module = am.apply(Canonicalize(), typed(MODELS / f"{name}.onnx.gz", am=am))
    envs = [{s.name: batch for s in module.symbols} for batch in batches or (8,)]
    work = am.get(Cost(), module).work
    from perfc.ir.symbolic.evaluate import evaluate

    return launches(module, am, setting, envs)[1], float(evaluate(work.mac, envs[0]))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ["resnet50", "vit-b16", "swin-t"])
def test_every_multiply_accumulate_is_in_one_launch(name: str, setting: Setting) -> None:
    found, mac = listed(name, setting)
    assert sum(one.amounts.get("mac", (0.0,))[0] * one.times for one in found) == mac


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ["resnet50", "swin-t"])
def test_amounts_grow_linearly_with_the_batch(name: str, setting: Setting) -> None:
    beyond = LinearColumns((32, 64), tabulated(listed(name, setting, 32, 64)[0], 2)).at(256)
    direct = columns(listed(name, setting, 256)[0])
    for amount in ("mac", "read_bytes", "write_bytes", "m"):
        expected = (direct.amounts[amount] * direct.times).sum()
        assert (beyond.amounts[amount] * beyond.times).sum() == pytest.approx(expected, rel=1e-9)


def test_autocast_casts_before_products_and_norms_and_compilers_do_not() -> None:
    kinds = [one.kind for one in listed("vit-b16", Setting())[0]]
    # before qkv and the first product of the MLP, and the class token; norms read a wide stream
    assert kinds.count(LaunchKind.CAST) >= 24
    assert kinds.count(LaunchKind.WEIGHT_CAST) == 1
    compiled = [one.kind for one in listed("vit-b16", Setting(compiled=True))[0]]
    assert LaunchKind.CAST not in compiled
    pure = [one.kind for one in listed("vit-b16", Setting(Precision.BF16))[0]]
    assert LaunchKind.CAST not in pure
    assert LaunchKind.WEIGHT_CAST not in pure


def test_mixed_precision_moves_more_bytes_than_pure() -> None:
    mixed, pure = (
        columns(listed("vit-b16", Setting(precision, compiled=True))[0])
        for precision in (Precision.AMP_BF16, Precision.BF16)
    )
    total = [float((c.amounts["read_bytes"] * c.times).sum()) for c in (mixed, pure)]
    assert total[0] > 1.1 * total[1]


def test_attention_is_three_launches_before_it_was_fused() -> None:
    new = [one.kind for one in listed("vit-b16", Setting())[0]]
    old = [one.kind for one in listed("vit-b16", Setting(version=(1, 13)))[0]]
    assert new.count(LaunchKind.ATTENTION) == 12
    assert old.count(LaunchKind.ATTENTION) == 0
    assert old.count(LaunchKind.BATCHED_MATMUL) == 24
    assert old.count(LaunchKind.SOFTMAX) == 12


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_scale_is_not_below_its_floor(setting: Setting) -> None:
    found = columns(listed("swin-t", setting, 64)[0])
    table = tabulate(found, setting, Sheet(load_machine("rtx3090")))
    assert np.isfinite(table.values).all()
    assert (table.scale_s >= 0.8 * table.floor_s).all()
    trained = tabulate(found, replace(setting, training=True), Sheet(load_machine("rtx3090")))
    assert np.allclose(trained.scale_s, 3 * table.scale_s)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ["resnet50", "vit-b16", "gpt2"])
def test_a_repeated_launch_is_what_it_would_be_if_counted_again(
    name: str, setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, _ = listed(name, setting)
    monkeypatch.setattr(LaunchWalk, "signature", lambda self, kernel: (kernel,))
    assert found == listed(name, setting)[0]
