"""Hugging Face transformers as it comes: PyTorch operator by operator."""

from dataclasses import replace

from . import Batching, EngineKind
from .eager import TABLE as EAGER

TABLE = replace(
    EAGER,
    name="transformers",
    title="transformers, operator by operator",
    stands_for=frozenset(),
    steps=None,
    measured_as="",
    aliases=("hf",),
    engine=EngineKind(
        Batching.PROMPTS_FIRST,
        1 << 17,
        64,
        0.95,
        True,
        "transformers, generate: one padded batch, no paging",
    ),
    source=f"{EAGER.source}; models of configurations have normalisations, gated activations and "
    "rotation as one kernel each, where transformers launches up to six",
)
