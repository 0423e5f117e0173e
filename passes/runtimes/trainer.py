"""Kernels of training frameworks of language models: what configurations are trained with."""

from dataclasses import replace

from perfc.ir import Kind

from ._list_limits import BEFORE_CUDA_13
from .cudagraph import TABLE as CUDAGRAPH

TABLE = replace(
    CUDAGRAPH,
    name="trainer",
    title="kernels of language-model trainers: fused attention, loss and optimizer",
    is_trainer=True,
    lists=BEFORE_CUDA_13,
    # the loss reads logits once in each pass
    epilogue={Kind.SOFTMAX: frozenset({Kind.REDUCTION, Kind.SOFTMAX})},
    epilogue_tags={Kind.SOFTMAX: frozenset({"nll_loss", "log_softmax_grad"})},
    keeps_shared=True,
    source="Megatron-LM, megatron/core/fusions and optimizer, with the lists of Apex's "
    "multi_tensor_apply.cuh; llm-foundry, models/layers; "
    "PyTorch's kernels for the rest, launches hidden",
)
