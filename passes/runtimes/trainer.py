"""Kernels of training frameworks of language models: what configurations are trained with."""

from dataclasses import replace

from perfc.ir import Kind

from .cudagraph import TABLE as CUDAGRAPH

TABLE = replace(
    CUDAGRAPH,
    name="trainer",
    title="kernels of language-model trainers: fused attention, loss and optimizer",
    is_trainer=True,
    # the loss reads logits once in each pass
    epilogue={Kind.SOFTMAX: frozenset({Kind.REDUCTION, Kind.SOFTMAX})},
    epilogue_tags={Kind.SOFTMAX: frozenset({"nll_loss", "log_softmax_grad"})},
    keeps_shared=True,
    source="Megatron-LM, megatron/core/fusions and optimizer; llm-foundry, models/layers; "
    "PyTorch's kernels for the rest, launches hidden",
)
