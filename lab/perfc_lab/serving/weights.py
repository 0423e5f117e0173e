"""Return formats of published weights, where a table says less than a model's files."""

from __future__ import annotations

from perfc.frontend.config import WeightFormat

EXPERTS_NVFP4 = "nvfp4 experts"
"""Experts in nvfp4, the rest in 16 bits."""


def published(model: str, weights: str, runtime: str = "", target: str = "") -> str:
    """Return the format that the published weights of a model have where a table says fp8 or fp4.

    gpt-oss is published in MXFP4, which TensorRT-LLM multiplies in 8-bit floats on Blackwell, and
    vLLM with an option that InferenceX and ML.ENERGY set (``configs/vllm/gpqa/openai`` of
    github.com/ml-energy/benchmark). DeepSeek, Qwen 3 and MiniMax are published in
    blocks of fp8; of DeepSeek in fp4 the experts alone are.
    """
    name = model.lower()
    if "gpt-oss" in name:
        is_narrow = "b200" in target and runtime in ("trtllm", "vllm")
        return WeightFormat.MXFP4_F8.value if is_narrow else ""
    is_blocked = any(part in name for part in ("deepseek", "qwen3", "minimax"))
    if is_blocked and weights == "f8":
        return "f8-block"
    return EXPERTS_NVFP4 if "deepseek" in name and weights == "nvfp4" else weights
