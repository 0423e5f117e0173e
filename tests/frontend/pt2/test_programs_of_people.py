"""Modules do what programs of people do: custom operators, regions, branches, loops, cells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc.frontend.pytorch import op_costs
from perfc.ir import Phase
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.syntax.parse import parse_module
from perfc.ir.syntax.text import print_module
from perfc.view.report.sections.kernels import collect as kernel_rows
from perfc.view.report.sections.source import sums, with_margin
from perfc.view.report.units import time_text

torch = pytest.importorskip("torch")

SOURCE = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import perfc

if not hasattr(torch.ops.people, "scale"):

    @torch.library.custom_op("people::scale", mutates_args=())
    def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor

    @scale.register_fake
    def _(x, factor):
        return torch.empty_like(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 64), nn.Sequential(nn.Linear(64, 256), nn.Linear(256, 64))
        self.cell = nn.LSTMCell(64, 64)


class Plain(Net):
    def forward(self, x):
        return torch.ops.people.scale(self.a(x), 2.0)


class Costed(Plain):
    pass


class Autocast(Net):
    def forward(self, x):
        with torch.autocast("cuda", torch.float16):
            return self.a(x)


class Compiled(Net):
    def __init__(self):
        super().__init__()
        self.a = torch.compile(self.a)
        self.b.compile()

    def forward(self, x):
        return self.b(self.a(x))


class Checkpointed(Net):
    def forward(self, x):
        return checkpoint(self.b, x, use_reentrant=False)


class Branches(Net):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda t: self.a(t), lambda t: self.b(t), (x,))


class Loop(Net):
    def forward(self, x):
        for _ in range(5):
            x = self.a(x)
        return x


class Cells(Net):
    def forward(self, x):
        h = c = torch.zeros(x.shape[0], 64)
        for _ in range(3):
            h, c = self.cell(x, (h, c))
        return h


class Mapped(Net):
    def forward(self, x):
        return torch.vmap(self.a)(x[:, None].expand(-1, 3, -1))


class Hooked(Net):
    def __init__(self):
        super().__init__()
        self.a.register_forward_hook(lambda module, given, output: output * 2)
        self.register_buffer("offset", torch.ones(64))

    def forward(self, x):
        return self.a(x) + self.offset
"""
SMALL, WIDE, CELL = 64 * 64, 2 * 64 * 256, 3 * 2 * 4 * 64 * 64
MACS = {
    "Plain": SMALL,
    "Costed": SMALL,
    "Autocast": SMALL,
    "Compiled": SMALL + WIDE,
    "Checkpointed": WIDE,
    "Branches": WIDE,
    "Loop": 5 * SMALL,
    "Cells": CELL,
    "Mapped": 3 * SMALL,
    "Hooked": SMALL,
}
"""Multiply-accumulates of one example; of branches those of the dearer side."""


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "people.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield __import__("people")
    __import__("sys").modules.pop("people")


@pytest.mark.parametrize("name", MACS)
def test_work_is_counted_with_modules_and_lines(people: Any, name: str) -> None:
    if name == "Costed":
        perfc.op_cost("people::scale")(lambda x, factor: x.numel() * int(factor))
    try:
        report = perfc.analyze(getattr(people, name)(), "a100", (64,), runtime="eager", batch=8)
    finally:
        op_costs.FORMULAS.clear()
    assert evaluate(report.cost.work.mac, report.env) == 8 * MACS[name]
    assert report.cost.is_bound == (name == "Plain")
    heavy = [k.anchor for k in report.kernels.kernels if k.work.mac]
    assert all("/" in n.name and n.loc.frames[-1].startswith("people.py") for n in heavy)
    if name == "Costed":
        (scale,) = (k for k in report.kernels.kernels if k.anchor.name == "scale")
        assert str(scale.work.flop) == "128*batch"
        assert evaluate(scale.traffic.nbytes, report.env) == 2 * 8 * 64 * 4
        text = print_module(report.source)
        assert print_module(parse_module(text)) == text


def test_a_step_recomputes_the_checkpoints_of_the_program(people: Any) -> None:
    step = perfc.analyze("people.py:Checkpointed", "a100", (64,), batch=8, train="adamw")
    kernels = kernel_rows(step)
    margin = with_margin(kernels, "people.py").splitlines()
    number, call = next((i, t) for i, t in enumerate(margin) if "checkpoint(self.b" in t)
    of_call = [r for r in kernels if f"people.py:{number}" in r.frames]
    assert of_call
    assert time_text(sums(of_call)[1]) in call
    assert len(margin) == 1 + len(SOURCE.splitlines())
    again = [n for n in step.module.graph.nodes if n.loc.phase is Phase.RECOMPUTE]
    assert {n.name for n in again} == {"b/0/linear.again"}
    assert all(n.loc.frames[-1].startswith("people.py") for n in again)
