"""How much of its lists of tensors a framework passes to one launch.

Source: PyTorch, aten/src/ATen/native/cuda/MultiTensorApply.cuh; launches of ResNet-50's update in
a trace of an A100 have exactly these blocks.
"""

from __future__ import annotations

from math import inf

from perfc.ir import record

CHUNK = 65536
"""Elements of a tensor that one block of a launch takes."""


@record
class ListLimit:
    """Most tensors and chunks of one launch over lists.

    Args:
        tensors: most tensors by the number of lists; the last one holds for more lists.
        chunks: most chunks of ``CHUNK`` elements.
        kind: kind of device, ``cpu`` or ``cuda``; any if empty.
        maker: maker of the device; any if empty.
        least_capability: least compute capability, 75 for ``sm_75``.
    """

    tensors: tuple[int, ...] = (1,)
    chunks: float = inf
    kind: str = ""
    maker: str = ""
    least_capability: int = 0

    def holds(self, kind: str, maker: str, capability: int) -> bool:
        """Return True if it holds on a device."""
        known = self.kind in ("", kind) and self.maker in ("", maker)
        return known and capability >= self.least_capability


ONE_BY_ONE = ListLimit()
"""Each tensor alone."""
ARGUMENTS_4K = ListLimit((110, 64, 48, 36, 30), 320)
"""Lists that fit into the 4 KB that arguments of a kernel could have before CUDA 13."""
PYTORCH = (
    ListLimit(kind="cpu"),
    # CUDA 13 requires Turing; wheels of PyTorch 2.11 are the first built for it
    ListLimit((770, 448, 336, 252, 210), 2240, maker="NVIDIA", least_capability=75),
    ARGUMENTS_4K,
)
