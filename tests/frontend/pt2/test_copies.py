"""Copies that a program makes are launches where operators run one by one, as PyTorch counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import perfc

torch = pytest.importorskip("torch")

LAST = torch.channels_last
COPYING: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda x: x,
    "contiguous": lambda x: x.contiguous(),
    "transposed": lambda x: x.transpose(1, 2).contiguous(),
    "twice": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2).contiguous().clone(),
    "dense clone": lambda x: x.permute(0, 2, 1, 3).clone(memory_format=torch.contiguous_format),
    "clone of a permutation": lambda x: x.permute(0, 2, 1, 3).clone().permute(0, 2, 1, 3),
    "view back": lambda x: x.transpose(1, 2).transpose(1, 2).contiguous(),
    "expanded": lambda x: x[:, :, :1].expand(-1, -1, 8, -1).contiguous(),
    "reshape": lambda x: x.reshape(2, -1),
    "reshape of a permutation": lambda x: x.transpose(1, 2).reshape(2, -1),
    "flatten of a permutation": lambda x: x.transpose(1, 2).flatten(1),
    "repeat": lambda x: x.repeat(1, 1, 1, 1),
    "to": lambda x: x.to(torch.float32),
    "to with a copy": lambda x: x.to(torch.float32, copy=True),
    "channels last": lambda x: x.to(memory_format=LAST),
    "contiguous channels last": lambda x: x.contiguous(memory_format=LAST),
    "view_copy": lambda x: torch.view_copy(x, (2, -1)),
    "unbind_copy": lambda x: torch.unbind_copy(x[:, :1], 1)[0],
    "alias": lambda x: x.detach().positive(),
    "narrow": lambda x: x[:, 1:3].contiguous(),
    "dropout": lambda x: torch.nn.functional.dropout(x, training=False),
}
SHAPE = (2, 4, 8, 16)


@pytest.mark.parametrize("name", COPYING)
def test_copies_are_those_of_the_profiler(name: str) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return torch.relu(COPYING[name](torch.relu(x)))

    net, x = Net(), torch.randn(SHAPE)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as run:
        net(x)
    counted = {event.key: event.count for event in run.key_averages()}
    launches = sum(counted.get(f"aten::{key}", 0) for key in ("copy_", "relu"))
    report = perfc.analyze(net, "a100", runtime="eager", input=SHAPE[1:])
    assert sum(k.launches for k in report.roofline.kernels) == launches


@pytest.mark.parametrize("runtime", ["inductor", "ort", "tensorrt"])
def test_no_compiled_run_keeps_a_clone(runtime: str) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return torch.relu(torch.relu(x).contiguous().clone())

    class Plain(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return torch.relu(torch.relu(x))

    nets = [perfc.analyze(n(), "a100", runtime=runtime, input=SHAPE[1:]) for n in (Net, Plain)]
    assert nets[0].cost.traffic == nets[1].cost.traffic
