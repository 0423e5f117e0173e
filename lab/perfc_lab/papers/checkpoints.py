"""Read the checkpoints of the authors of DIPPM and TraPPM into networks of this folder.

`perfc train checkpoint` calls `read_checkpoint`. It gives the tensors the names of perfc's
networks, and the columns of the first dense layer their order.

Layouts are those of karthickai/dippm at 19be0ed14fe9 (``model.py``) and karthickai/trappm at
d96cbf519875 (``trappm/model.py``, ``trappm/predictor.py``). PerfSeer's authors publish data
(upuuuuuu/PerfSeer) but no network, so that there is no checkpoint of theirs to read.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from perfc.analyzers.features.classes import Array
from perfc.analyzers.graph.predictor import GraphPredictor
from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.graph.weights import MAX_ARRAYS_BYTES, GraphCard
from perfc.errors import ParseError
from perfc.ir.record import frozen

from . import onnx_profile, relay
from .dippm_authors import DippmAuthors
from .networks.from_checkpoint import FromCheckpoint
from .networks.row_features import ROW
from .trappm_authors import TrappmAuthors

MOST_BYTES = 1 << 29
"""Maximum bytes of a checkpoint; Lightning's also have the state of the optimizer."""
MOST_NUMBERS = MAX_ARRAYS_BYTES // 4
"""Maximum weights of a network, which are stored as float32, 4 bytes each."""
TARGET = "a100-sxm4-40gb"
"""Machine that both networks were trained for."""


@frozen
class CheckpointLayout:
    """Names of the tensors in a kind of checkpoint.

    Args:
        title: name of the network.
        names: prefix of names in perfc by prefix in the checkpoint, which has all of these prefixes
            and no others.
    """

    title: str
    names: Mapping[str, str]

    def renamed(self, state: Mapping[str, Array]) -> dict[str, Array] | None:
        """Return the tensors of a checkpoint by their names in perfc; None for another layout."""
        result: dict[str, Array] = {}
        seen: set[str] = set()
        for name, array in state.items():
            prefix = next((p for p in self.names if name.startswith(p)), None)
            if prefix is None:
                return None
            seen.add(prefix)
            result[self.names[prefix] + name.removeprefix(prefix)] = array
        return result if seen == self.names.keys() else None


def dense(count: int) -> dict[str, str]:
    """Return the names of ``count`` fully connected layers and of a last one."""
    # perfc counts ReLU and dropout after a layer as layers: every third has weights
    layers = {f"fc_{i + 1}.": f"head.{3 * i}." for i in range(count)}
    return {**layers, "predictor.": f"head.{3 * count}."}


DIPPM = CheckpointLayout(
    "DIPPM",
    {f"graph_conv_{i + 1}.convs.{j}.": f"blocks.{2 * i + j}." for i in range(3) for j in range(2)}
    | dense(3),
)
ENCODER = CheckpointLayout(
    "TraPPM's auto-encoder",
    {f"encoder.conv{i + 1}.": f"layers.{i}." for i in range(4)}
    | {f"encoder.bn{i + 1}.": f"norms.{i}." for i in range(4)},
)
REGRESSOR = CheckpointLayout(
    "TraPPM's regressor",
    {f"graph_conv_{i + 1}.": f"blocks.{i}." for i in range(2)} | dense(2),
)
LAYOUTS = (DIPPM, ENCODER, REGRESSOR)
LABELS = {
    "Train_Step_Time": Quantity.TIME,
    "Train_Gpu_Memory_Mb": Quantity.MEMORY,
    "Train_Gpu_Power_W": Quantity.POWER,
}
"""Quantity of a regressor of TraPPM by the end of its file's name."""
# names of files in the authors' repository, for hints
EXAMPLE = "autoenc_343.pth fold_1_Train_Step_Time.pth"
Named = tuple[Path, CheckpointLayout, dict[str, "Array"]]
"""A file, its layout, and its tensors by their names in perfc."""


