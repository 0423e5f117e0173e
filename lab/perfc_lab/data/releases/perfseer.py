"""PerfSeer's data set: a pickled `networkx` graph and a text of labels of the same name.

The layout is that of the authors' README, ``features_define.py`` and ``example.py``
(upuuuuuu/PerfSeer, 029b50a0752f). They state no units: times are taken for milliseconds a sample
and memories for MiB, as a later re-implementation reads them; the size of a tensor fills both
our column of elements and that of bytes.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

import numpy as np

from perfc.analyzers.graph.rows import GraphRow
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.ir.record import record

from ..source import FetchError
from ..torch_file import pickled_value
from .members import ReleaseMember
from .partial_graph import MOST_NODES, MOST_NUMBERS, PartialGraph, numbers
from .torch_graphs import MIB, mnemonic

# the authors' machine
TARGET = "rtx3090"
# ways of running by the keys of a text of labels; PyTorch 2.0
SETTINGS = {
    "train": Setting(Precision.F32, version=(2, 0), training=True),
    "infer": Setting(Precision.F32, version=(2, 0)),
}
FIELDS = 7
"""Numbers of a label: time, mean use of multiprocessors, of memory, and mean bytes of memory; then
the highest of the last three."""
MOST_LABELS = 1 << 16
"""Maximum bytes of a text of labels, which has a few numbers."""
MOST_EDGES = 1 << 20
"""Maximum tensors of a network."""
MOST_OF_A_NAME = 40
"""Maximum characters of the kind of an operator."""
# our columns, each with the names that a convolution and a pool have for it
ARGUMENTS = {
    "kernel": ("conv_kernel_size", "pool_kernel_size"),
    "stride": ("conv_stride", "pool_stride"),
    "dilation": ("conv_dilation",),
    "pad": ("conv_padding", "pool_padding"),
}
# extents 1 to 3 of a tensor; extent 0 is the batch
EXTENTS = ("channels", "h", "w")


@record
class SeerGraph:
    """A network at one batch.

    Args:
        batch: images.
        graph: its operators.
    """

    batch: int
    graph: PartialGraph


def seer_graph(member: ReleaseMember) -> SeerGraph:
    """Return the network of a pickle; no class or function in it is made or called.

    Raises:
        FetchError: no such pickle, or nodes without features.
    """
    value = pickled_value(member.content, member.name, MOST_NUMBERS)
    if not isinstance(value, Mapping) or not isinstance(nodes := value.get("_node"), Mapping):
        raise FetchError("no graph of networkx", where=member.name)
    neighbors = as_mapping(value.get("_adj"))
    # mappings may be shared: their entries are counted before they are read
    if len(nodes) > MOST_NODES or sum(map(len, map(as_mapping, neighbors.values()))) > MOST_EDGES:
        raise FetchError("more operators or tensors than a network has", where=member.name)
    position = {key: i for i, key in enumerate(nodes)}
    features = [
        node.get("feature") if isinstance(node, Mapping) else None for node in nodes.values()
    ]
    if not all(isinstance(feature, Mapping) for feature in features):
        raise FetchError("a node without features", where=member.name)
    edges = [
        (position[source], position[target])
        for source, targets in neighbors.items()
        for target in as_mapping(targets)
        if source in position and target in position
    ]
    pairs = np.array(edges, np.int64).reshape(-1, 2).T
    columns = [facts_of(as_mapping(feature)) for feature in features]
    facts = {
        name: numbers([column[name] for column in columns], member.name)
        for name in (columns[0] if columns else ())
    }
    # operators may lose the batch axis, but none has a larger one
    batch = max((int(b) for b in facts.get("in_0", np.zeros(1))), default=0)
    if batch < 1:
        raise FetchError("no batch", where=member.name)
    # a tensor is the result of the operator that an edge starts at
    sizes = ("output_elements", "out_0", "out_1", "out_2", "out_3")
    carried = ("nbytes", "extent_0", "extent_1", "extent_2", "extent_3")
    tensors = {name: facts[size][pairs[0]] for name, size in zip(carried, sizes, strict=True)}
    kinds = [as_mapping(feature).get("type") for feature in features]
    ops = [mnemonic(kind[:MOST_OF_A_NAME]) if isinstance(kind, str) else "other" for kind in kinds]
    whole = {"parameters": float(facts["weight_elements"].sum())}
    return SeerGraph(batch, PartialGraph(ops, facts, pairs, whole, tensors))


def facts_of(feature: Mapping[object, object]) -> dict[str, float]:
    """Return the columns of a node: hyper-parameters, FLOP, bytes and extents."""
    arguments, memory = as_mapping(feature.get("args")), as_mapping(feature.get("memory_info"))
    columns = {"groups": amount(arguments.get("conv_groups"))}
    for name, keys in ARGUMENTS.items():
        # a node has a size under at most one of the names
        sides = next((s for key in keys if (s := sides_of(arguments.get(key))) != (0, 0)), (0, 0))
        # the release has the padding of one side, our table the sum of both
        twice = 2 if name == "pad" else 1
        columns |= {f"{name}_h": twice * sides[0], f"{name}_w": twice * sides[1]}
    bias = amount(arguments.get("conv_bias")) + amount(arguments.get("linear_bias"))
    columns |= {
        "has_bias": float(bias > 0),
        "weight_0": amount(arguments.get("linear_out_features")),
        "weight_1": amount(arguments.get("linear_in_features")),
        "mac": amount(feature.get("flops")) / 2,  # a multiply-accumulate is two
        "read_bytes": amount(memory.get("bytes")),
        "weight_elements": amount(memory.get("weight_size")),
        "input_elements": amount(memory.get("input_size")),
        "output_elements": amount(memory.get("output_size")),
        "in_0": amount(memory.get("batch_size")),
        "out_0": amount(memory.get("batch_size")),
    }
    for side, short in (("input", "in"), ("output", "out")):
        columns |= {
            f"{short}_{i}": amount(memory.get(f"{side}_{extent}"))
            for i, extent in enumerate(EXTENTS, 1)
        }
    return columns


def as_mapping(value: object) -> Mapping[object, object]:
    """Return a mapping, or an empty one for what is none."""
    return value if isinstance(value, Mapping) else {}


def amount(value: object) -> float:
    """Return a number, which some fields hold as a text; 0 for what is none."""
    try:
        return float(value) if isinstance(value, str | int | float) else 0.0
    except ValueError:
        return 0.0


def sides_of(value: object) -> tuple[float, float]:
    """Return height and width of a size that is one number or a pair."""
    if isinstance(value, list) and value:
        return amount(value[0]), amount(value[-1])
    return amount(value), amount(value)


def seer_labels(member: ReleaseMember) -> dict[str, tuple[float, ...]]:
    """Return seven numbers each of a training step and of inference, by ``train`` and ``infer``.

    Raises:
        FetchError: no such text.
    """
    try:
        if len(member.content) > MOST_LABELS:
            raise ValueError("too long")
        # a mapping as Python prints it: literals alone, nothing is run
        tree = ast.literal_eval(member.content.decode("utf-8").strip())
        labels = {
            phase: tuple(float(part) for part in str(tree[phase]).split("|")) for phase in SETTINGS
        }
    except (ValueError, TypeError, KeyError, SyntaxError, MemoryError, RecursionError):
        raise FetchError("no labels of train and infer", where=member.name) from None
    for values in labels.values():
        if len(values) != FIELDS:
            raise FetchError(f"{len(values)} labels, not {FIELDS}", where=member.name)
        numbers(list(values), member.name)
    return labels


def seer_rows(
    name: str, batch: int, labels: Mapping[str, tuple[float, ...]]
) -> tuple[GraphRow, ...]:
    """Return a row of a training step and one of inference; times of a sample become a batch's."""
    return tuple(
        GraphRow(
            graph=name,
            architecture=name,
            setting=SETTINGS[phase],
            target=TARGET,
            batch=batch,
            time_s=batch * sample_ms / 1e3,
            memory_bytes=MIB * highest_mib,
            sm_active=mean_percent / 100,
        )
        for phase, (sample_ms, mean_percent, *_, highest_mib) in labels.items()
    )
