"""The 14 model features of a row, from a configuration and the operators it is lowered to.

They are those of K. Panner Selvam's thesis, Table 6.3.
`rows.features_of` puts them first.
"""

from __future__ import annotations

import math
import os
from functools import lru_cache

from perfc.analyzers.graph.encode import encode_module
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.frontend.config import ForwardStep, LanguageModel, WeightFormat, lower, precision_of
from perfc.frontend.config.facts import parameters
from perfc.frontend.config.lowering.step import SEQ
from perfc.frontend.config.model import Attention, LatentAttention, Stack, TokenEmbedding, mixers
from perfc.frontend.reading.onnx_file import read_model

MODEL = ("BS", "SL", "QT", "TN", "TE", "TM", "TP", "TM_mem", "MPE", "NHL", "NAH", "HS", "VS", "TVS")
"""Features by the thesis's abbreviations, in this order.

Batch size, sequence length, type of quantisation, nodes, edges, multiply-accumulates, parameters,
bytes, positions, layers, attention heads, hidden size, size of the vocabulary, number of token
types.
"""
METHODS = ("awq", "gptq")
"""Methods of quantisation that are values of a feature, in addition to the formats."""
SINGLE = "f32"
"""Format of weights without quantisation, which `WeightFormat` lacks."""
QUANTISATIONS = (*(form.value for form in WeightFormat), *METHODS, SINGLE)
"""Formats of linear layers; the feature is the position in this list."""


def model_features(
    model: LanguageModel, batch: float, length: int, weights: str
) -> tuple[float, ...]:
    """Return the features in the order of `MODEL` of one pass over ``batch`` prompts.

    For an unknown batch, counts that grow with it are those of one prompt.

    Args:
        model: model by its configuration.
        batch: number of prompts; NaN if unknown.
        length: tokens of a prompt.
        weights: format of the linear layers, "" for the published format.
    """
    graph = prompts_of(model, length)
    passed = 1.0 if math.isnan(batch) else batch
    counts, whole = graph.ops.at(passed), graph.ops.whole_at(passed)
    stack = model.decoder or model.stacks[-1]
    table = stack.embedding if isinstance(stack.embedding, TokenEmbedding) else None
    return (
        batch,
        float(length),
        float(QUANTISATIONS.index(_format(model, weights))),
        float(len(graph.ops)),
        float(graph.ops.edges.shape[1]),
        float(counts["mac"].sum()),
        float(parameters(model).resident),
        # as the thesis's tool counts: what is stored, and every tensor that a node writes
        whole["weight_bytes"] + float(counts["write_bytes"].sum()),
        float(model.max_positions) or math.nan,
        float(sum(len(s.layers) for s in model.stacks)),
        _heads(stack),
        float(stack.hidden),
        math.nan if table is None else float(table.vocab),
        0.0 if table is None else float(table.types),
    )


@lru_cache(maxsize=256)
def prompts_of(model: LanguageModel, length: int) -> ModelGraph:
    """Return the graph of a pass over prompts of a length, as formulas in the batch."""
    module = lower(model, ForwardStep.PREFILL)
    return encode_module(f"{model.name} {length}", module, (), {SEQ: length})


def onnx_counts(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return nodes and edges of an ONNX file, counted as in the thesis's Table 6.1.

    All nodes count, constants too. An edge is a tensor that a node reads or writes. Counted so,
    traced exports of the table's nine models with transformers 4.38.2 at opset 14 are within 1.1 %
    of its counts (BERT base with token types 1,467 and 3,353, DeBERTa-v3 large 9,385 and 20,612).

    Raises:
        ModelError: not an ONNX model.
    """
    nodes = read_model(path).graph.node
    return len(nodes), sum(len([n for n in node.input if n]) + len(node.output) for node in nodes)


def _format(model: LanguageModel, weights: str) -> str:
    """Return the entry of `QUANTISATIONS` for a format; of mixed formats that of the experts."""
    if weights in (*METHODS, SINGLE):
        return weights
    return precision_of(model.dtype, model.quantization, weights).of_experts.value


def _heads(stack: Stack) -> float:
    """Return the heads of the first layer that attends; 0 if none does."""
    layers = (m for layer in stack.layers for m in mixers(layer))
    heads = (m.heads for m in layers if isinstance(m, Attention | LatentAttention))
    return float(next(heads, 0))
