"""Lower the sampling of the next token from the logits, as engines do it."""

from __future__ import annotations

from perfc.ir import Dim, DType, Value
from perfc.ir.ops import (
    AllGather,
    ArgMax,
    Cast,
    CumSum,
    Div,
    LessOrEqual,
    Mul,
    RandomUniformLike,
    ScatterElements,
    Softmax,
    TopK,
    Where,
)

from ..model import Sampling
from .builder import Builder

WIDE = DType.F32
"""Type of scores and probabilities, whatever the model has."""
NAME = "sampling"


def sampled(b: Builder, scores: Value, sampling: Sampling, rows: Dim, vocab: int) -> Value:
    """Return the next token of each of ``rows`` sequences.

    Every rank gets all scores, in 32 bits. A token is drawn as the largest of probabilities over
    random numbers, without the host. Truncation sorts the whole vocabulary.

    Args:
        b: builder that collects the nodes.
        scores: [rows, this rank's share of the vocabulary].
        sampling: method and its parameters.
        rows: sequences.
        vocab: tokens of the vocabulary, with those that pad it to a multiple of the ranks.

    Source: vLLM, v1/sample/sampler.py and ops/topk_topp_sampler.py.
    """
    if b.parallel.tensor > 1:
        gather = AllGather(b.parallel.tensor, b.group_nodes, axis=-1)
        scores = b.node(gather, (scores,), f"{NAME}.scores")
    wide = b.node(Cast(to=WIDE), (scores,), f"{NAME}.wide")
    if sampling is Sampling.GREEDY:
        return b.node(ArgMax(axis=-1, keepdims=0), (wide,), f"{NAME}.token")
    # one value per sequence: requests of a batch may have different temperatures
    coldness = b.input(f"{NAME}.inverse_temperature", WIDE, (rows, 1))
    wide = b.node(Mul(), (wide, coldness), f"{NAME}.scaled")
    if sampling is Sampling.TOP_P:
        wide = _truncated(b, wide, rows, vocab)
    shares = b.node(Softmax(), (wide,), f"{NAME}.probabilities")
    # the largest of p over exponential noise is a sample of p; uniform noise costs the same
    noise = b.node(RandomUniformLike(), (shares,), f"{NAME}.noise")
    drawn = b.node(Div(), (shares, noise), f"{NAME}.drawn")
    return b.node(ArgMax(axis=-1, keepdims=0), (drawn,), f"{NAME}.token")


def _truncated(b: Builder, scores: Value, rows: Dim, vocab: int) -> Value:
    """Return the scores, with those outside the top-p set masked, in their original order."""
    # with the vocabulary as k, it sorts all scores
    ordered, places = b.several(
        TopK(), (scores, b.numbers((vocab,))), f"{NAME}.sorted", ("values", "places")
    )
    shares = b.node(Softmax(), (ordered,), f"{NAME}.sorted_probabilities")
    sums = b.node(CumSum(), (shares, b.numbers((1,))), f"{NAME}.sums")
    top_p = b.input(f"{NAME}.top_p", WIDE, (rows, 1))
    is_kept = b.node(LessOrEqual(), (sums, top_p), f"{NAME}.is_kept")
    minus_infinity = b.buffer(f"{NAME}.never", (1,), WIDE)
    selected = b.node(Where(), (is_kept, ordered, minus_infinity), f"{NAME}.kept")
    return b.node(ScatterElements(axis=-1), (scores, places, selected), f"{NAME}.truncated")
