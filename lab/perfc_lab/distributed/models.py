"""Models of published training runs: shipped configurations, or shapes from their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.errors import ModelError
from perfc.frontend.config import LanguageModel, read_config
from perfc.frontend.config.reader import described

_DATA = data_next_to(__file__)
SHIPPED: Mapping[str, str] = _DATA["shipped"]
"""Shipped configuration of a model, by its name in a source."""
MPT: Mapping[str, Sequence[int]] = _DATA["mpt"]
"""Width, layers and heads of llm-foundry's models (``scripts/train/yamls/pretrain``)."""
NEMO: Mapping[str, Sequence[int]] = _DATA["nemo"]
"""Width, layers, heads, key heads (0 for as many) and vocabulary of NeMo's models."""
MEGATRON: Mapping[str, Sequence[int]] = _DATA["megatron"]
"""Width, layers and heads by the size that BigScience names. The source has those of 52B and 104B;
the others are such that ``12·layers·width²``, the parameters of the layers, results in the size."""


@cache
def model_of(name: str, seq: int = 2048) -> LanguageModel:
    """Return the model of a row, by its name in the source; ``seq`` is the tokens of a sequence.

    Raises:
        ModelError: no source describes the model.
    """
    if name in SHIPPED:
        return read_config(SHIPPED[name])
    return described(configuration(name, seq), name, name)


def configuration(name: str, seq: int) -> dict[str, Any]:
    """Return the configuration of a model that is not shipped.

    Raises:
        ModelError: no source describes the model.
    """
    if name in MPT:
        width, layers, heads = MPT[name]
        return {
            "model_type": "mpt",
            "vocab_size": 50368,  # the default of transformers' MptConfig
            "d_model": width,
            "n_layers": layers,
            "n_heads": heads,
            "expansion_ratio": 4,  # width of the MLP over that of the model
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
            # the large vocabulary is Nemotron's, with squared ReLU; the others are GPT-3
            "hidden_act": "relu2" if vocab > 60_000 else "gelu",
            # the defaults of transformers' NemotronConfig; GPT-3 is costed with the same
            "max_position_embeddings": 4096,
            "partial_rotary_factor": 0.5,
        }
    if name in MEGATRON:
        width, layers, heads = MEGATRON[name]
        return {
            "model_type": "gpt2",
            "vocab_size": 50304,  # 50,257 tokens of GPT-2, padded to a multiple of 128
            "n_positions": seq,
            "n_embd": width,
            "n_layer": layers,
            "n_head": heads,
            "activation_function": "gelu_new",
            "torch_dtype": "float16",
        }
    raise ModelError(f"nobody says what {name[:40]!r} looks like")
