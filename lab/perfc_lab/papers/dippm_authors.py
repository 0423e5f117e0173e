"""DIPPM as its authors published it: their checkpoint, their features, their units.

Source: github.com/karthickai/dippm at 19be0ed14fe9, ``model.py`` and ``dippm.py``. Nodes are the
calls of a Relay program that have a stored argument, in order; their one-hot starts at 1, numbers
are raw, and each node sends to the next one. The network ends in -log(sigmoid(x)), in
microseconds, tenths of a joule and megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from perfc.analyzers.graph.model_graph import OP_FIXED, ModelGraph
from perfc.analyzers.graph.predictor import GraphPredictor
from perfc.analyzers.graph.rows import Measurements, Quantity
from perfc.analyzers.graph.weights import GraphCard
from perfc.errors import ParseError, PerfcError

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

CODES: Mapping[str, int] = {
    "conv": 1, "conv_transpose": 2, "dense": 3, "bias_add": 5, "layer_norm": 8, "add": 11,
    "mul": 13, "batch_norm": 0,
}  # fmt: skip
"""Place in the one-hot of operators that can have a stored argument; 0 for none of theirs."""
KINDS, ATTRIBUTES, SHAPE, STATIC = 16, 12, 4, 5
SCALES: Mapping[Quantity, float] = {
    Quantity.TIME: 1e-6, Quantity.ENERGY: 0.1, Quantity.MEMORY: 1e6,
}  # fmt: skip
"""Units of the outputs, in their order."""
TARGET = "a100-sxm4-40gb"
HIDDEN = 512


class AuthorsNetwork(nn.Module):
    """The authors' network with the names of their checkpoint (``model.py``)."""

    def __init__(self, hidden: int = HIDDEN) -> None:
        super().__init__()
        from torch_geometric.nn import GraphSAGE

        widths = (KINDS + ATTRIBUTES + SHAPE, hidden, hidden)
        for i, width in enumerate(widths, 1):
            made = GraphSAGE(width, hidden, num_layers=2, normalize=True)
            setattr(self, f"graph_conv_{i}", made)
        self.fc_1 = nn.Linear(hidden + STATIC, hidden)
        self.fc_2 = nn.Linear(hidden, hidden)
        self.fc_3 = nn.Linear(hidden, hidden)
        self.predictor = nn.Linear(hidden, len(SCALES))

    def forward(self, x: Tensor, edge_index: Tensor, static: Tensor) -> Tensor:
        """Return time, energy and memory, ``[3]``, in the authors' units."""
        for i in range(1, 4):
            x = torch.relu(getattr(self, f"graph_conv_{i}")(x, edge_index))
        out = torch.cat([x.sum(dim=0), static])
        for i in range(1, 4):
            out = torch.relu(getattr(self, f"fc_{i}")(out))
        return -nn.functional.logsigmoid(self.predictor(out))


def relay_nodes(graph: ModelGraph) -> Array:
    """Return the features of the nodes of the Relay program, ``[nodes, 32]``."""
    rows = [row for i in range(len(graph.ops)) for row in _calls(graph, i)]
    return np.array(rows, np.float64).reshape(len(rows), KINDS + ATTRIBUTES + SHAPE)


