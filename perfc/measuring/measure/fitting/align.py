"""Match operators of a trace without node names to analyzed kernels.

Both are sequences in execution order. Operators that cost much are matched first, as a longest
common subsequence of their classes; what lies between goes with its neighbours.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfc.errors import ParseError
from perfc.ir.graph import Node, walk
from perfc.ir.op import Kind

from ..profile import Profile, RuntimeKernel
from ..trace import How, SourceNodes

if TYPE_CHECKING:
    from perfc.api import Report

LEAST_MATCHED = 0.6
"""Minimum fraction of costly kernels that must match."""
LONGEST = 6000

_TOKENS: dict[str, str] = {
    **dict.fromkeys(
        ("conv1d", "conv2d", "conv3d", "convolution", "_convolution", "conv_transpose2d",
         "cudnn_convolution", "mkldnn_convolution", "miopen_convolution"), "conv"),
    **dict.fromkeys(
        ("linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "einsum", "_scaled_mm"), "matmul"),
    **dict.fromkeys(
        ("scaled_dot_product_attention", "_flash_attention_forward",
         "_native_multi_head_attention"), "attention"),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), "recurrent"),
    **dict.fromkeys(
        ("layer_norm", "native_layer_norm", "batch_norm", "group_norm", "instance_norm",
         "rms_norm", "_batch_norm_impl_index"), "normalization"),
    **dict.fromkeys(("softmax", "_softmax", "log_softmax"), "softmax"),
    **dict.fromkeys(("embedding", "index_select", "gather"), "gather"),
    **dict.fromkeys(
        ("max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "max_pool2d_with_indices",
         "adaptive_max_pool2d"), "pool"),
}  # fmt: skip
_ANCHORS = frozenset(
    {"conv", "matmul", "attention", "recurrent", "normalization", "softmax", "gather", "pool"}
)


def token(kind: Kind) -> str:
    """Return the class of an analyzed kernel."""
    return kind.value


def aligned(
    profile: Profile, report: Report, where: str | os.PathLike[str] = ""
) -> tuple[Profile, dict[str, SourceNodes]]:
    """Return the profile, and the nodes behind each of its operators.

    Raises:
        ParseError: the costly operators are not those of the model.
    """
    ours = [(i, k) for i, k in enumerate(report.kernels.kernels) if token(k.kind) in _ANCHORS]
    theirs = [(i, k) for i, k in enumerate(profile.kernels) if k.op in _TOKENS]
    pairs = common([token(k.kind) for _, k in ours], [_TOKENS[k.op] for _, k in theirs])
    largest = max(len(ours), len(theirs))
    if not largest or len(pairs) < LEAST_MATCHED * largest:
        raise ParseError(
            f"a profile of another model: of {len(theirs)} costly operators {len(pairs)} are found "
            f"in the model, which has {len(ours)}",
            where=os.fspath(where),
        )
    made = {v.name: n for n in walk(report.source.graph) for v in n.results}
    origins: dict[str, SourceNodes] = {}
    for a, b in pairs:
        kernel = ours[a][1]
        nodes = [made[v.name] for n in kernel.nodes for v in n.results if v.name in made]
        origins[theirs[b][1].name] = SourceNodes(frozenset(nodes), How.NAMED)
    anchors = [(ours[a][0], theirs[b][0]) for a, b in pairs]
    fill(profile.kernels, anchors, report, made, origins)
    return profile, origins


def fill(
    kernels: Sequence[RuntimeKernel],
    anchors: Sequence[tuple[int, int]],
    report: Report,
    made: dict[str, Node],
    origins: dict[str, SourceNodes],
) -> None:
    """Assign operators between two matches to the analyzed kernels between them, in order."""
    ends = [*anchors, (len(report.kernels.kernels), len(kernels))]
    before = (-1, -1)
    for ours_end, theirs_end in ends:
        between = list(range(before[0] + 1, ours_end))
        free = list(range(before[1] + 1, theirs_end))
        for n, j in enumerate(free):
            if between:
                i = between[min(n * len(between) // len(free), len(between) - 1)]
            else:
                i = max(before[0], 0)
            nodes = [
                made[v.name]
                for node in report.kernels.kernels[i].nodes
                for v in node.results
                if v.name in made
            ]
            origins[kernels[j].name] = SourceNodes(frozenset(nodes), How.INSERTED)
        before = (ours_end, theirs_end)


def common(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Return positions of a longest common subsequence. Source: Wagner & Fischer 1974.

    Raises:
        ParseError: too long to compare.
    """
    if max(len(a), len(b)) > LONGEST:
        raise ParseError(f"{max(len(a), len(b))} costly operators, at most {LONGEST} are compared")
    rows = [bytearray(len(b) + 1) for _ in range(len(a) + 1)]
    last = [0] * (len(b) + 1)
    for i in range(len(a) - 1, -1, -1):
        new = [0] * (len(b) + 1)
        step = rows[i]
        for j in range(len(b) - 1, -1, -1):
            if a[i] == b[j]:
                new[j], step[j] = last[j + 1] + 1, 1
            elif last[j] >= new[j + 1]:
                new[j], step[j] = last[j], 2
            else:
                new[j], step[j] = new[j + 1], 3
        last = new
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        match rows[i][j]:
            case 1:
                pairs.append((i, j))
                i, j = i + 1, j + 1
            case 2:
                i += 1
            case _:
                j += 1
    return pairs
