"""Add low-rank adapters to a model: all stay in memory, each serves some of the requests."""

from __future__ import annotations

from dataclasses import replace

from perfc.errors import ModelError

from .model import Adapters, LanguageModel


def adapted(model: LanguageModel, rank: int, count: int) -> LanguageModel:
    """Return the model with ``count`` resident adapters, which requests use in turn.

    Every linear layer of the decoder has a pair of narrow matrices for each adapter: ``rank``
    columns of the input, and back. Routers, routed experts, embeddings and heads have none.

    Raises:
        ModelError: it is no decoder alone.
    """
    if not count:
        return replace(model, adapters=None)
    if model.decoder is None or len(model.stacks) > 1:
        raise ModelError("adapters are served with a decoder alone", where=model.name)
    left_out = model.left_out
    if model.has_experts:
        left_out = (*left_out, WITHOUT)
    return replace(model, adapters=Adapters(rank, count), left_out=left_out)


WITHOUT = "what adapters change in routed experts"
"""Part that is left out: engines differ in whether adapters change routed experts."""
