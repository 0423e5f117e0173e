"""Modules of transformers with the default configuration of a family and few layers.

Models of `fusion_check.py --oracle inductor`, by name: ``benchmarks/fusion_modules.py:bert``.
"""

from __future__ import annotations

from typing import Any

from perfc.common.fitted import data_next_to

FAMILIES: list[str] = data_next_to(__file__)["families"]
FEWER = {"num_hidden_layers": 4, "n_layer": 4, "n_layers": 4}
"""Layers of families whose layers are equal; others keep their stages."""
SMALLER = {
    "vocab_size": 4096,
    "hidden_size": 256,
    "intermediate_size": 1024,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "ffn_dim": 1024,
}
LARGE = frozenset({"gpt_neox", "qwen2"})
"""Families whose default configuration has billions of parameters."""


def __getattr__(name: str) -> Any:
    """Return a function that makes the model of a family."""
    if name not in FAMILIES:
        raise AttributeError(name)

    def make() -> Any:
        from transformers import AutoConfig, AutoModel

        config = AutoConfig.for_model(name)
        for key, value in {**FEWER, **(SMALLER if name in LARGE else {})}.items():
            if isinstance(getattr(config, key, None), int):
                setattr(config, key, value)
        config.use_cache = False
        return AutoModel.from_config(config).eval()

    return make
