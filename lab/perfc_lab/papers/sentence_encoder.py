"""A graph network with a sentence encoder (Panner Selvam, thesis, Section 7.5.2, Table 7.4).

The static features and the hardware are described in words, which a sentence encoder embeds. The
encoder is not trained. The head of NNLQP's network reads these embeddings as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, ClassVar

from torch import nn

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.predictor import Say, TrainingBudget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.analyzers.graph.schema import Schema

from . import nnlqp
from .gnn_llm.descriptions import as_text, hardware_text
from .gnn_llm.sentences import encoder
from .networks.summed import SummedNetwork

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

MINILM = "all-MiniLM-L6-v2"
ENCODERS = {
    "": MINILM,
    "mpnet": "all-mpnet-base-v2",
    "distilroberta": "all-distilroberta-v1",
    "text": MINILM,
}
"""Name of the encoder's folder by variant."""
TEXT = "text"


class SentenceEncoderNetwork(nnlqp.Nnlqp):
    """NNLQP's network with embeddings of two texts: totals of the graph, and machine and setting.

    The variant ``text`` has no graph, only fully connected layers on the embeddings.
    """

    name: ClassVar[str] = "sentence-encoder"
    title: ClassVar[str] = "GNN-MiniLM and other sentence encoders (thesis, Table 7.4)"
    variants: ClassVar[tuple[str, ...]] = ("mpnet", "distilroberta", TEXT)

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.text_width = encoder(ENCODERS[variant]).width
        embedded = [f"embedding {i}" for i in range(self.text_width)]
        static = () if variant == TEXT else nnlqp.STATIC.columns
        self.encoding = replace(
            nnlqp.ENCODING,
            whole=Schema(f"totals by {ENCODERS[variant]}", (*static, *embedded)),
            graph_vector=self.totals,
        )

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        # the encoder caches embeddings, which it computes faster in batches than one by one
        count = self.embed(train) + self.embed(validation)
        say(f"{self.name}: {count:,} rows described, embedded by {ENCODERS[self.variant]}")
        super().fit(train, validation, budget, say)

    def predict(self, data: Measurements) -> Array:
        self.embed(data)
        return super().predict(data)

    def embed(self, data: Measurements) -> int:
        """Embed all texts of rows, which the encoder caches, and return the number of rows."""
        graphs = {(r.graph, r.batch) for r in data.rows}
        texts = {as_text(data.graphs[name], batch, kinds=0) for name, batch in graphs}
        if data.rows:
            encoder(ENCODERS[self.variant])(sorted(texts | {hardware_text(r) for r in data.rows}))
        return len(data)

    def totals(self, graph: ModelGraph, batch: float) -> Sequence[float]:
        """Return NNLQP's static features, and the embedding of the graph's totals as text."""
        embedding = self.vector(as_text(graph, round(batch), kinds=0))
        static = [] if self.variant == TEXT else nnlqp.static_features(graph, batch)
        return [*static, *embedding]

    def vector(self, text: str) -> list[float]:
        """Return the embedding of a text, scaled to numbers near 1.

        Its norm is 1, so that its numbers are near ``1 / sqrt(width)`` before.
        """
        embedding = encoder(ENCODERS[self.variant])([text])[0] * sqrt(self.text_width)
        numbers: list[float] = embedding.tolist()
        return numbers

    def network(self) -> nn.Module:
        # a row has the embedding of its machine and setting in addition
        whole = len(self.encoding.whole) + self.text_width
        if self.variant == TEXT:
            return SummedNetwork([], whole, self.width)
        nodes = len(self.encoding.nodes)
        return nnlqp.two_sage_layers(nodes, whole, self.width, is_faithful=self.is_faithful)

    def _row(self, data: Measurements, row: GraphRow) -> list[float]:
        return [*super()._row(data, row), *self.vector(hardware_text(row))]


PREDICTOR = SentenceEncoderNetwork
