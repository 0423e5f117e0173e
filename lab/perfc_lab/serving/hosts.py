"""Host times of published runs that are not fitted: to launch a kernel, and to send a token.

`replay` simulates rows with these times, and a host model is fitted to the remaining time.
"""

from __future__ import annotations

from . import ServedRow
from .tables import ML_ENERGY, TRTLLM

LAUNCH_S = 5e-5
"""Seconds of a host per kernel, in steps whose kernels an engine in Python launches one by one.

It is for SGLang, and for TensorRT-LLM from 1.0; the fit of the host model makes up for its error.
"""
VLLM_LAUNCH_S, SHARED_LAUNCH_S = 4e-5, 6e-5
"""The same for vLLM, and for vLLM on a host that other jobs share: of 30 to 100 µs, these values
have the least error on ML.ENERGY's rows."""
WRITE_S = {"trtllm": ("1.0.", 1.084e-4), "sglang": ("0.5.6.post2", 5.29e-5)}
"""Version, and seconds of its server per token of an answer, by runtime.

A server sends tokens one after another, so the time is one over the largest rate of rows on few
GPUs: 9,225 tokens a second on two under TensorRT-LLM, 18,900 on four under SGLang. Rows on more
GPUs are not used here and so test these values; their rates are at most 9,281 and 19,600.
"""


def write_of(row: ServedRow) -> float:
    """Return the time of a row's server per token that it sends; 0 where no rate shows a limit."""
    version, each_s = WRITE_S.get(row.runtime, ("", 0.0))
    return each_s * (row.version.startswith(version) and not row.prefill)


def launch_of(row: ServedRow) -> float:
    """Return the host's time to launch a kernel, in steps that are not recorded as CUDA graphs."""
    if row.runtime == "vllm":
        return SHARED_LAUNCH_S if row.source == ML_ENERGY and shares_host(row) else VLLM_LAUNCH_S
    return 0.0 if is_compiled(row) else LAUNCH_S


def is_compiled(row: ServedRow) -> bool:
    """Return True if Python does not launch the kernels: TensorRT-LLM before it ran on PyTorch."""
    # `release` is the number in `version`, which may be ``post-v0.11@main``
    return row.source == TRTLLM and row.release[:2] == "0."


def shares_host(row: ServedRow) -> bool:
    """Return True if other jobs seem to use the host of a server of ML.ENERGY: one B200 of a node.

    Steps on one B200 vary in length, those on two, or on H100, do not. This is inferred from the
    rows; the publisher does not say it. Such rows do not measure a host that serves one engine.
    """
    return row.target.startswith("b200") and row.tensor == 1
