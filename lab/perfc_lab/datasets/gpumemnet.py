"""Memory and activity of a GPU while it trains MLPs, as GPUMemNet measured them.

Rows compare predictors alone, and no weights that ship learn from them: the source had no licence
before it became CC-BY-4.0. Its table has no times, no machine and no optimizer; the machine here,
an A100 with 40 GB, is that of its paper.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import nan
from pathlib import Path
from typing import ClassVar

from perfc.analyzers.features.rows import DataError
from perfc.analyzers.graph.dataset import GraphDataset
from perfc.analyzers.graph.encode import encode_module
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.ir.graph import Module

from ..tables import read_parquet
from .spaces.builder import NetworkBuilder

TABLE = "gpumemnet_mlp.parquet"
# training in f32; the version is a placeholder, as the source names none
SETTING = Setting(Precision.F32, version=(2, 0), training=True)
TARGET = "a100-sxm4-40gb"
MIB = 1 << 20
"""Bytes of the unit of memory in the table."""
MOST_LAYERS = 1_000
"""Maximum layers of an MLP, so that a damaged row does not build an endless graph."""
Layers = tuple[tuple[str, int], ...]
"""Kind and width of each layer, from the input on."""


class GpuMemNet(GraphDataset):
    """One row per network: peak of GPU memory, and mean share of multiprocessors with work."""

    name: ClassVar[str] = "gpumemnet"
    title: ClassVar[str] = "memory and activity of a GPU that trains MLPs; for research alone"
    files: ClassVar[tuple[str, ...]] = (TABLE,)

    def rows(self, folder: Path) -> list[GraphRow]:
        """Return every network with a memory."""
        frame = read_parquet(folder / TABLE)
        names = ("arch", "inputs", "layers", "batch", "max_gpu_memory_mib", "sm_active")
        return [
            GraphRow(
                network_name(shape, inputs, layers),
                network_name(shape, inputs, layers),  # architecture: held out as a whole
                SETTING,
                TARGET,
                int(batch),
                nan,  # no time
                memory_bytes=MIB * float(memory_mib),
                sm_active=float(active),
            )
            for shape, inputs, layers, batch, memory_mib, active in zip(
                *(frame[n].tolist() for n in names), strict=True
            )
        ]

    def encode(self, graph: str, settings: Iterable[Setting], folder: Path) -> ModelGraph | None:
        """Return the network of a row."""
        by_name = networks(folder).get(graph)
        return None if by_name is None else encode_module(graph, network(*by_name), settings)


def network_name(shape: str, inputs: int, layers: str) -> str:
    """Return a network's name: the outline of its widths, which is its family, and a digest."""
    return f"{shape}-" + hashlib.sha256(f"{inputs} {layers}".encode()).hexdigest()[:12]


@lru_cache(4)
def networks(folder: Path) -> Mapping[str, tuple[int, str]]:
    """Return the width of the input and layers of every network by name."""
    frame = read_parquet(folder / TABLE)
    triples = zip(*(frame[n].tolist() for n in ("arch", "inputs", "layers")), strict=True)
    return {network_name(a, i, text): (int(i), str(text)) for a, i, text in triples}


def parse(text: str) -> Layers:
    """Return the layers as the table writes them, ``[('linear', 629, 792540), ('ReLU', 629, 0)]``.

    Raises:
        DataError: the text is no list of layers.

    >>> parse("[('linear', 629, 792540), ('ReLU', 629, 0)]")
    (('linear', 629), ('ReLU', 629))
    """
    try:
        # the third number is the layer's parameters, which follow from the widths
        layers = tuple((str(kind), int(width)) for kind, width, _ in ast.literal_eval(text))
    # deeply nested text exhausts the memory or the stack of the parser
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        layers = ()
    if not 0 < len(layers) <= MOST_LAYERS or any(width <= 0 for _, width in layers):
        raise DataError("no layers of an MLP", where=text[:120])
    return layers


def network(inputs: int, text: str) -> Module:
    """Return the network in the IR.

    Raises:
        DataError: a kind of layer that is not listed here.
    """
    b = NetworkBuilder("mlp", (inputs,))
    x = b.x
    for kind, width in parse(text):
        match kind.lower():
            case "linear":
                x = b.gemm(x, width)
            case "relu":
                x = b.relu(x)
            case "batchnorm" | "batch_norm" | "batchnorm1d":
                x = b.batch_norm(x)
            case "dropout":
                # no operator in the graph, which is that of a forward pass
                pass
            case _:
                raise DataError(f"no layer {kind!r} is known", where=text[:120])
    return b.module(x)
