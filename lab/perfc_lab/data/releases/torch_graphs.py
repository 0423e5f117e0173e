"""Graphs of DIPPM and TraPPM: one file of `torch.save` a network, a `torch_geometric` ``Data``.

Layouts are those that the authors' programs write and read: ``dippm.py`` and ``train.py`` of
karthickai/dippm (19be0ed14fe9), ``trappm/features.py`` and ``experiments/ppm_dataset.py`` of
karthickai/trappm (d96cbf519875, f17991bf7866).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from perfc.analyzers.graph.rows import GraphRow
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.common.fitted import data_next_to

from ..source import FetchError
from ..torch_file import torch_value
from .members import ReleaseMember
from .partial_graph import MOST_NUMBERS, Numbers, PartialGraph, edge_table, numbers

_DATA = data_next_to(__file__)
DIPPM_OPS: list[str] = _DATA["dippm_ops"]
"""Operators by the place of the 1 in a one-hot. The authors' program counts them from 1, so that
place 0 stands for no operator."""
# twelve columns of a node after the one-hot
DIPPM_ATTRIBUTES: list[str] = _DATA["dippm_attributes"]
TRAPPM_OPS: list[str] = _DATA["trappm_ops"]
"""98 operators of ONNX in the order of the one-hot."""
# the IR's names of operators whose names follow no rule
MNEMONICS: dict[str, str] = _DATA["mnemonics"]
# ways of running of each release, with the version of PyTorch
DIPPM_SETTING = Setting(Precision.F32, version=(1, 13))
TRAPPM_SETTING = Setting(Precision.F32, version=(2, 0), training=True)
# machines of TraPPM's release; DIPPM measured on the first only
A100, V100 = "a100-sxm4-40gb", "v100-sxm2-16gb"
MB = 1e6
"""Unit of memory in labels of DIPPM."""
MIB = 1 << 20
"""Unit of memory in labels of TraPPM."""


def torch_graph(member: ReleaseMember) -> tuple[str, GraphRow, PartialGraph]:
    """Return data set, row and graph of a file; the width of its nodes says which release it is of.

    Raises:
        FetchError: the file has no such graph, nodes of another width, or no labels.
    """
    value = torch_value(member.content, member.name, MOST_NUMBERS)
    # newer versions of torch_geometric hold the tensors of a ``Data`` two levels deeper
    for key in ("_store", "_mapping"):
        value = value.get(key, value) if isinstance(value, Mapping) else value
    if not isinstance(value, Mapping) or not {"x", "edge_index", "static", "y"} <= set(value):
        raise FetchError("no graph with x, edge_index, static and y", where=member.name)
    x = numbers(value["x"], member.name)
    edges = edge_table(value["edge_index"], member.name)
    static, y = (numbers(value[key], member.name).reshape(-1) for key in ("static", "y"))
    # columns of a node in DIPPM's release, and in TraPPM's
    match x.shape:
        case (_, 32):
            row, graph = dippm(member, x, edges, static, y)
            return "dippm", row, graph
        case (_, 113):
            row, graph = trappm(member, x, edges, static, y)
            return "trappm", row, graph
    raise FetchError(f"nodes of {list(x.shape)}, not of 32 or 113 numbers", where=member.name)


def dippm(
    member: ReleaseMember, x: Numbers, edges: NDArray[np.int64], static: Numbers, y: Numbers
) -> tuple[GraphRow, PartialGraph]:
    """Return a network of DIPPM: operators that read a parameter, and totals of the network.

    The four extents are those of the parameter. MACs are known of the network alone: products
    have equal parts of them. Labels are milliseconds, joules and MB; ``static`` begins with the
    batch and 10⁹ MACs.
    """
    if len(static) != 5 or len(y) != 3 or not static[0] >= 1:
        raise FetchError("no batch and MACs, or other than three labels", where=member.name)
    batch, giga_macs, *_ = static
    time_ms, energy_j, memory_mb = y
    places = x[:, :16].argmax(1)
    named = x[:, :16].max(1) > 0  # zeros alone: an operator outside of the list
    ops = [
        (DIPPM_OPS[i] if is_named else "") or "other"
        for i, is_named in zip(places.tolist(), named, strict=True)
    ]
    # columns: 16 of the one-hot, 12 attributes, 4 extents of the parameter
    facts = dict(zip(DIPPM_ATTRIBUTES, x[:, 16:28].T, strict=True))
    # our columns have the sum of both sides
    facts["pad_h"] = facts.pop("pad_top") + facts.pop("pad_bottom")
    facts["pad_w"] = facts.pop("pad_left") + facts.pop("pad_right")
    facts["out_1"] = facts.pop("channels")
    facts |= {f"weight_{i}": x[:, 28 + i] for i in range(4)}
    facts["weights"] = np.ones(len(x))  # each operator reads one parameter
    facts["weight_elements"] = np.where(x[:, 28:] > 0, x[:, 28:], 1.0).prod(1)
    products = np.array([op in ("conv", "conv_transpose", "gemm", "matmul") for op in ops])
    # without a product all operators share the MACs, so that none are lost
    products = products if products.any() else np.ones(len(x), bool)
    facts["mac"] = products * (1e9 * giga_macs / products.sum())
    row = GraphRow(
        graph=member.stem,
        architecture=member.stem,
        setting=DIPPM_SETTING,
        target=A100,
        batch=round(batch),
        time_s=time_ms / 1e3,
        memory_bytes=MB * memory_mb,
        energy_j=energy_j,
    )
    parameters = float(facts["weight_elements"].sum())
    return row, PartialGraph(ops, facts, edges, {"parameters": parameters}, {})


def trappm(
    member: ReleaseMember, x: Numbers, edges: NDArray[np.int64], static: Numbers, y: Numbers
) -> tuple[GraphRow, PartialGraph]:
    """Return a network of TraPPM: 98 + 6 + 6 + 3 numbers an operator of its ONNX file.

    Of ten static numbers the first is the batch, the last five are nodes, edges, MACs, parameters
    and memory. Of ten labels the first, second and fifth are memory in MiB, power in W and time in
    ms of a training step. Files are named ``MODEL_BATCH``; a folder ``V100`` says that GPU.
    """
    if len(static) != 10 or len(y) != 10 or not static[0] >= 1:
        raise FetchError("other than ten static numbers and labels", where=member.name)
    ops = [mnemonic(TRAPPM_OPS[i]) for i in x[:, :98].argmax(1).tolist()]
    facts = {f"in_{i}": x[:, 98 + i] for i in range(6)}
    facts |= {f"out_{i}": x[:, 104 + i] for i in range(6)}
    facts |= {"mac": x[:, 110], "weight_elements": x[:, 111], "read_bytes": x[:, 112]}
    target = V100 if "V100" in member.name.split("/") else A100
    memory_mib, power_w, _, _, time_ms, *_ = y
    row = GraphRow(
        graph=f"{target}-{member.stem}",
        architecture=re.sub(r"_\d+$", "", member.stem),  # without the batch
        setting=TRAPPM_SETTING,
        target=target,
        batch=round(static[0]),
        time_s=time_ms / 1e3,
        memory_bytes=MIB * memory_mib,
        power_w=power_w,
    )
    return row, PartialGraph(ops, facts, edges, {"parameters": float(static[8])}, {})


def mnemonic(name: str) -> str:
    """Return the IR's name of an operator of ONNX.

    >>> mnemonic("GlobalAveragePool"), mnemonic("Conv"), mnemonic("MatMul")
    ('global_average_pool', 'conv', 'matmul')
    """
    return MNEMONICS.get(name) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
