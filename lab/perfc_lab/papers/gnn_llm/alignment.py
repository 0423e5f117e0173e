"""Stage 2, graph-text adaptation: with a frozen encoder, the language model learns to summarize.

A pair is a graph, the question "Summarize the graph", and an answer, whose tokens give the loss, a
cross entropy. If a graph becomes a token for each number, there are more pairs than in the thesis:
beginnings of summaries, and summaries of random numbers (`lessons`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.predictor import Say
from perfc.ir.record import record

from ..networks.batches import Batch, GraphTensors
from .corpus import drawn_batch
from .counts import KINDS
from .descriptions import SUMMARIZE, GraphSummary, exact_fields, summary
from .lessons import drawn_summary
from .loop import StageProgress, StageRecipe, learn
from .network import GraphLanguageNetwork, parts

# functions that return the features of a graph at a batch size, and the columns `SUMS` of a summary
Encoded = Callable[[ModelGraph, float], GraphTensors]
Summed = Callable[[GraphSummary], Tensor]
TOKENS_PER_STEP = 2048
"""Maximum tokens of questions, answers and graphs in a step of several pairs."""
GRAPH_TOKENS = 48
"""Approximate number of tokens that a graph becomes, for the size of a step."""
GRAPHS_AT_ONCE = 16
"""Graphs whose summaries are generated together."""
SHORT = 3
"""Maximum kinds of layer in an answer that is the beginning of a summary."""
LONGEST_ANSWER = 480
"""Maximum tokens of a generated summary, for a model that does not end it."""


@dataclass(frozen=True, eq=False)
class AlignmentPair:
    """One example of stage 2.

    Args:
        g: readout of the graph by the frozen encoder, ``[width]``.
        sums: columns `SUMS` of the graph, or of the answer if that is random, ``[len(SUMS)]``.
        question: ids of the tokens of the question.
        answer: ids of the tokens of the answer.
        fields: numbers in the answer by name.
    """

    g: Tensor
    sums: Tensor
    question: tuple[int, ...]
    answer: tuple[int, ...]
    fields: Mapping[str, int]


@record
class SummaryFigure:
    """Scores of the summaries of unseen graphs.

    Args:
        graphs: number of unseen graphs.
        fields: number of fields in their summaries, each a number.
        exact: share of the fields with the expected digits.
        whole: share of the summaries with all fields exact.
    """

    graphs: int
    fields: int
    exact: float
    whole: float


class Pairs:
    """Pairs of some graphs, each of which passes the frozen encoder once.

    Args:
        network: network whose encoder and tokenizer are used.
        graphs: graphs by name.
        names: names of the graphs to describe.
        encoded: returns the features of a graph at a batch size.
        summed: returns the columns `SUMS` of a summary, for further pairs with its beginning and
            with random numbers; None for summaries of the graphs alone.
    """

    def __init__(
        self,
        network: GraphLanguageNetwork,
        graphs: Mapping[str, ModelGraph],
        names: Sequence[str],
        encoded: Encoded,
        summed: Summed | None = None,
    ) -> None:
        self.practises = summed is not None
        self.pairs = [
            pair
            for name in names
            for pair in self._of(network, graphs[name], drawn_batch(name), encoded, summed)
        ]

    @staticmethod
    def _of(
        network: GraphLanguageNetwork,
        graph: ModelGraph,
        batch: int,
        encoded: Encoded,
        summed: Summed | None,
    ) -> Iterator[AlignmentPair]:
        """Yield the pair of a graph; with ``summed``, also of a beginning and of random numbers."""
        tensors = encoded(graph, float(batch))
        assert tensors.u is not None
        whole = summary(graph, batch, kinds=KINDS)
        ids = network.model.ids
        prompt = tuple(ids(f"{SUMMARIZE}\n"))
        with torch.no_grad():
            readout = network.readout(alone(tensors)).squeeze(0)
        yield AlignmentPair(readout, tensors.u, prompt, tuple(ids(whole.text())), whole.fields())
        if summed is None:
            return
        draw = random.Random(f"{graph.name} drawn")
        start = replace(whole, layers=whole.layers[: draw.randint(1, SHORT)])
        for drawn in (start, drawn_summary(draw, KINDS)):
            yield AlignmentPair(
                readout, summed(drawn), prompt, tuple(ids(drawn.text())), drawn.fields()
            )

    def batches(self, order: random.Random) -> Iterator[Sequence[AlignmentPair]]:
        """Yield batches of pairs of similar length.

        With additional pairs, the first epoch goes from short summaries to long ones.
        """
        # equal lengths need no padding; the random factor changes the batches from epoch to epoch
        chosen = sorted(self.pairs, key=lambda p: length(p) * order.uniform(0.7, 1.4))
        batches = list(packed(chosen))
        if not self.practises:
            order.shuffle(batches)
        # the first epoch alone goes from short to long
        self.practises = False
        yield from batches


def length(pair: AlignmentPair) -> int:
    """Return the approximate number of tokens of a pair."""
    return len(pair.question) + len(pair.answer) + GRAPH_TOKENS


def packed(pairs: Iterable[AlignmentPair]) -> Iterator[list[AlignmentPair]]:
    """Yield consecutive pairs in batches of at most `TOKENS_PER_STEP` tokens."""
    part: list[AlignmentPair] = []
    filled = 0
    for pair in pairs:
        if part and filled + length(pair) > TOKENS_PER_STEP:
            yield part
            part, filled = [], 0
        part.append(pair)
        filled += length(pair)
    if part:
        yield part


def alone(tensors: GraphTensors) -> Batch:
    """Return one graph as a batch without rows."""
    assert tensors.u is not None
    place = tensors.x.device
    no_numbers = torch.zeros(0, device=place)
    no_indices = torch.zeros(0, dtype=torch.long, device=place)
    graph_of_node = torch.zeros(len(tensors.x), dtype=torch.long, device=place)
    return Batch(
        tensors.x,
        tensors.edge_index,
        None,  # no features of edges
        tensors.u[None],
        graph_of_node,
        no_indices,  # graph of each row
        no_numbers,  # features of rows
        no_numbers,  # measured values
        no_indices,  # positions in the measurements
        1,
        tensors.count,
    )


def align(
    network: GraphLanguageNetwork,
    pairs: Pairs,
    recipe: StageRecipe,
    rates: tuple[float, float],
    *,
    seed: int,
    folder: Path | None,
    say: Say,
) -> StageProgress:
    """Train the projection and the language model on pairs, with a frozen encoder.

    ``rates`` are the learning rates of `GraphLanguageNetwork.groups`.
    """
    network.freeze_encoder()
    settle(network, pairs)
    network.train()

    def loss(batch: Sequence[AlignmentPair]) -> Tensor:
        tokens, is_there = _tokens(network, batch)
        return network.answer_loss(
            tokens, is_there, [p.question for p in batch], [p.answer for p in batch]
        )

    return learn(
        network,
        network.groups(*rates),
        pairs.batches,
        loss,
        recipe,
        seed=seed,
        folder=folder,
        say=say,
    )


def settle(network: GraphLanguageNetwork, pairs: Pairs) -> None:
    """Set means and deviations of the projection's inputs to those of the training pairs."""
    g = torch.stack([p.g for p in pairs.pairs])
    network.projection.settle(g, torch.stack([p.sums for p in pairs.pairs]))


