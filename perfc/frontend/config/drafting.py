"""Describe speculative decoding: a model that drafts tokens, and a model that verifies them."""

from __future__ import annotations

from dataclasses import replace

from perfc.errors import ModelError

from .mixers import Activation, Mlp
from .model import Branch, LanguageModel, Residual


def token_predictor(model: LanguageModel) -> LanguageModel:
    """Return the layer of a model that predicts the token after the next, as a separate model.

    It projects the last hidden state, concatenated with the next token's embedding, to the hidden
    width, then runs a layer like the model's last. Embedding and head are the model's. One such
    layer drafts several tokens by running several times. DeepSeek-V3, arXiv:2412.19437, section
    2.2; engines run it so for all families that have one.

    Raises:
        ModelError: the model states no such layer.
    """
    decoder = model.decoder
    if decoder is None or not model.predictors:
        raise ModelError(
            "the configuration states no layers that predict further tokens",
            where=model.name,
            hint="--draft CONFIG names a model that drafts",
        )
    # the projection of two concatenated rows has the weights and the work of two products of one
    # row, which an MLP of the hidden width has
    joined = Mlp(decoder.hidden, Activation.SILU, is_gated=False)
    layers = ((Residual((Branch(joined),)), *decoder.layers[-1]),)
    stack = replace(decoder, name="predictor", layers=layers)
    return replace(
        model,
        name=f"{model.name} predictor",
        stacks=(stack,),
        predictors=0,
        adapters=None,
        tower=None,
        sampling=None,
    )


def verifying(model: LanguageModel, tokens: int) -> LanguageModel:
    """Return the model whose decode steps verify ``tokens`` draft tokens of each sequence."""
    return replace(model, drafted=tokens)
