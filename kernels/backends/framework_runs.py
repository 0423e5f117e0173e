"""Launch overhead of a framework: a small network, run operator by operator.

Its kernels are so short that the device always waits for the host. Modules, their hooks and the
dispatcher are part of a launch, as they are in a model; the driver's share alone is `launch.eager`.
"""

from __future__ import annotations

import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any

BLOCKS = 24
"""Residual blocks of the network."""
OPERATORS = 4
"""Launches per block: convolution, normalization, activation, addition."""
CHANNELS, EXTENT = 8, 8
"""Channels and extent of the maps: every kernel is shorter than its launch."""


def lacking(device: str) -> str:
    """Return the reason why a framework cannot be timed on ``cpu`` or ``cuda``; "" if it can."""
    if find_spec("torch") is None:
        return "PyTorch is not installed"
    if device.startswith("cuda") and not import_module("torch").cuda.is_available():
        return "PyTorch sees no CUDA device"
    return ""


class FrameworkRun:
    """Forward passes of a small network, from the first launch until the last kernel is done.

    Args:
        device: ``cuda:0``; on ``cpu`` the time includes that of the kernels.
    """

    count = float(BLOCKS * OPERATORS)

    def __init__(self, device: str) -> None:
        self.torch: Any = import_module("torch")
        self.device = device
        self.network, self.image = self._network()
        # algorithms are selected and modules loaded at first use, which is not a launch
        self.sample(3)

    def _network(self) -> tuple[Any, Any]:
        """Return the network and its input on the device."""
        torch, nn = self.torch, self.torch.nn

        class Block(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.convolution = nn.Conv2d(CHANNELS, CHANNELS, 1, bias=False)
                self.normalization = nn.BatchNorm2d(CHANNELS)
                self.activation = nn.ReLU()

            def forward(self, x: Any) -> Any:
                return x + self.activation(self.normalization(self.convolution(x)))

        network = nn.Sequential(*(Block() for _ in range(BLOCKS))).eval().to(self.device)
        return network, torch.zeros(1, CHANNELS, EXTENT, EXTENT, device=self.device)

    def sample(self, repeats: int) -> float:
        """Return the seconds of consecutive passes."""
        with self.torch.no_grad():
            self._wait()
            start = time.perf_counter()
            for _ in range(repeats):
                self.network(self.image)
            self._wait()
            return time.perf_counter() - start

    def _wait(self) -> None:
        """Wait until the device has done all that was launched."""
        if self.device.startswith("cuda"):
            self.torch.cuda.synchronize(self.device)

    def close(self) -> None:
        """Release the network."""
        self.network = self.image = None
