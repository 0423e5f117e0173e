"""Base of all predictors that are networks: encoding, training, prediction, and weights as arrays.

The module of a paper defines features, recipe and network, and inherits the rest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import astuple, replace
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from perfc.analyzers.features.classes import Array
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.predictor import GraphPredictor, Say, TrainingBudget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.analyzers.graph.schema import Schema
from perfc.errors import PerfcError

from .batches import (
    Batch,
    GraphAtBatch,
    GraphTensors,
    LogScale,
    RowBatches,
    Scale,
    Standard,
    UnitScale,
    scale_of,
)
from .equal_nodes import merged
from .node_features import Encoding
from .row_features import ROW, row_features
from .train import (
    Loss,
    Step,
    Trained,
    TrainRecipe,
    fit_network,
    huber,
    one_thread,
    predicted,
    seeded,
)

# names of the tables of features, each of which is standardised
NODE, EDGE, WHOLE, ROWS = "node", "edge", "whole", "row"
LEAST_WIDTH = 16
"""Minimum hidden units of a scaled-down network."""
AT_BATCH = "graphs at the batch of their rows"
"""Text next to the digests of the schemas in a card: weights that learned from graphs at other
batch sizes are refused."""


def squared(network: nn.Module, batch: Batch) -> Tensor:
    """Return the mean squared error of the scaled quantity."""
    return nn.functional.mse_loss(network(batch), batch.y)


class NetworkPredictor(GraphPredictor):
    """A predictor that is a network, which returns a scaled quantity of each row of a `Batch`.

    A graph is encoded at each batch size that it was measured at, and passed once for all its rows.

    Attributes:
        encoding: tables that the network reads of a graph.
        layers: number of times that messages are passed; operators that so many layers cannot
            distinguish are passed once. 0 to pass every operator.
        hidden: width of the layers in the paper.
        recipe: recipe of the training in the paper.
        ours: recipe for an hour of one core in place of the paper's days.
        is_faithful: whether recipe and sums are those of the paper.
        raw_encoding: tables that the authors' program reads, not standardised; a faithful network
            reads these, and learns plain numbers in ``units``. None without such a program.
        units: units in which the authors' program learns quantities; others are learned as they
        are.
        loss: returns the loss of a batch.
    """

    encoding: Encoding
    raw_encoding: ClassVar[Encoding | None] = None
    units: ClassVar[Mapping[Quantity, float]] = {}
    layers: int = 0
    hidden: ClassVar[int]
    recipe: ClassVar[TrainRecipe]
    ours: ClassVar[TrainRecipe]
    loss: ClassVar[Loss] = staticmethod(huber)

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.width = self.hidden
        self.is_faithful = False
        self.standards: dict[str, Standard] = {}
        self.scale: Scale = LogScale(0.0, 1.0)
        self.made: nn.Module | None = None  # the network, from `fit` or `restore`
        self.trained: Trained | None = None

    @property
    def is_raw(self) -> bool:
        """Return True if the network reads and learns plain numbers, as its authors' program."""
        return self.is_faithful and self.raw_encoding is not None

    def choose(self, is_faithful: bool) -> None:
        """Set whether the paper's recipe and the tables of its authors' program are used."""
        self.is_faithful = is_faithful
        if self.is_raw and self.raw_encoding is not None:
            self.encoding = self.raw_encoding

    def scale_for(self, quantity: Quantity, train: Measurements) -> Scale:
        """Return the scale that turns a quantity into the numbers that a network learns."""
        if self.is_raw:
            return UnitScale(self.units.get(quantity, 1.0))
        return LogScale.of(train.values(quantity).tolist())

    @abstractmethod
    def network(self) -> nn.Module:
        """Return an untrained network with ``self.width`` hidden units."""

    def prepare(
        self, graphs: Mapping[str, ModelGraph], budget: TrainingBudget, say: Say
    ) -> TrainingBudget:
        """Prepare for the supervised training, if needed, and return the remaining budget."""
        del graphs, say
        return budget

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Train on one core, with features standardised by the training rows."""
        seeded(budget.seed)  # before the network draws its weights
        self.choose(budget.is_faithful)
        self.width = max(round(self.hidden * budget.scale), LEAST_WIDTH)
        self.scale = self.scale_for(self.quantity, train)
        # tensors of graphs, which both sets of rows share
        cache: dict[GraphAtBatch, GraphTensors] = {}
        self._standardise(train)
        used = {r.graph for r in (*train.rows, *validation.rows)}
        recipe = self.chosen_recipe(budget)
        with one_thread():
            rest = self.prepare({n: train.graphs[n] for n in sorted(used)}, budget, say)
            self.made = self.network()
            self.trained = fit_network(
                self.made,
                self.batches(train, cache, recipe.rows),
                self.batches(validation, cache),
                recipe,
                rest,
                say,
                loss=type(self).loss,
                step=self.step(train, recipe, budget.seed),
            )

    def chosen_recipe(self, budget: TrainingBudget) -> TrainRecipe:
        """Return the paper's recipe or ours, with the epochs of the budget if it has any."""
        recipe = self.recipe if budget.is_faithful else self.ours
        return recipe if budget.epochs is None else replace(recipe, epochs=budget.epochs)

    def step(self, train: Measurements, recipe: TrainRecipe, seed: int) -> Step | None:
        """Return a function that updates weights; None for the usual update by ``loss``."""
        del train, recipe, seed
        return None

    def predict(self, data: Measurements) -> Array:
        """Return the quantity of every row."""
        if self.made is None:
            raise PerfcError(f"{self.name} is not trained", hint="call fit first")
        with one_thread():
            return predicted(self.made, self.batches(data, {}))

    def batches(
        self, data: Measurements, cache: dict[GraphAtBatch, GraphTensors], rows: int = 0
    ) -> RowBatches:
        """Return rows as mini-batches of standardised graphs, of ``rows`` rows each if given."""
        return RowBatches(
            data, self.quantity, self.passed, self._row, self.scale, rows=rows, cache=cache
        )

    def passed(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return one graph as the network reads it: standardised, with equal operators once.

        With the authors' tables every operator is passed, so that dropout falls on each separately.
        """
        tensors = self.tensors(graph, batch)
        return merged(tensors, self.layers) if self.layers and not self.is_raw else tensors

    def tensors(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return one graph as tensors, standardised unless the authors' tables are read."""
        raw = self.raw(graph, batch)
        if self.is_raw:
            return raw
        edge_attr = None if raw.edge_attr is None else self.standards[EDGE](raw.edge_attr)
        u = None if raw.u is None else self.standards[WHOLE](raw.u)
        return GraphTensors(self.standards[NODE](raw.x), raw.edge_index, edge_attr, u)

    def raw(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return the tables of one graph as tensors, not standardised."""
        tables, vector = self.encoding, self.encoding.graph_vector
        edges = None if tables.edge_table is None else tables.edge_table(graph, batch)
        index = graph.ops.edges if tables.edge_index is None else tables.edge_index(graph)
        return GraphTensors(
            torch.from_numpy(tables.node_table(graph, batch)).float(),
            torch.from_numpy(index),
            None if edges is None else torch.from_numpy(edges).float(),
            None if vector is None else torch.tensor(vector(graph, batch), dtype=torch.float32),
        )

    def _row(self, data: Measurements, row: GraphRow) -> list[float]:
        """Return the standardised features of a row that its graph does not have."""
        features = torch.tensor(row_features(data, row), dtype=torch.float32)
        standardised: list[float] = self.standards[ROWS](features).tolist()
        return standardised

    def _standardise(self, train: Measurements) -> None:
        """Set means and deviations of the features of rows, nodes, edges and graphs."""
        rows = torch.tensor([row_features(train, r) for r in train.rows], dtype=torch.float32)
        self.standards = {ROWS: plain_indicators(Standard.of([rows]), ROW)}
        if self.is_raw:
            return
        # each graph at its largest batch size alone: that shows the range of columns well enough,
        # and takes a fourth of the memory of all tables
        batches: dict[str, int] = {}
        for row in train.rows:
            batches[row.graph] = max(batches.get(row.graph, 0), row.batch)
        raw = [self.raw(train.graphs[name], batches[name]) for name in sorted(batches)]
        nodes = Standard.of([g.x for g in raw])
        self.standards[NODE] = plain_indicators(nodes, self.encoding.nodes)
        edges = [g.edge_attr for g in raw if g.edge_attr is not None]
        if edges:
            self.standards[EDGE] = Standard.of(edges)
        vectors = [g.u for g in raw if g.u is not None]
        if vectors:
            self.standards[WHOLE] = Standard.of([torch.stack(vectors)])

    def modules(self) -> Mapping[str, nn.Module]:
        """Return every module whose weights are stored, by name."""
        return {} if self.made is None else {"network": self.made}

    def arrays(self) -> Mapping[str, Array]:
        """Return the weights, and the means and deviations of the tables, as arrays."""
        result: dict[str, Array] = {}
        if self.made is None:
            return result
        for part, module in self.modules().items():
            result |= {f"{part}.{n}": t.cpu().numpy() for n, t in module.state_dict().items()}
        for part, standard in self.standards.items():
            result[f"standard.{part}.mean"] = standard.mean.numpy()
            result[f"standard.{part}.deviation"] = standard.deviation.numpy()
        return result

    def meta(self) -> Mapping[str, Any]:
        """Return the digests of the schemas, width and length of the training."""
        ran = self.trained
        return {
            "schemas": self.digests(),
            "width": self.width,
            "width_of_the_paper": self.hidden,
            "is_faithful": self.is_faithful,
            "scale": astuple(self.scale),
            "epochs": ran.epochs if ran else 0,
            "seconds": round(ran.seconds, 1) if ran else 0.0,
        }

    def digests(self) -> list[str]:
        """Return the digests of the schemas of everything that the network reads."""
        read = self.encoding
        return [*(s.digest for s in (read.nodes, read.edges, read.whole, ROW)), AT_BATCH]

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
        """Restore weights from arrays and the entries of a card.

        Raises:
            PerfcError: the weights read other features.
        """
        # sets the encoding, whose digests are compared
        self.choose(bool(meta["is_faithful"]))
        if list(meta["schemas"]) != self.digests():
            raise PerfcError(f"weights of {self.name} read other features", hint="train it again")
        self.width = int(meta["width"])
        self.scale = scale_of([float(x) for x in meta["scale"]])
        for part in (NODE, EDGE, WHOLE, ROWS):
            if f"standard.{part}.mean" in arrays:
                mean, deviation = (arrays[f"standard.{part}.{n}"] for n in ("mean", "deviation"))
                self.standards[part] = Standard(torch.tensor(mean), torch.tensor(deviation))
        self.made = self.network()
        for part, module in self.modules().items():
            module.load_state_dict(weights_under(arrays, part))
            module.eval()


def weights_under(arrays: Mapping[str, Array], part: str) -> dict[str, Tensor]:
    """Return the weights of one module, whose names begin with ``part`` and a dot."""
    start = f"{part}."
    return {
        n.removeprefix(start): torch.tensor(a) for n, a in arrays.items() if n.startswith(start)
    }


def plain_indicators(standard: Standard, schema: Schema) -> Standard:
    """Return a standard that leaves columns of zeros and ones, named ``is …``, as they are.

    The deviation of a rare indicator is small: divided by it, a 1 would be far larger than all
    other numbers.
    """
    plain = torch.tensor([name.startswith("is") for name in schema.columns])
    return Standard(
        torch.where(plain, 0.0, standard.mean), torch.where(plain, 1.0, standard.deviation)
    )


def perceptron(widths: tuple[int, ...], dropout: float = 0.0) -> nn.Sequential:
    """Return linear layers of these widths, each followed by ReLU and dropout."""
    layers: list[nn.Module] = []
    for width_in, width_out in pairwise(widths):
        layers += [nn.Linear(width_in, width_out), nn.ReLU()]
        if dropout:
            layers.append(nn.Dropout(dropout))
    return nn.Sequential(*layers)


def head(
    width_in: int, width: int, dropout: float = 0.0, layers: int = 2, outputs: int = 1
) -> nn.Sequential:
    """Return ``layers`` fully connected layers, then one to ``outputs`` numbers.

    They multiply in 32 bits, even if graph layers do not (`Exact`).
    """
    widths = (width_in, *[width] * layers)
    return Exact(*perceptron(widths, dropout), nn.Linear(width, outputs))


class Exact(nn.Sequential):
    """Layers that multiply in 32 bits, even within a context of autocast."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            out: Tensor = super().forward(x.float())  # type: ignore[no-untyped-call]
        return out