def state_of(path: Path) -> dict[str, Array]:
    """Return the tensors of a checkpoint by name.

    The file is read with ``weights_only``, which runs no code of it.

    Raises:
        ParseError: the file is no checkpoint, or larger than those of the authors.
    """
    try:
        # sizes are read from the directory of the archive before anything is unpacked
        with zipfile.ZipFile(path) as archive:
            is_large = sum(info.file_size for info in archive.infolist()) > MOST_BYTES
        content = {} if is_large else torch.load(path, map_location="cpu", weights_only=True)
        state = content.get("state_dict", content)
        is_large |= sum(tensor.numel() for tensor in state.values()) > MOST_NUMBERS
        arrays = {} if is_large else {str(n): t.float().numpy() for n, t in state.items()}
    except Exception as error:
        what = f"no checkpoint that PyTorch reads with weights_only ({type(error).__name__})"
        raise ParseError(what, where=str(path)) from None
    if is_large:
        raise ParseError("more numbers than the authors' networks have", where=str(path))
    return arrays


def named(path: Path) -> Named:
    """Return a checkpoint with its layout, and its tensors by their names in perfc.

    Raises:
        ParseError: as `state_of`, or the layout is unknown.
    """
    state = state_of(path)
    for layout in LAYOUTS:
        renamed = layout.renamed(state)
        if renamed is not None:
            return path, layout, renamed
    known = ", ".join(layout.title for layout in LAYOUTS)
    hint = "PerfSeer's authors publish no network, so that no layout of it is known"
    raise ParseError(f"not the layout of {known}", where=str(path), hint=hint)


def read_checkpoint(paths: Sequence[Path]) -> tuple[GraphPredictor, GraphCard]:
    """Return the predictor of the authors' checkpoints, and its card.

    Args:
        paths: one file of DIPPM, or TraPPM's auto-encoder and a regressor for each quantity.

    Raises:
        ParseError: a file is no checkpoint or has no known layout, or files do not belong together.
    """
    files = [named(path) for path in paths]
    match [layout for _, layout, _ in files]:
        case [layout] if layout is DIPPM:
            ((_, _, state),) = files
            return built(DippmAuthors, paths, lambda: dippm(state), tuple(relay.UNITS))
    encoders = [state for _, layout, state in files if layout is ENCODER]
    regressors = [(path, state) for path, layout, state in files if layout is REGRESSOR]
    if len(encoders) != 1 or len(encoders) + len(regressors) != len(files) or not regressors:
        hint = f"one file of DIPPM, or those of TraPPM: {EXAMPLE}"
        where = ", ".join(map(str, paths))
        raise ParseError("not one network", where=where, hint=hint)
    states = {quantity_of(path): state for path, state in regressors}
    if len(states) < len(regressors):
        raise ParseError("two regressors of a quantity", where=str(regressors[-1][0]))
    quantities = tuple(q for q in LABELS.values() if q in states)
    return built(TrappmAuthors, paths, lambda: trappm(encoders[0], states), quantities)


def quantity_of(path: Path) -> Quantity:
    """Return the quantity that the name of a regressor's file ends in.

    Raises:
        ParseError: the name ends in none of `LABELS`.
    """
    for label, quantity in LABELS.items():
        if path.stem.endswith(label):
            return quantity
    hint = f"names end in {', '.join(LABELS)}, as the authors' do"
    raise ParseError("the file's name states no quantity", where=str(path), hint=hint)


def built(
    make: type[FromCheckpoint],
    paths: Sequence[Path],
    arrays: Callable[[], dict[str, Array]],
    quantities: tuple[Quantity, ...],
) -> tuple[GraphPredictor, GraphCard]:
    """Return the predictor with some weights, and its card.

    Args:
        make: class of the predictor.
        paths: files of the weights, for messages.
        arrays: returns the weights by their names in perfc; errors in it are those of the files.
        quantities: quantities that the network predicts.

    Raises:
        ParseError: weights have other shapes.
    """
    network = make("", quantities[0])
    where = ", ".join(map(str, paths))
    try:
        weights = arrays()
        network.restore(weights, meta_of(network, weights, quantities))
    except (KeyError, RuntimeError, IndexError, ValueError) as error:
        what = f"weights of other shapes: {str(error).splitlines()[-1].strip()[:120]}"
        raise ParseError(what, where=where) from None
    card = GraphCard(
        network.name.replace("-", "_"),
        network.title,
        network.quantity.value,
        network.name.partition("-")[0],
        "",  # no digest, as the authors' rows are no data set of perfc
        "the authors'",
        (TARGET,),
        (network.mode,),
        0,  # number of training rows, which is unknown
        0,  # number of their architectures
        1 << 20,  # operators of the largest graph, so many that no graph counts as larger
        network.factor,
        meta=network.meta(),
        runs=((TARGET, "f32", network.mode, network.framework),),
    )
    return network, card


