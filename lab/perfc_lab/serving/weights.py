"""Formats of published weights, which tables give less exactly than the files of a model."""

from __future__ import annotations

from perfc.frontend.config import WeightFormat

EXPERTS_NVFP4 = "nvfp4 experts"
"""Format with experts in nvfp4 and all other weights in 16 bits."""


def published(model: str, weights: str, runtime: str = "", target: str = "") -> str:
    """Return the exact format of the published weights of a model; "" for its configuration's.

    gpt-oss is published in MXFP4. On Blackwell TensorRT-LLM multiplies it in 8-bit floats, and so
    does vLLM with an option that InferenceX and ML.ENERGY set (``configs/vllm/gpqa/openai`` of
    github.com/ml-energy/benchmark). DeepSeek, Qwen 3 and MiniMax are published in fp8 with scales
    per block. In DeepSeek's checkpoints in fp4 only the experts have 4 bits.

    Args:
        model: name of the model in the source.
        weights: format by the table.
        runtime: serving runtime.
        target: name of the machine.
    """
    name = model.lower()
    if "gpt-oss" in name:
        is_narrow = "b200" in target and runtime in ("trtllm", "vllm")
        return WeightFormat.MXFP4_F8.value if is_narrow else ""
    is_blocked = any(part in name for part in ("deepseek", "qwen3", "minimax"))
    if is_blocked and weights == "f8":
        return WeightFormat.F8_BLOCK.value
    return EXPERTS_NVFP4 if "deepseek" in name and weights == "nvfp4" else weights
