"""Limits of one launch over lists of tensors.

Source: PyTorch, aten/src/ATen/native/cuda/MultiTensorApply.cuh; a trace of ResNet-50's update on an
A100 has exactly these launches and blocks.
"""

from __future__ import annotations

from math import inf

from perfc.ir import record
from perfc.machine import Machine

CHUNK = 65536
"""Elements of a tensor that one block of a launch processes."""


@record
class ListLimit:
    """Maximum tensors and chunks of one launch over lists, and devices on which it holds.

    Args:
        tensors: maximum tensors by the number of lists; the last one holds for more lists.
        chunks: maximum chunks of ``CHUNK`` elements.
        kind: kind of device, ``cpu`` or ``cuda``; any if empty.
        maker: maker of the device; any if empty.
        least_capability: least compute capability, 75 for ``sm_75``.
        since: first version of the framework.
    """

    tensors: tuple[int, ...]
    chunks: float
    kind: str = ""
    maker: str = ""
    least_capability: int = 0
    since: tuple[int, int] = (0, 0)

    def holds(self, machine: Machine, version: tuple[int, int] | None) -> bool:
        """Return True if it holds on a machine under a version, by default the newest."""
        return (
            self.kind in ("", machine.kind)
            and self.maker in ("", machine.vendor)
            and machine.capability >= self.least_capability
            and (version is None or version >= self.since)
        )


BEFORE_CUDA_13 = (
    # processors have no kernels over lists: each tensor is a launch
    ListLimit((1,), inf, kind="cpu"),
    # as many as fit into 4 KB of kernel arguments
    ListLimit((110, 64, 48, 36, 30), 320),
)
"""Limits of libraries that are built for CUDA 12 and older."""
PYTORCH = (
    # CUDA 13 has 32 KB and requires Turing; PyTorch 2.11 is the first built for it by default
    ListLimit((770, 448, 336, 252, 210), 2240, "cuda", "NVIDIA", 75, (2, 11)),
    *BEFORE_CUDA_13,
)
"""Limits of PyTorch, the first of which that holds counts."""
