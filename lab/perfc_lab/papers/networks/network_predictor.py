"""Base of all networks: tables to tensors, training, rows to numbers, weights to arrays.

A paper's file names its features, recipe and network, and inherits the rest.
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

# tables of features that are standardised separately
NODE, EDGE, WHOLE, ROWS = "node", "edge", "whole", "row"
LEAST_WIDTH = 16
"""Minimum hidden units of a scaled-down network."""
AT_BATCH = "graphs at the batch of their rows"
"""Digest next to those of the schemas: weights of graphs encoded otherwise are refused."""


def squared(network: nn.Module, batch: Batch) -> Tensor:
    """Return the mean squared error of the scaled quantity."""
    return nn.functional.mse_loss(network(batch), batch.y)


class NetworkPredictor(GraphPredictor):
    """A predictor that is one network, called with a `Batch`, ``[rows]`` of the log of a quantity.

    A graph is encoded at each batch that it was measured at, and passed once for all rows of it.

    Attributes:
        encoding: what is read of a graph.
        layers: how often messages are passed, so that operators that are equal to that depth are
            passed once; 0 to pass every one.
        hidden: width in the paper.
        recipe: of the training, as in the paper.
        ours: recipe for an hour of a core in place of the paper's days.
        is_faithful: whether recipe and sums are the paper's.
        raw_encoding: what the authors' program reads of a graph, as plain numbers; a faithful
            network reads it, and learns plain numbers of ``units``. None where there is no such
            program.
        units: units that the authors' program learns quantities in; 1 of what is not listed.
        loss: of a batch.
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
        self.made: nn.Module | None = None
        self.trained: Trained | None = None

    @property
    def is_raw(self) -> bool:
        """Return True if it reads and learns plain numbers, as the authors' program."""
        return self.is_faithful and self.raw_encoding is not None

    def choose(self, is_faithful: bool) -> None:
        """Set whether the paper's recipe and the features of its program are used."""
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
        """Prepare for the supervised training; return the budget that is left."""
        del graphs, say
        return budget

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Standardise by the training rows, then train on one core."""
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
        """Return the paper's or ours, with the budget's epochs where it states any."""
        recipe = self.recipe if budget.is_faithful else self.ours
        return recipe if budget.epochs is None else replace(recipe, epochs=budget.epochs)

    def step(self, train: Measurements, recipe: TrainRecipe, seed: int) -> Step | None:
        """Return one update of the supervised training; None for that by ``loss``."""
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
        """Return one graph as the network is given it: standardised, equal operators once.

        Where the authors' tables are read, every operator is passed, with its own dropout.
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
        features = torch.tensor(row_features(data, row), dtype=torch.float32)
        standardised: list[float] = self.standards[ROWS](features).tolist()
        return standardised

    def _standardise(self, train: Measurements) -> None:
        """Set means and deviations of the features of rows, nodes, edges and graphs."""
        rows = torch.tensor([row_features(train, r) for r in train.rows], dtype=torch.float32)
        self.standards = {ROWS: plain_indicators(Standard.of([rows]), ROW)}
        if self.is_raw:
            return
        # each graph at its largest batch alone: this shows the range of the columns, with a fourth
        # of all tables in memory
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
        """Return every module with weights to keep, by name."""
        return {} if self.made is None else {"network": self.made}

    def arrays(self) -> Mapping[str, Array]:
        """Return the weights, and what tables are standardised by."""
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
        """Return the digests of everything the network reads."""
        read = self.encoding
        return [*(s.digest for s in (read.nodes, read.edges, read.whole, ROW)), AT_BATCH]

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
        """Restore weights of the same features.

        Raises:
            PerfcError: of another schema.
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
    """Return the weights of one module of several."""
    start = f"{part}."
    return {
        n.removeprefix(start): torch.tensor(a) for n, a in arrays.items() if n.startswith(start)
    }


def plain_indicators(standard: Standard, schema: Schema) -> Standard:
    """Return a standard that leaves columns of zeros and ones as they are.

    Divided by its small deviation, a rare one would be far larger than all other columns.
    """
    plain = torch.tensor([name.startswith("is") for name in schema.columns])
    return Standard(
        torch.where(plain, 0.0, standard.mean), torch.where(plain, 1.0, standard.deviation)
    )


def perceptron(widths: tuple[int, ...], dropout: float = 0.0) -> nn.Sequential:
    """Return linear layers with ReLU and dropout behind each."""
    layers: list[nn.Module] = []
    for width_in, width_out in pairwise(widths):
        layers += [nn.Linear(width_in, width_out), nn.ReLU()]
        if dropout:
            layers.append(nn.Dropout(dropout))
    return nn.Sequential(*layers)


def head(
    width_in: int, width: int, dropout: float = 0.0, layers: int = 2, outputs: int = 1
) -> nn.Sequential:
    """Return fully connected layers and a last one to a single number, or to several.

    They multiply in 32 bits, also where graph layers do not (`Exact`).
    """
    widths = (width_in, *[width] * layers)
    return Exact(*perceptron(widths, dropout), nn.Linear(width, outputs))


class Exact(nn.Sequential):
    """Layers in 32 bits, whatever those before them are multiplied in."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            out: Tensor = super().forward(x.float())  # type: ignore[no-untyped-call]
        return out
