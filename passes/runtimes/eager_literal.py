"""An eager framework running a model whose activations are written out, operator by operator."""

from dataclasses import replace

from . import eager

TABLE = replace(
    eager.TABLE,
    name="eager-literal",
    measured_as="",
    title="operator by operator, as the model is written",
    patterns=("slice_update", "linear_bias", "layer_norm"),
    aliases=(),
    stands_for=frozenset(),
    formats=frozenset(),
    # attention and activations of the steps that were measured are fused
    steps=None,
    source="PyTorch modules that compute attention and activations from single operators, as "
    "transformers with attn_implementation='eager' does: one kernel each but for Linear and "
    "LayerNorm",
)
