"""Hugging Face transformers without compilation: PyTorch operator by operator."""

from dataclasses import replace

from . import EngineKind
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
    engine=EngineKind.of("transformers"),
    source=f"{EAGER.source}; models of configurations have normalisations, gated activations and "
    "rotation as one kernel each, where transformers launches up to ten",
)
