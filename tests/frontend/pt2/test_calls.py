"""Functions by parts are a launch a call in eager PyTorch, and library functions are one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import perfc

torch = pytest.importorskip("torch")
F = torch.nn.functional

FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "gelu": lambda x, w, b: F.gelu(x),
    "gelu by parts": lambda x, w, b: 0.5 * x * (1 + torch.erf(x / 2**0.5)),
    "gelu of tanh by parts": lambda x, w, b: 0.5 * x * (1 + torch.tanh(0.8 * (x + 0.04 * x**3))),
    "silu": lambda x, w, b: F.silu(x),
    "silu by parts": lambda x, w, b: x * torch.sigmoid(x),
    "hard swish by parts": lambda x, w, b: x * F.relu6(x + 3) / 6,
    "mish by parts": lambda x, w, b: x * torch.tanh(F.softplus(x)),
    "linear": lambda x, w, b: F.linear(x, w, b),
    "linear by parts": lambda x, w, b: x @ w + b,
    "rsqrt": lambda x, w, b: torch.rsqrt(x),
    "rsqrt by parts": lambda x, w, b: x.sqrt().reciprocal(),
    "layer norm": lambda x, w, b: F.layer_norm(x, (16,)),
    "layer norm by parts": lambda x, w, b: (
        (x - x.mean(-1, True)) / ((x - x.mean(-1, True)) ** 2).mean(-1, True).add(1e-5).sqrt()
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_calls_are_those_that_pytorch_dispatches(name: str) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(16, 16))
            self.bias = torch.nn.Parameter(torch.ones(16))

        def forward(self, x: Any) -> Any:
            return FUNCTIONS[name](x, self.weight, self.bias)

    class Counter(TorchDispatchMode):  # type: ignore[misc]
        count = 0

        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.count += not function.is_view
            return function(*args, **(kwargs or {}))

    net, x = Net(), torch.ones(4, 16)
    with torch.no_grad(), Counter() as counter:
        net(x)
    report = perfc.analyze(net, "a100", runtime="eager", input=(16,), batch=4)
    assert sum(k.launches for k in report.roofline.kernels) == counter.count


@pytest.mark.parametrize("name", ["gelu", "silu"])
def test_parts_are_differentiated_one_by_one(name: str) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, function: Callable[[Any, Any, Any], Any]) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(16, 16))
            self.function = function

        def forward(self, x: Any) -> Any:
            return self.function(x @ self.weight, None, None)

    whole, parts = (
        perfc.analyze(
            Net(FUNCTIONS[f]), "a100", runtime="eager", train="adamw", input=(16,), batch=4
        )
        for f in (name, f"{name} by parts")
    )
    launches = [sum(k.launches for k in r.roofline.kernels) for r in (parts, whole)]
    assert launches[0] > launches[1]
