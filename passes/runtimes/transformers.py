"""Hugging Face transformers without compilation: PyTorch operator by operator."""

from dataclasses import replace

from . import Batching, EngineKind
from .eager import TABLE as EAGER

TABLE = replace(
    EAGER,
    name="transformers",
    title="transformers, operator by operator",
    stands_for=frozenset(),
    formats=frozenset(),
    steps=None,
    measured_as="",
    aliases=("hf",),
    engine=EngineKind(
        Batching.PROMPTS_FIRST,
        1 << 17,
        64,
        0.95,
        True,
        "transformers, generate: one padded batch, no paging; models/llama/modeling_llama.py and "
        "cache_utils.py: queries, keys and values apart and joined to the cache (5 with their "
        "attention), gate and up apart (3 with the activation and its product), a rotation of "
        "queries and keys (10), a normalisation in f32 (8); kernels of experts together; while a "
        "layer multiplies, its input and the normalised one are still named (2)",
        launched={
            "rms_norm": 8,
            "rotary_embedding": 10,
            "ragged_attention": 5,
            "gated_activation": 3,
            "moe": 15,
        },
        recording=None,
        held=2,
    ),
    source=f"{EAGER.source}; models of configurations have normalisations, gated activations and "
    "rotation as one kernel each, where transformers launches up to ten",
)
