"""Runtimes by what their measured runs have in common."""

from __future__ import annotations

SHARED_KERNELS = "eager", "cudagraph", "torchscript", "inductor", "ort"
"""Runtimes that launch the same kernels, mostly cuDNN's and cuBLAS's; others have their own."""
UNDIVIDED = "paddle", "paddle-trt"
"""Runtimes whose runs are one part: kernels and hosts of theirs are 40 % off the measured, each run
of the same sizes by as much, so that shares of either tell nothing."""
