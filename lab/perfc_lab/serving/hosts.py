"""Return the times of hosts of published runs: to launch a kernel, and to send a token.

`replay` counts launches and tokens with these before a host model is fitted to the rest.
"""

from __future__ import annotations

from . import ServedRow
from .tables import ML_ENERGY, TRTLLM

LAUNCH_S = 5e-5
"""Seconds of a host for each kernel of a step that engines in Python launch one by one."""
VLLM_LAUNCH_S, SHARED_LAUNCH_S = 4e-5, 6e-5
"""The same of vLLM, and where others use its host: of 30 to 100 microseconds these suit ML.ENERGY's
rows best."""


WRITE_S = {"trtllm": ("1.0.", 1.084e-4), "sglang": ("0.5.6.post2", 5.29e-5)}
"""Seconds of a server for each token of an answer, by runtime with its version: under TensorRT-LLM
no row on two GPUs has more than 9,225 tokens a second, under SGLang none on four more than 18,900.
Those on more, which did not decide it, have 9,281 and 19,600 at most."""


def write_of(row: ServedRow) -> float:
    """Return the time of a server for each token that it sends."""
    version, each_s = WRITE_S.get(row.runtime, ("", 0.0))
    return each_s * (row.version.startswith(version) and not row.prefill)


def launch_of(row: ServedRow) -> float:
    """Return the host's time to launch a kernel of a step that is not recorded."""
    if row.runtime == "vllm":
        return SHARED_LAUNCH_S if row.source == ML_ENERGY and shares_host(row) else VLLM_LAUNCH_S
    return 0.0 if is_compiled(row) else LAUNCH_S


def is_compiled(row: ServedRow) -> bool:
    """Return True if no Python launches kernels: TensorRT-LLM before it ran on PyTorch."""
    return row.source == TRTLLM and row.release[:2] == "0."


def shares_host(row: ServedRow) -> bool:
    """Return True if others use the host of a server of ML.ENERGY, as it seems to be on one B200.

    Steps on one B200 vary in length, those on two, or on H100, do not. This is inferred from the
    rows; the publisher does not state it. Such rows are no measure of a host of one's own.
    """
    return row.target.startswith("b200") and row.tensor == 1