def _calls(graph: ModelGraph, i: int) -> Iterator[list[float]]:
    """Yield the calls of an operator that have a stored argument: its own, and its bias."""
    fact = {
        name: float(graph.ops.fixed[i, OP_FIXED.index(name)])
        for name in ("weights", "has_bias", "groups", "kernel_h", "kernel_w", "stride_h",
                     "stride_w", "dilation_h", "dilation_w", "pad_h", "pad_w", "weight_0",
                     "weight_1", "weight_2", "weight_3", "weight_elements")
    }  # fmt: skip
    if not fact["weights"]:
        return
    op = {"gemm": "dense", "matmul": "dense"}.get(graph.ops.ops[i], graph.ops.ops[i])
    shape = [fact[f"weight_{k}"] for k in range(SHAPE)]
    if op not in ("conv", "conv_transpose", "dense") and not any(shape):
        shape = [fact["weight_elements"] / fact["weights"], 0.0, 0.0, 0.0]
    attributes = [0.0] * ATTRIBUTES
    if op.startswith("conv"):
        pads = [fact[f"pad_{axis}"] // 2 for axis in "hw"]
        ends = [fact[f"pad_{axis}"] - start for axis, start in zip("hw", pads, strict=True)]
        attributes = [
            fact["stride_h"], fact["stride_w"], *pads, *ends, fact["dilation_h"],
            fact["dilation_w"], fact["groups"], fact["weight_0"], fact["kernel_h"],
            fact["kernel_w"],
        ]  # fmt: skip
    yield [*_one_hot(op), *attributes, *shape]
    if fact["has_bias"]:
        bias = "add" if op == "dense" else "bias_add"
        yield [*_one_hot(bias), *[0.0] * ATTRIBUTES, fact["weight_0"], 0.0, 0.0, 0.0]


def _one_hot(op: str) -> list[float]:
    place = CODES.get(op, 0)
    return [float(bool(place) and i == place) for i in range(KINDS)]


def static_features(graph: ModelGraph, batch: float) -> list[float]:
    """Return batch, GMACs, and the numbers of convolutions, dense products and ReLUs, ``[5]``."""
    ops = list(graph.ops.ops)
    stored = graph.ops.fixed[:, OP_FIXED.index("weights")] > 0
    dense = sum(op in ("gemm", "matmul") and has for op, has in zip(ops, stored, strict=True))
    giga_mac = float(graph.ops.at(batch)["mac"].sum()) / 1e9
    return [batch, giga_mac, float(ops.count("conv")), float(dense), float(ops.count("relu"))]


class DippmAuthors(GraphPredictor):
    """Predicts with weights that ``perfc train checkpoint`` read from the authors' file."""

    name: ClassVar[str] = "dippm-authors"
    title: ClassVar[str] = "DIPPM, its authors' checkpoint (Panner Selvam and Brorsson, 2023)"
    begins_from: ClassVar[str] = "perfc train checkpoint"

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.network: AuthorsNetwork | None = None

    def _every(self, data: Measurements) -> Array:
        """Return time, energy and memory of every row, ``[rows, 3]``, in SI units."""
        if self.network is None:
            raise PerfcError(f"{self.name} has no weights", hint="perfc train checkpoint FILE")
        values = np.zeros((len(data), len(SCALES)))
        for i, row in enumerate(data.rows):
            graph = data.graph(row)
            x = torch.from_numpy(relay_nodes(graph)).float()
            chain = torch.arange(max(len(x) - 1, 0))
            static = torch.tensor(static_features(graph, row.batch))
            with torch.no_grad():
                out = self.network(x, torch.stack([chain, chain + 1]), static)
            values[i] = out.numpy() * np.array(list(SCALES.values()))
        return values

    def predict(self, data: Measurements) -> Array:
        """Return the quantity of every row."""
        column: Array = self._every(data)[:, list(SCALES).index(self.quantity)]
        return column

    def other_quantities(self, data: Measurements) -> Mapping[Quantity, Array]:
        """Return the outputs other than ``quantity``."""
        values = self._every(data)
        return {q: values[:, i] for i, q in enumerate(SCALES) if q is not self.quantity}

    def arrays(self) -> Mapping[str, Array]:
        """Return the weights by the authors' names."""
        if self.network is None:
            return {}
        return {name: tensor.numpy() for name, tensor in self.network.state_dict().items()}

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
        """Take weights by the authors' names.

        Raises:
            ParseError: names or shapes of another network.
        """
        del meta
        try:
            network = AuthorsNetwork(int(arrays["fc_2.weight"].shape[0]))
            network.load_state_dict({n: torch.tensor(a).float() for n, a in arrays.items()})
        except (KeyError, RuntimeError, IndexError) as error:
            raise ParseError(f"not the layout of DIPPM: {str(error)[:120]}") from None
        self.network = network.eval()


def read_checkpoint(path: Path) -> tuple[DippmAuthors, GraphCard]:
    """Return the predictor of a checkpoint of PyTorch Lightning, and its card.

    The file is read with ``weights_only``, which runs no code of it.

    Raises:
        ParseError: no checkpoint, or of another layout.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        state = content.get("state_dict", content)
        arrays = {str(name): tensor.numpy() for name, tensor in state.items()}
    except Exception as error:
        kind = type(error).__name__
        what = f"no checkpoint that PyTorch reads with weights_only ({kind})"
        raise ParseError(what, where=str(path)) from None
    made = DippmAuthors()
    try:
        made.restore(arrays, {})
    except ParseError as error:
        error.where = str(path)
        raise
    card = GraphCard(
        made.name.replace("-", "_"), made.title, made.quantity.value, "dippm", "", "the authors'",
        (TARGET,), ("eager",), 0, 0, 1 << 20, made.factor,
        runs=((TARGET, "f32", "eager", "torch 1.13"),),
    )  # fmt: skip
    return made, card


PREDICTOR = DippmAuthors
