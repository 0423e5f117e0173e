"""Models of published runs: shipped configurations, and shapes that sources state in words."""

from __future__ import annotations

from functools import cache
from typing import Any

from perfc.errors import ModelError
from perfc.frontend.config import LanguageModel, read_config
from perfc.frontend.config.reader import described

SHIPPED = {
    "LLAMA2-7B": "llama-2-7b",
    "LLAMA2-13B": "llama-2-13b",
    "LLAMA2-70B": "llama-2-70b",
    "LLAMA3-8B": "llama-3-8b",
    "LLAMA3-70B": "llama-3-70b",
    "LLAMA3_8B": "llama-3-8b",
    "LLAMA3_70B": "llama-3-70b",
    "Llama 3.1 8B": "llama-3.1-8b",
    "LLAMA3.1_405B": "llama-3.1-405b",
    "Qwen3_30B_a3B": "qwen3-30b-a3b",
    "Qwen3_30B_a3B (tokendrop)": "qwen3-30b-a3b",
    "Qwen3_235B_a22B": "qwen3-235b-a22b",
    "GPT OSS 120B": "gpt-oss-120b",
    "DeepSeekV3": "deepseek-v3",
    "MIXTRAL-8X7B": "mixtral-8x7b",
}
MPT = {
    "125m": (768, 12, 12),
    "350m": (1024, 24, 16),
    "760m": (1536, 24, 12),
    "1b": (2048, 24, 16),
    "3b": (2560, 32, 20),
    "7b": (4096, 32, 32),
    "13b": (5120, 40, 40),
    "30b": (7168, 48, 56),
    "70b": (8192, 80, 64),
}
"""Width, layers and heads of llm-foundry's models (``scripts/train/yamls/pretrain``)."""
NEMO = {
    "GPT3-5B": (4096, 24, 32, 0, 51200),
    "GPT3-20B": (6144, 44, 48, 0, 51200),
    "GPT3-175B": (12288, 96, 96, 0, 51200),
    "Nemotron-8B": (4096, 32, 32, 0, 256000),
    "Nemotron-22B": (6144, 40, 48, 8, 256000),
    "Nemotron-15B": (6144, 32, 48, 8, 256000),
}
"""Width, layers, heads, key heads (0 for as many) and vocabulary of NeMo's models."""
MEGATRON = {
    "7.5B": (4096, 36, 32),
    "18B": (6144, 40, 48),
    "22B": (6144, 48, 64),
    "24B": (8192, 30, 64),
    "25B": (8192, 30, 64),
    "30B": (8192, 36, 64),
    "39B": (8192, 48, 64),
    "50B": (8192, 62, 64),
    "52B": (8192, 64, 64),
    "65B": (8192, 80, 64),
    "78B": (8192, 96, 64),
    "97B": (8192, 120, 64),
    "104B": (11600, 64, 80),
    "116B": (12288, 64, 96),
    "206B": (12288, 113, 96),
}
"""Width, layers and heads that give BigScience's sizes, ``12·layers·width²`` parameters; the
source states those of 52B and 104B."""


@cache
def model_of(name: str, seq: int = 2048) -> LanguageModel:
    """Return the model of a row.

    Raises:
        ModelError: nobody says what it looks like.
    """
    if name in SHIPPED:
        return read_config(SHIPPED[name])
    return described(configuration(name, seq), name, name)


def configuration(name: str, seq: int) -> dict[str, Any]:
    """Return the configuration of a model that is not shipped.

    Raises:
        ModelError: nobody says what it looks like.
    """
    if name in MPT:
        width, layers, heads = MPT[name]
        return {
            "model_type": "mpt",
            "vocab_size": 50368,
            "d_model": width,
            "n_layers": layers,
            "n_heads": heads,
            "expansion_ratio": 4,
            "max_seq_len": seq,
            "no_bias": True,
            "attn_config": {"alibi": False},
        }
    if name in NEMO:
        width, layers, heads, kv_heads, vocab = NEMO[name]
        return {
            "model_type": "nemotron",
            "vocab_size": vocab,
            "hidden_size": width,
            "intermediate_size": 4 * width,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": kv_heads or heads,
            "hidden_act": "relu2" if vocab > 60_000 else "gelu",
            "max_position_embeddings": 4096,
            "partial_rotary_factor": 0.5,
        }
    if name in MEGATRON:
        width, layers, heads = MEGATRON[name]
        return {
            "model_type": "gpt2",
            "vocab_size": 50304,
            "n_positions": seq,
            "n_embd": width,
            "n_layer": layers,
            "n_head": heads,
            "activation_function": "gelu_new",
            "torch_dtype": "float16",
        }
    raise ModelError(f"nobody says what {name[:40]!r} looks like")