def meta_of(
    made: FromCheckpoint, weights: Mapping[str, Array], quantities: tuple[Quantity, ...]
) -> dict[str, Any]:
    """Return the entries of a card for a faithful network with its authors' weights."""
    made.choose(is_faithful=True)
    (width,) = {len(a) for name, a in weights.items() if name.endswith("head.3.bias")}
    units = {q.value: [made.units[q]] for q in quantities}
    return {
        "schemas": made.digests(),
        "width": width,
        "is_faithful": True,
        "scale": units[made.quantity.value],
        "scales": units,
        "tasks": sorted(q.value for q in quantities),
    }


def dippm(state: Mapping[str, Array]) -> dict[str, Array]:
    """Return the weights of `DippmAuthors` from those of a checkpoint.

    Raises:
        ValueError: they have other shapes.
    """
    width = square(state["head.3.weight"])
    # columns: the checkpoint has the graph's embedding before its static features, perfc after them
    head = reordered(state["head.0.weight"], (width, len(relay.STATIC)), (1, 0))
    # outputs: the checkpoint has the order of `relay.UNITS`, perfc that of the quantities' names
    order = [list(relay.UNITS).index(q) for q in sorted(relay.UNITS, key=lambda q: q.value)]
    last = {name: state[name][order] for name in ("head.9.weight", "head.9.bias")}
    network = {**state, "head.0.weight": head, **last}
    return {**under("network.summed.", network), **UNREAD}


def trappm(
    encoder: Mapping[str, Array], states: Mapping[Quantity, Mapping[str, Array]]
) -> dict[str, Array]:
    """Return the weights of `TrappmAuthors` from those of an auto-encoder and of regressors.

    Raises:
        ValueError: they have other shapes.
    """
    arrays = {**under("encoder.", encoder), **UNREAD}
    for i, quantity in enumerate(sorted(states, key=lambda q: q.value)):
        state = states[quantity]
        width = square(state["head.3.weight"])
        # blocks of columns: two embeddings, then static features; perfc has the first embedding
        # last
        parts = (width, width, len(onnx_profile.STATIC))
        head = reordered(state["head.0.weight"], parts, (1, 2, 0))
        arrays |= under(f"network.regressors.{i}.", {**state, "head.0.weight": head})
    return arrays


UNREAD: Mapping[str, Array] = {
    "standard.row.mean": np.zeros(len(ROW), np.float32),
    "standard.row.deviation": np.full(len(ROW), np.inf, np.float32),
}
"""Mean and deviation of the features of a row, as machine and mode. The authors' networks do not
read these: divided by infinity they are 0."""


def square(weight: Array) -> int:
    """Return the width of a layer whose input and output are equally wide.

    It limits the size of the network that is built for a file.

    Raises:
        ValueError: they are not.
    """
    width = len(weight)
    if weight.shape != (width, width):
        raise ValueError(f"a layer of {list(weight.shape)}")
    return width


def reordered(weight: Array, parts: Sequence[int], order: Iterable[int]) -> Array:
    """Return the weight of a layer with its blocks of columns reordered, and zeros for a row.

    Args:
        weight: weight of a layer in a checkpoint.
        parts: columns of each of its blocks.
        order: positions of the blocks in their new order.

    Raises:
        ValueError: the layer has another number of columns.
    """
    if weight.ndim != 2 or weight.shape[1] != sum(parts):
        raise ValueError(f"a layer of {list(weight.shape)}, not of {sum(parts)} columns")
    pieces = np.split(weight, np.cumsum(parts)[:-1], axis=1)
    unread = np.zeros((len(weight), len(ROW)), weight.dtype)
    return np.concatenate([*(pieces[i] for i in order), unread], axis=1)


def under(prefix: str, state: Mapping[str, Array]) -> dict[str, Array]:
    """Return arrays with a prefix before their names."""
    return {prefix + name: array for name, array in state.items()}
