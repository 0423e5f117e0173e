"""TraPPM: an auto-encoder's embedding beside a supervised one.

Panner Selvam and Brorsson, Machine Learning for Systems at NeurIPS 2023; thesis, Chapter 5.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from math import log2
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import nn

from ..graph.model_graph import ModelGraph
from ..graph.predictor import Budget, Say
from ..graph.rows import Measurements, Quantity
from ..graph.schema import Schema
from .graph_autoencoder import GraphEncoder, pretrain
from .networks.batches import GraphTensors
from .networks.network_predictor import NetworkPredictor, squared
from .networks.node_features import OTHER, Encoding, indicators, logs, one_hot
from .networks.summed import PER
from .networks.tensors import read_tensors, write_tensors
from .networks.train import Loss, TrainRecipe
from .nnlqp import two_sage_layers

if TYPE_CHECKING:
    from ..features.classes import Array

VOCABULARY = (
    "abs", "add", "and", "argmax", "argmin", "attention", "average_pool", "batch_norm", "cast",
    "ceil", "celu", "clip", "col2im", "concat", "constant", "constant_of_shape", "conv",
    "conv_integer", "conv_transpose", "cos", "cumsum", "deform_conv", "depth_to_space",
    "dequantize_linear", "div", "einsum", "elu", "equal", "erf", "exp", "expand", "flatten",
    "floor", "gather", "gather_elements", "gather_nd", "gelu", "gemm", "global_average_pool",
    "global_max_pool", "greater", "grid_sample", "group_norm", "gru", "hard_sigmoid", "hard_swish",
    "hardmax", "identity", "instance_norm", "layer_norm", "leaky_relu", "less", "log",
    "log_softmax", "lrn", "lstm", "matmul", "matmul_integer", "max", "max_pool", "mean", "min",
    "mish", "mul", "neg", "non_zero", "not", "one_hot", "pad", "pow", "prelu", "qlinear_conv",
    "qlinear_matmul", "quantize_linear", "range", "reciprocal", "reduce_l2", "reduce_max",
    "reduce_mean", "reduce_sum", "relu", "reshape", "resize", "rms_norm", "scatter_nd", "sigmoid",
    "sin", "slice", "softmax", "softplus", "split", "sqrt", "squeeze", "sub", "tanh", "transpose",
    "unsqueeze", OTHER,
)  # fmt: skip
"""|O| = 98, of our operators."""
SHAPES = (*(f"in_{i}" for i in range(6)), *(f"out_{i}" for i in range(6)))
NODES = Schema("TraPPM nodes", (*indicators(VOCABULARY), *SHAPES, "mac", "parameters", "memory"))
"""``[E_O, I, O, Mac, P, M]``, 98 + 6 + 6 + 1 + 1 + 1 = 113 numbers (Figure 5.1)."""
STATIC = Schema("TraPPM static", ("batch", "nodes", "edges", "mac", "parameters", "memory"))
"""``F_s`` of Section 5.4.3."""
PRETRAINING_SHARE = 0.35
"""Of the time; the paper's took 25.6 hours against 1.3 hours a fold."""
FINE_TUNING_PASSES = 60
RANDOM, WITHOUT = "random", "without-embedding"


def node_table(graph: ModelGraph, batch: float) -> Array:
    """``[nodes, 113]``; memory is what an operator reads and writes, in bytes."""
    facts = graph.ops.at(batch)
    memory = facts["read_bytes"] + facts["write_bytes"]
    counts = {"mac": facts["mac"], "parameters": facts["weight_elements"], "memory": memory}
    return np.concatenate(
        [one_hot(graph.ops.ops, VOCABULARY), logs(facts, SHAPES), logs(counts, counts)], axis=1
    )


def static_features(graph: ModelGraph, batch: float) -> list[float]:
    """``[6]``, by their logarithm."""
    facts = graph.ops.at(batch)
    memory = float((facts["read_bytes"] + facts["write_bytes"]).sum())
    numbers = (
        batch, len(graph.ops), graph.ops.edges.shape[1], float(facts["mac"].sum()),
        graph.ops.whole_at(batch)["parameters"], memory,
    )  # fmt: skip
    return [log2(1 + n) for n in numbers]


