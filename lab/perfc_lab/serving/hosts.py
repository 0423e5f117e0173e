"""Launches of the hosts of published runs that go one by one, and the time of each."""

from __future__ import annotations

from . import ServedRow
from .tables import ML_ENERGY, TRTLLM

LAUNCH_S = 5e-5
"""Seconds of a host for each kernel of a step that engines in Python launch one by one."""
VLLM_LAUNCH_S, SHARED_LAUNCH_S = 4e-5, 6e-5
"""The same of vLLM, and where others use its host: of 30 to 100 microseconds these suit ML.ENERGY's
rows best."""


WRITE_S = 1.084e-4
"""Seconds of TensorRT-LLM 1.0's server for each token of an answer: no row on two GPUs has more
than 9,225 tokens a second. Those on four and eight, which did not decide it, have 9,281 at most."""


def write_of(row: ServedRow) -> float:
    """Return the time of a server for each token that it sends."""
    return WRITE_S if row.runtime == "trtllm" and row.version.startswith("1.0.") else 0.0


def launch_of(row: ServedRow) -> float:
    """Return the host's time to launch a kernel of a step that is not recorded."""
    if row.runtime == "vllm":
        return SHARED_LAUNCH_S if row.source == ML_ENERGY and shares_host(row) else VLLM_LAUNCH_S
    return 0.0 if is_compiled(row) else LAUNCH_S


def is_compiled(row: ServedRow) -> bool:
    """Return True if no Python launches kernels: TensorRT-LLM before it ran on PyTorch."""
    return row.source == TRTLLM and row.version.removeprefix("post-").lstrip("v")[:2] == "0."


def shares_host(row: ServedRow) -> bool:
    """Return True if others use the host of a server of ML.ENERGY, as it seems to be on one B200.

    There steps are uneven, which those on two, or on H100, are not. That
    is read from the rows, nobody says it. What such hosts take says nothing of one's own.
    """
    return row.target.startswith("b200") and row.tensor == 1
