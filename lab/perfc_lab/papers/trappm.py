"""TraPPM: embeddings of an auto-encoder and of a supervised network, joined.

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
"""``[E_O, I, O, Mac, P, M]``, 98 + 6 + 6 + 1 + 1 + 1 = 113 numbers (Figure 5.1)."""
PRETRAINING_SHARE = 0.35
"""Share of the time for pretraining; the paper's took 25.6 hours against 1.3 hours a fold."""
FINE_TUNING_PASSES = 60
"""Passes over the rows of a second GPU, at a tenth of the learning rate; the thesis states
neither."""
# variants; the class says what each changes
RANDOM, WITHOUT, SUPERVISED, SCRATCH = "random", "without-embedding", "supervised", "scratch"
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Batches of unmeasured graphs, one drawn for each."""


def node_table(graph: ModelGraph, batch: float) -> Array:
    """Return ``[nodes, 113]``; memory is what an operator reads and writes, in bytes."""
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
    """A separate regressor for each quantity, on the same embedding (Section 5.4.3)."""

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
    """Graphs with and without rows, each encoded on access at a batch that its name draws.

    Args:
        labelled: graphs of the rows.
        unlabelled: graphs of a pool but model files, which tested rows may be of.
        encoded: features of a graph at a batch.
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
    """``V = E_GAE ⊕ E_GNN ⊕ F_s`` (Section 5.4.3); Adam at 10⁻³, squared error, 100 epochs.

    The auto-encoder sees the graphs of the rows trained on and validated with, and those of the
    budget's pool, which nobody measured; the paper's sees those of the tested rows too. Variants:
    ``random`` leaves it as it was initialised (Section 5.5.9), ``without-embedding`` leaves it out,
    ``supervised`` shows it the graphs of rows alone. ``scratch`` learns a new machine from its rows
    alone (Table 5.5), where the others go on from the weights of the machines they know. A faithful
    one reads and learns as the authors' program (`onnx_profile`): plain numbers, one graph at a
    time.
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
        """Train phase 1, the auto-encoder, on graphs alone; an interrupted training goes on."""
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
        # an interrupted phase 1 begins again; a finished one is read
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
        # phase 2, the regressors, has the rest of the time
        self.encoder.eval()
        return replace(budget, limit_s=budget.limit_s - (clock_s() - start))

    def pool(self, graphs: Mapping[str, ModelGraph], budget: TrainingBudget) -> GraphPool:
        """Return the graphs that the auto-encoder learns from."""
        rest: Mapping[str, ModelGraph] = {}
        if budget.unlabelled is not None and self.variant != SUPERVISED:
            rest = StoredGraphs(budget.unlabelled)
        return GraphPool(graphs, rest, super().tensors)

    def _kept(self, pool: GraphPool, seed: int) -> str:
        """Return the name of the encoder's file, with a digest of all that its weights depend on.

        A resumed training finds it again; one of other graphs or another seed does not.
        """
        names = sorted(name for _, name in pool.sources)
        digest = self.encoding.nodes.digest
        text = json.dumps([names, seed, self.width, self.variant, digest, AT_BATCH])
        return f"encoder-{hashlib.sha256(text.encode()).hexdigest()[:16]}.safetensors"

    def fresh_encoder(self) -> GraphEncoder:
        """Return an untrained encoder."""
        encoder = GraphEncoder(len(self.encoding.nodes), self.width)
        return encoder.requires_grad_(self.variant != RANDOM)

    def tensors(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return one graph, its embedding before its static features."""
        plain = super().tensors(graph, batch)
        if self.encoder is None or plain.u is None:
            return plain
        return replace(plain, u=torch.cat([self.embedding(plain), plain.u]))

    def plain_tensors(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return one graph as the encoder reads it."""
        return super().tensors(graph, batch)

    def embedding(self, graph: GraphTensors) -> Tensor:
        """Return ``E_GAE``, ``[width]``: the sum over operators; ours in hundreds of them."""
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
        # weights that are restored need an encoder to go into
        if self.made is not None and self.encoder is None and self.variant != WITHOUT:
            self.encoder = self.fresh_encoder()
        encoder = {} if self.encoder is None else {"encoder": self.encoder}
        return {**super().modules(), **encoder}

    def adapt(self, few: Measurements) -> None:
        """Fine-tune the weights of other machines on rows of a new one (Section 5.6.2).

        All layers of the regressors move, the encoder stays; a tenth of the learning rate, and a
        fixed number of passes, as nothing is left to stop by.
        """
        if self.made is None or not len(few):
            return
        place = device()
        if self.variant == SCRATCH:
            seeded(0)
            self.made = self.network()
        rate = self.recipe.learning_rate / (1 if self.variant == SCRATCH else 10)
        passes = self.recipe.epochs if self.variant == SCRATCH else FINE_TUNING_PASSES
        batches = self.batches(few, {})
        # the recipe of a step: neither clips nor shortens products
        recipe = TrainRecipe()
        step = self.step(few, recipe, 0)
        assert step is not None
        network = self.made.to(place)
        optimiser = torch.optim.Adam(network.parameters(), lr=rate)
        network.train()
        with one_thread():
            for _ in range(passes):
                for batch in batches.epoch():
                    step(network, optimiser, batch.to(place))
        network.eval()


PREDICTOR = Trappm