def _tokens(network: GraphLanguageNetwork, batch: Sequence[AlignmentPair]) -> tuple[Tensor, Tensor]:
    """Return the tokens of the graphs of pairs, and a mask of those that a graph has."""
    place = next(network.projection.parameters()).device
    g = torch.stack([p.g for p in batch]).to(place)
    sums = torch.stack([p.sums for p in batch]).to(place)
    tokens: tuple[Tensor, Tensor] = network.projection(g, sums)
    return tokens


def summaries(network: GraphLanguageNetwork, pairs: Pairs) -> tuple[SummaryFigure, list[str]]:
    """Return the scores of generated summaries, and the summaries themselves."""
    network.eval()
    exact, whole, answers = [], [], []
    for part in parts(range(len(pairs.pairs)), GRAPHS_AT_ONCE):
        batch = [pairs.pairs[i] for i in part]
        with torch.no_grad():
            tokens, is_there = _tokens(network, batch)
        questions = [p.question for p in batch]
        written = network.answers(tokens, is_there, questions, LONGEST_ANSWER)
        for pair, answer in zip(batch, written, strict=True):
            hits = exact_fields(pair.fields, answer)
            exact += list(hits.values())
            whole.append(all(hits.values()))
        answers += written
    graphs = max(len(whole), 1)
    share = sum(exact) / max(len(exact), 1)
    return SummaryFigure(len(whole), len(exact), share, sum(whole) / graphs), answers
