"""A trainer by name is a training step with its optimizer, accumulation and precision."""

from __future__ import annotations

from pathlib import Path

import pytest

import perfc
from perfc.errors import ParseError

pytest.importorskip("torch")

SOURCE = """
from types import SimpleNamespace

import torch
from torch import nn


class Net(nn.Sequential):
    example_inputs = (torch.zeros(2, 64),)

    def configure_optimizers(self):
        chosen = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9, foreach=False)
        return {"optimizer": chosen, "lr_scheduler": None}


def net():
    return Net(nn.Linear(64, 64))


def arguments(**given):
    args = SimpleNamespace(
        optim="adamw_torch_fused",
        gradient_accumulation_steps=4,
        bf16=True,
        fp16=False,
        tf32=None,
        gradient_checkpointing=True,
        torch_compile=False,
        per_device_train_batch_size=16,
    )
    return SimpleNamespace(model=net(), args=args, optimizer=None)


def pair():
    return SimpleNamespace(accumulate_grad_batches=8, precision="16-mixed"), net()
"""


def test_a_step_is_as_its_trainer_configures_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "steps.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    report = perfc.analyze("steps.py:arguments", "a100", train="trainer")
    assert report.env["batch"] == 16
    how = report.deployment
    assert (how.train, how.update.value, how.accumulate, how.dtype) == (
        "adamw",
        "fused",
        4,
        "amp-bf16",
    )
    assert how.checkpointing.value == "block"
    step = perfc.analyze("steps.py:pair", "a100", train="trainer", accumulate=2)
    how = step.deployment
    assert (how.train, how.update.value, how.accumulate, how.dtype) == (
        "momentum",
        "single",
        2,
        "amp-f16",
    )
    with pytest.raises(ParseError, match="no trainer"):
        perfc.analyze("steps.py:Net", "a100", (64,), train="trainer")