class Trappm(NetworkPredictor):
    """``V = E_GAE ⊕ E_GNN ⊕ F_s`` (Section 5.4.3); Adam at 10⁻³, squared error, 100 epochs.

    The auto-encoder sees the graphs of the rows trained on and validated with, no label; the
    paper's sees those of the tested rows too. Variants: ``random`` leaves it as it was initialised
    (Section 5.5.9), ``without-embedding`` leaves it out.
    """

    name: ClassVar[str] = "trappm"
    title: ClassVar[str] = "TraPPM (Panner Selvam and Brorsson, NeurIPS 2023 workshop)"
    variants: ClassVar[tuple[str, ...]] = (RANDOM, WITHOUT)
    hidden: ClassVar[int] = 512
    recipe: ClassVar[TrainRecipe] = TrainRecipe(
        epochs=100, learning_rate=1e-3, patience=100, has_short_products=True
    )
    loss: ClassVar[Loss] = staticmethod(squared)
    encoding = Encoding(NODES, node_table, STATIC, static_features)
    layers = 2

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.encoder: GraphEncoder | None = None

    def prepare(self, graphs: Mapping[str, ModelGraph], budget: Budget, say: Say) -> Budget:
        """Phase 1: the auto-encoder, on graphs alone; that of an interrupted training is kept."""
        if self.variant == WITHOUT:
            return budget
        start = time.perf_counter()
        self.encoder = self.fresh_encoder()
        kept = None if budget.folder is None else budget.folder / self._kept(graphs, budget.seed)
        if kept is not None and kept.is_file():
            self.encoder.load_state_dict(read_tensors(kept))
        elif self.variant != RANDOM:
            pretrain(
                self.encoder,
                [super(Trappm, self).tensors(g, 1.0) for g in graphs.values()],
                seed=budget.seed,
                limit_s=budget.limit_s * PRETRAINING_SHARE,
                say=say,
            )
        if kept is not None and not kept.is_file():
            write_tensors(kept, self.encoder.state_dict())
        self.encoder.eval()
        return replace(budget, limit_s=budget.limit_s - (time.perf_counter() - start))

    def _kept(self, graphs: Mapping[str, ModelGraph], seed: int) -> str:
        text = json.dumps([sorted(graphs), seed, self.width, self.variant, NODES.digest])
        return f"encoder-{hashlib.sha256(text.encode()).hexdigest()[:16]}.safetensors"

    def fresh_encoder(self) -> GraphEncoder:
        """As it is initialised."""
        return (
            GraphEncoder(len(NODES), self.width)
            .requires_grad_(False)
            .requires_grad_(self.variant != RANDOM)
        )

    def tensors(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """One graph, its embedding before its static features."""
        plain = super().tensors(graph, batch)
        if self.encoder is None or plain.u is None:
            return plain
        with torch.no_grad():
            embedding = self.encoder(plain.x, plain.edge_index).sum(0) / PER
        return replace(plain, u=torch.cat([embedding, plain.u]))

    def network(self) -> nn.Module:
        whole = len(STATIC) + (0 if self.variant == WITHOUT else self.width)
        return two_sage_layers(len(NODES), whole, self.width)

    def modules(self) -> Mapping[str, nn.Module]:
        """The regressor and the encoder."""
        if self.made is not None and self.encoder is None and self.variant != WITHOUT:
            self.encoder = self.fresh_encoder()
        encoder = {} if self.encoder is None else {"encoder": self.encoder}
        return {**super().modules(), **encoder}

    def adapt(self, few: Measurements) -> None:
        """Fine-tune on rows of a new machine from the weights of the others (Section 5.6.2).

        All layers of the regressor move, the encoder stays; a tenth of the learning rate, and a
        fixed number of passes, as nothing is left to stop by.
        """
        if self.made is None or not len(few):
            return
        batches = self.batches(few, {})
        optimiser = torch.optim.Adam(self.made.parameters(), lr=self.recipe.learning_rate / 10)
        self.made.train()
        for _ in range(FINE_TUNING_PASSES):
            for batch in batches.epoch():
                optimiser.zero_grad(set_to_none=True)
                squared(self.made, batch).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        self.made.eval()


PREDICTOR = Trappm
