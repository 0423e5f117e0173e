"""Lower parts of a model that is trained: a layer, the embedding, and the head with the loss.

A step repeats layers, so each part is lowered once, as the share of one rank. Tokens are those of
one micro-batch. With context parallelism, ``past`` counts the tokens of the same sequences that
other ranks hold and that attention sees.
"""

from __future__ import annotations

from perfc.ir import DType, Module
from perfc.ir.ops import FUSED_ROWS, LogSoftmax, NegativeLogLikelihoodLoss
from perfc.machine.parallel import ALONE, Parallel

from ..model import LanguageModel, Layer, Stack
from ..precision import ServingPrecision
from .builder import Builder
from .stack import embedded, head, layers, of_first_tokens, running
from .step import BATCH, DECLARED, PAST, SEQ, Running, Tokens, extent
from .streams import gathered

SYMBOLS = (BATCH, SEQ, PAST)
"""Symbols that every part declares, used or not, so that callers bind the same names."""


def layer_part(
    model: LanguageModel,
    layer: Layer,
    precision: ServingPrecision,
    parallel: Parallel = ALONE,
    *,
    lora_rank: int = 0,
    expert_groups: int = 1,
) -> Module:
    """Return a layer of the decoder, or of an encoder alone.

    Args:
        model: description of the model.
        layer: the layer.
        precision: element types.
        parallel: degrees of parallelism that divide the layer.
        lora_rank: rank of the adapters that alone are trained; 0 if all parameters are.
        expert_groups: groups of ranks with separate tokens, among which experts are divided; the
            layer has those of one group.

    Raises:
        ModelError: the model cannot be divided by these degrees.
    """
    b, stack, run = _started(model, precision, parallel)
    b.lora_rank, b.expert_groups = lora_rank, expert_groups
    x = b.input("hidden", b.half, (run.tokens.rows, stack.width))
    x = layers(b, x, stack, run, ((0, layer),))
    return b.module([x], [DECLARED[name] for name in SYMBOLS])


def embedding_part(
    model: LanguageModel, precision: ServingPrecision, parallel: Parallel = ALONE
) -> Module:
    """Return the module of the embedding, whose results are the inputs of layers.

    Raises:
        ModelError: the model cannot be divided by these degrees.
    """
    b, stack, run = _started(model, precision, parallel)
    x, _ = embedded(b, stack, run)
    return b.module([x, *run.rows], [DECLARED[name] for name in SYMBOLS])


def head_part(
    model: LanguageModel, precision: ServingPrecision, parallel: Parallel = ALONE
) -> Module:
    """Return the last normalisation, the scores of every token and their cross-entropy.

    Raises:
        ModelError: the model cannot be divided by these degrees.
    """
    b, stack, run = _started(model, precision, parallel)
    x = gathered(b, b.input("hidden", b.half, (run.tokens.rows, stack.width)), stack)
    x = b.norm(x, stack.norm, f"{stack.name}.norm")
    outputs = []
    for i, h in enumerate(stack.heads):
        rows = of_first_tokens(b, x, h, stack, run)
        # without the table: a tied one counts in both parts, and callers subtract it once
        scores = head(b, rows, h, stack, None, f"{stack.name}.head.{i}")
        logs = b.node(LogSoftmax(), (scores,), f"{stack.name}.log.{i}")
        count = run.tokens.prompts if h.is_first_token else run.tokens.rows
        labels = b.input(f"{stack.name}.labels.{i}", DType.I64, (count,))
        outputs.append(
            b.node(NegativeLogLikelihoodLoss(), (logs, labels), f"{stack.name}.loss.{i}")
        )
    return b.module(outputs or [x], [DECLARED[name] for name in SYMBOLS])


def _started(
    model: LanguageModel, precision: ServingPrecision, parallel: Parallel
) -> tuple[Builder, Stack, Running]:
    """Return a builder for a part, the only stack, and what its layers share."""
    b = Builder(model.name, precision, parallel)
    b.keeps_rows = FUSED_ROWS
    if len(model.stacks) > 1:
        b.refuse("models of one stack are trained so far")
    stack = model.stacks[0]
    tokens = Tokens(extent(BATCH), extent(SEQ), extent(PAST))
    # keys of other ranks take the place of a cache
    return b, stack, running(b, tokens, model, stack, is_cached=True)
