"""Graphs of TpuGraphs: one ``.npz`` a program of XLA, with times of its configurations on a TPU v3.

Features are those of ``process_data/xla/featurizers.h`` and ``hlo_opcode.h``
(google-research-datasets/tpu_graphs, 7656680070c3): 140 numbers an instruction. Contracted extents
of products are not among them; they follow from the elements of both operands and the result.
"""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from perfc.analyzers.graph.model_graph import RANK
from perfc.analyzers.graph.rows import GraphRow
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.common.fitted import data_next_to

from ..source import FetchError
from .members import ReleaseMember
from .partial_graph import LARGEST, MOST_NUMBERS, Numbers, PartialGraph

_DATA = data_next_to(__file__)
# instructions of XLA by their number in the release, and the IR's names of them
OPCODES: dict[int, str] = dict(enumerate(_DATA["opcodes"], 1))
MNEMONICS: dict[str, str] = _DATA["mnemonics"]
# bits of an element by the place in the one-hot of types
ELEMENT_BITS = np.array(_DATA["element_bits"], np.float64)
WIDTH = 140
"""Features of an instruction."""
# columns of the one-hot of types, of extents and of the window
TYPES, EXTENTS, WINDOW = slice(2, 21), slice(21, 27), slice(37, 43)
ELEMENTS, IN_FEATURES, GROUPS, BFLOAT = 28, 99, 107, 15
"""Columns: product of extents, axis of a filter's input features, groups, whether bf16."""
# unit of times
NS = 1e-9
TARGET = "tpu-v3"


def tpu_graph(member: ReleaseMember) -> tuple[GraphRow, PartialGraph]:
    """Return a program and its time in the fastest configuration.

    Raises:
        FetchError: no such file, or too large.
    """
    x, opcodes, edges, times = arrays_of(member)
    count = len(opcodes)
    if x.shape != (count, WIDTH) or edges.shape[1:] != (2,) or not times.size:
        raise FetchError(f"nodes of {list(x.shape)}, not of {WIDTH} numbers", where=member.name)
    if edges.size and not 0 <= edges.min() <= edges.max() < count:
        raise FetchError("an edge to an instruction that is not there", where=member.name)
    names = [OPCODES.get(int(code), "other") for code in opcodes]
    # an edge leads from a reader to what it reads
    pairs = edges.astype(np.int64)[:, ::-1].T
    bits = x[:, TYPES] @ ELEMENT_BITS
    elements = np.where(bits > 0, x[:, ELEMENTS], 0.0)
    facts = {f"out_{i}": x[:, EXTENTS][:, i] for i in range(RANK)}
    facts |= {f"kernel_{s}": x[:, WINDOW][:, i] for i, s in enumerate("hw")}
    facts |= {"groups": x[:, GROUPS], "output_elements": elements, "bits": bits}
    facts["write_bytes"] = elements * bits / 8
    source, reader = pairs
    facts["read_bytes"] = np.bincount(reader, facts["write_bytes"][source], count)
    facts["mac"] = np.zeros(count)
    for i, name in enumerate(names):
        if name in ("convolution", "dot"):
            facts["mac"][i] = elements[i] * contracted(x, i, source[reader == i])
    tensors = {"nbytes": facts["write_bytes"][source]}
    precision = Precision.BF16 if x[:, BFLOAT].any() else Precision.F32
    # XLA has no version of PyTorch: its programs count as compiled by the first one that compiles
    setting = Setting(precision, compiled=True, version=(2, 0))
    # of layout/xla/random/train/NAME.npz the last four parts: the release has a NAME in several
    # folders
    graph = "-".join(PurePosixPath(member.name).with_suffix("").parts[-4:])
    row = GraphRow(
        graph=graph,
        architecture=member.stem,
        setting=setting,
        target=TARGET,
        batch=1,  # a program does not say which of its extents is the batch
        time_s=float(times.min()) * NS,
    )
    return row, PartialGraph(
        [MNEMONICS.get(n, n.replace("-", "_")) for n in names], facts, pairs, {}, tensors
    )


def contracted(x: Numbers, node: int, operands: NDArray[np.int64]) -> float:
    """Return the multiply-adds of an element of a product or a convolution.

    With M·K, K·N and M·N elements of operands and result, ``K = √(MK · KN / MN)``.
    """
    if len(operands) < 2:
        return 0.0
    left, right = (x[int(i)] for i in operands[:2])
    window = x[node, WINDOW]
    if window.any():
        axis = int(x[node, IN_FEATURES])
        features = right[EXTENTS][axis] if axis < RANK else 1.0
        return float(window[window > 0].prod() * max(features, 1.0))
    # leading extents that all three share are of batches, which both operands have
    extents = np.stack([left, right, x[node]])[:, EXTENTS]
    differs = (np.ptp(extents, axis=0) > 0) | (extents[0] == 0)
    axes = min(int(differs.argmax()), max(np.count_nonzero(extents[2]) - 2, 0))
    product = left[ELEMENTS] * right[ELEMENTS] / extents[0, :axes].prod()
    return float(math.sqrt(product / max(x[node, ELEMENTS], 1.0)))


def arrays_of(member: ReleaseMember) -> tuple[Numbers, ...]:
    """Return features, numbers of operations, edges, and times in nanoseconds.

    Raises:
        FetchError: no such archive, too large, or infinite or NaN numbers.
    """
    keys = ("node_feat", "node_opcode", "edge_index", "config_runtime")
    try:
        with zipfile.ZipFile(io.BytesIO(member.content)) as archive:
            sizes = [archive.getinfo(f"{key}.npy").file_size for key in keys]
        # bytes of numbers of 64 bits
        if sum(sizes) > 8 * MOST_NUMBERS:
            raise FetchError("more numbers than a program has", where=member.name)
        with np.load(io.BytesIO(member.content), allow_pickle=False) as arrays:
            result = tuple(np.asarray(arrays[key], np.float64) for key in keys)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise FetchError(f"no program of TpuGraphs: {error}", where=member.name) from None
    if any(a.size and not (np.isfinite(a).all() and abs(a).max() <= LARGEST) for a in result):
        raise FetchError("a number that is none", where=member.name)
    return result
