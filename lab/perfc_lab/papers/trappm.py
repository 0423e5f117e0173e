"""TraPPM: regressors on embeddings of an auto-encoder and of a supervised graph network.

Panner Selvam and Brorsson, Machine Learning for Systems at NeurIPS 2023; thesis, Chapter 5.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.predictor import Say, TrainingBudget
from perfc.analyzers.graph.rows import Measurements, Quantity
from perfc.analyzers.graph.schema import Schema
from perfc.analyzers.graph.store import StoredGraphs
from perfc.errors import PerfcError

from ..datasets.unlabelled import FILE, SEPARATOR
from . import onnx_profile
from .graph_autoencoder import GraphEncoder, pretrain
from .networks.batches import Batch, GraphTensors
from .networks.network_predictor import AT_BATCH
from .networks.node_features import Encoding, indicators, logs, one_hot
from .networks.several import SeveralQuantities, TaskNetwork
from .networks.summed import PER, SummedNetwork
from .networks.tensors import read_tensors, write_tensors
from .networks.train import TrainRecipe, clock_s, device, one_thread, seeded
from .nnlqp import two_sage_layers
from .operators import VOCABULARY
from .static_features import STATIC, static_features

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

NODES = Schema("TraPPM nodes", (*indicators(VOCABULARY), *onnx_profile.COLUMNS))
"""Features of a node: ``[E_O, I, O, Mac, P, M]``, 98 + 6 + 6 + 1 + 1 + 1 = 113 numbers (Figure
5.1)."""
PRETRAINING_SHARE = 0.35
"""Share of the time limit for pretraining, so that the regressors have the larger share. The
paper's pretraining took 25.6 hours, and a fold of its regressors 1.3."""
FINE_TUNING_PASSES = 60
"""Epochs of fine-tuning on rows of a new machine. Neither they nor `SLOWER` are in the thesis."""
SLOWER = 10
"""Divisor of the learning rate in fine-tuning."""
# variants, which the class describes
RANDOM, WITHOUT, SUPERVISED, SCRATCH = "random", "without-embedding", "supervised", "scratch"
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Batch sizes, of which each graph of the pool has one at random."""


def node_table(graph: ModelGraph, batch: float) -> Array:
    """Return the features of the nodes; memory is the bytes that an operator reads and writes."""
    facts = graph.ops.at(batch)
    memory = facts["read_bytes"] + facts["write_bytes"]
    counts = {"mac": facts["mac"], "parameters": facts["weight_elements"], "memory": memory}
    return np.concatenate(
        [
            one_hot(graph.ops.ops, VOCABULARY),
            logs(facts, onnx_profile.EXTENTS),
            logs(counts, counts),
        ],
        axis=1,
    )


ENCODING = Encoding(NODES, node_table, STATIC, static_features)


class TrappmNetwork(TaskNetwork):
    """A regressor for each quantity, on the same embedding of the auto-encoder (Section 5.4.3).

    Args:
        regressors: a network for each task.
        tasks: names of the tasks.
        quantity: quantity that a call returns.
        is_raw: whether outputs are plain positive numbers, as in the authors' program.
    """

    def __init__(
        self,
        regressors: Sequence[SummedNetwork],
        tasks: tuple[str, ...],
        quantity: Quantity,
        *,
        is_raw: bool,
    ) -> None:
        super().__init__(tasks, quantity, is_raw=is_raw)
        self.regressors = nn.ModuleList(regressors)

    def every(self, batch: Batch) -> Tensor:
        outputs = [regressor(batch) for regressor in self.regressors]
        return self.positive(torch.stack(outputs, dim=1))


class GraphPool(Sequence[GraphTensors]):
    """Graphs of the auto-encoder, encoded on access, with a random batch from the graph's name.

    Args:
        labelled: graphs of the rows.
        unlabelled: graphs without rows. Those of model files are left out, as tested rows may be of
            these models.
        encoded: function that returns the features of a graph at a batch.
    """

    def __init__(
        self,
        labelled: Mapping[str, ModelGraph],
        unlabelled: Mapping[str, ModelGraph],
        encoded: Callable[[ModelGraph, float], GraphTensors],
    ) -> None:
        self.sources = [(labelled, n) for n in labelled]
        self.sources += [(unlabelled, n) for n in unlabelled if not n.startswith(FILE + SEPARATOR)]
        self.encoded = encoded

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: int) -> GraphTensors:  # type: ignore[override]
        graphs, name = self.sources[index]
        return self.encoded(graphs[name], float(random.Random(name).choice(BATCHES)))


class Trappm(SeveralQuantities):
    """TraPPM on ``V = E_GAE ⊕ E_GNN ⊕ F_s`` (Section 5.4.3).

    It is trained with Adam at 10⁻³ on squared errors, 100 epochs. The auto-encoder is trained on
    the graphs of training and validation rows and on the budget's unlabelled graphs; in the paper
    also on the graphs of tested rows. A faithful predictor has the features and the training of the
    authors' program (`onnx_profile`): numbers without logarithms, one graph per step.

    Variants are ``random``, whose encoder has its initial weights (Section 5.5.9),
    ``without-embedding``, which has no encoder, ``supervised``, whose encoder is trained only on
    graphs of rows, and ``scratch``, which learns a new machine from its rows alone (Table 5.5)
    where the others fine-tune the weights of known machines.

    Attributes:
        encoder: encoder of the auto-encoder, None before training and for ``without-embedding``.
    """

    name: ClassVar[str] = "trappm"
    title: ClassVar[str] = "TraPPM (Panner Selvam and Brorsson, NeurIPS 2023 workshop)"
    variants: ClassVar[tuple[str, ...]] = (RANDOM, WITHOUT, SUPERVISED, SCRATCH)
    hidden: ClassVar[int] = 512
    recipe: ClassVar[TrainRecipe] = TrainRecipe(epochs=100, learning_rate=1e-3, rows=1)
    ours: ClassVar[TrainRecipe] = recipe.annealed(patience=100)
    encoding = ENCODING
    raw_encoding: ClassVar[Encoding | None] = onnx_profile.ENCODING
    units: ClassVar[Mapping[Quantity, float]] = onnx_profile.UNITS
    layers = 2

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.encoder: GraphEncoder | None = None

    def quantities(self) -> tuple[Quantity, ...]:
        """Return step time, memory and power (Figure 5.8), and the requested quantity."""
        every = (Quantity.TIME, Quantity.MEMORY, Quantity.POWER)
        return every if self.quantity in every else (*every, self.quantity)

    def prepare(
        self, graphs: Mapping[str, ModelGraph], budget: TrainingBudget, say: Say
    ) -> TrainingBudget:
        """Train the auto-encoder, and return the budget for the regressors (phases 1 and 2).

        A finished encoder is stored in the folder of the budget, and read by a resumed training. An
        interrupted training of the encoder starts from the beginning.
        """
        if self.variant == WITHOUT:
            return budget
        start = clock_s()
        self.encoder = self.fresh_encoder()
        pool = self.pool(graphs, budget)
        checkpoint = (
            None if budget.folder is None else budget.folder / self._kept(pool, budget.seed)
        )
        if checkpoint is not None and checkpoint.is_file():
            self.encoder.load_state_dict(read_tensors(checkpoint))
        elif self.variant != RANDOM:
            if not budget.unlabelled and self.variant != SUPERVISED:
                say("no unlabelled graphs: `perfc data build graphs` draws them")
            limit_s = budget.limit_s * PRETRAINING_SHARE
            pretrain(
                self.encoder,
                pool,
                seed=budget.seed,
                limit_s=limit_s,
                say=say,
                is_faithful=self.is_faithful,
            )
        if checkpoint is not None and not checkpoint.is_file():
            write_tensors(checkpoint, self.encoder.state_dict())
        self.encoder.eval()
        return replace(budget, limit_s=budget.limit_s - (clock_s() - start))

    def pool(self, graphs: Mapping[str, ModelGraph], budget: TrainingBudget) -> GraphPool:
        """Return the graphs that the auto-encoder is trained on."""
        rest: Mapping[str, ModelGraph] = {}
        if budget.unlabelled is not None and self.variant != SUPERVISED:
            rest = StoredGraphs(budget.unlabelled)
        return GraphPool(graphs, rest, super().tensors)

    def _kept(self, pool: GraphPool, seed: int) -> str:
        """Return the name of the encoder's file, with a digest of graphs, seed, width and variant.

        A resumed training has the same name; a training with other graphs or another seed has not.
        The time limit is not in the digest.
        """
        names = sorted(name for _, name in pool.sources)
        digest = self.encoding.nodes.digest
        text = json.dumps([names, seed, self.width, self.variant, digest, AT_BATCH])
        return f"encoder-{hashlib.sha256(text.encode()).hexdigest()[:16]}.safetensors"

    def fresh_encoder(self) -> GraphEncoder:
        """Return an untrained encoder; that of the variant ``random`` has fixed weights."""
        encoder = GraphEncoder(len(self.encoding.nodes), self.width)
        return encoder.requires_grad_(self.variant != RANDOM)

    def tensors(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return a graph, with its embedding before its static features."""
        plain = super().tensors(graph, batch)
        if self.encoder is None or plain.u is None:
            return plain
        return replace(plain, u=torch.cat([self.embedding(plain), plain.u]))

    def plain_tensors(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return a graph without its embedding, as the encoder reads it."""
        return super().tensors(graph, batch)

    def embedding(self, graph: GraphTensors) -> Tensor:
        """Return ``E_GAE``, the sum over nodes, ``[width]``; divided by `PER` unless faithful."""
        encoder = self.encoder
        if encoder is None:
            raise PerfcError(f"{self.name} has no encoder", hint="it is not trained, or without")
        place = next(encoder.parameters()).device
        with torch.no_grad():
            total = encoder(graph.x.to(place), graph.edge_index.to(place)).sum(0).cpu()
        return total if self.is_faithful else total / PER

    def network(self) -> nn.Module:
        whole = len(STATIC) + (0 if self.variant == WITHOUT else self.width)
        regressors = [
            two_sage_layers(
                len(self.encoding.nodes), whole, self.width, is_faithful=self.is_faithful
            )
            for _ in self.tasks
        ]
        return TrappmNetwork(regressors, self.tasks, self.quantity, is_raw=self.is_raw)

    def modules(self) -> Mapping[str, nn.Module]:
        """Return the regressors and the encoder."""
        # weights are restored into this encoder
        if self.made is not None and self.encoder is None and self.variant != WITHOUT:
            self.encoder = self.fresh_encoder()
        encoder = {} if self.encoder is None else {"encoder": self.encoder}
        return {**super().modules(), **encoder}

    def adapt(self, few: Measurements) -> None:
        """Fine-tune the weights of other machines on rows of a new machine (Section 5.6.2).

        All layers of the regressors change, and the encoder does not. The number of epochs is
        fixed, as no rows are left for early stopping. The variant ``scratch`` starts from new
        weights.
        """
        if self.made is None or not len(few):
            return
        place = device()
        if self.variant == SCRATCH:
            seeded(0)
            self.made = self.network()
            epochs, rate = self.recipe.epochs, self.recipe.learning_rate
        else:
            epochs, rate = FINE_TUNING_PASSES, self.recipe.learning_rate / SLOWER
        batches = self.batches(few, {})
        # default recipe: gradients are not clipped, and products are not in bf16
        step = self.step(few, TrainRecipe(), 0)
        assert step is not None
        network = self.made.to(place)
        optimizer = torch.optim.Adam(network.parameters(), lr=rate)
        network.train()
        with one_thread():
            for _ in range(epochs):
                for batch in batches.epoch():
                    step(network, optimizer, batch.to(place))
        network.eval()


PREDICTOR = Trappm
