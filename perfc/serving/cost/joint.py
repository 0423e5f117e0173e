"""Estimate joint attention kernels, which serve prompts and decodes of a step in one launch.

`relative_to_both` returns their time over that of a prefill and a decode kernel, on a grid of sizes
from which `StageCost` interpolates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from perfc.analyzers.estimators.predictor import known_classes, predict, select
from perfc.analyzers.features.lowering import TWIN, is_latent, stored_type
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.ir import record
from perfc.ir.problem import Attention
from perfc.machine import Machine
from perfc.passes.fusion.kernel import Kernel

from .grid import Grid, octaves, points
from .program import Program

NEAR = 512
"""Offset added to cached tokens, which may be 0, before taking the logarithm."""
AXES = (
    octaves(1, 64, step=8),
    octaves(32, 8192, step=4),
    octaves(NEAR, 1 << 15, step=8),
    octaves(1, 512, step=4),
    octaves(256, 1 << 17, step=8),
)
"""Sizes of a step: chunks of prompts, tokens of each chunk, cached tokens before it plus `NEAR`,
decodes, and the context of each decode."""
CLASS = "mixed_attention"
"""Class of kernels that the predictor of joint attention was trained on."""
SAME = ("heads", "kv_heads", "head_dim", "value_dim", "window", "cache_bits")
"""Extents of attention that a joint kernel needs equal in the prefill and the decode kernel."""


@record
class Layer:
    """Attention of identical layers.

    Args:
        heads: decode problem, whose head sizes equal those of prefill.
        dtype: element type of its results.
        count: number of such layers.
    """

    heads: Attention
    dtype: str
    count: int


def layers_of(
    prefill: Program, prompts: Sequence[int], decode: Program, tokens: Sequence[int]
) -> tuple[Layer, ...]:
    """Return the attention of each kind of layer; empty if other kernels read the context too.

    Args:
        prefill: prefill pass.
        prompts: indices of its kernels that read the context.
        decode: decode pass.
        tokens: indices of its kernels that read the context.
    """
    layers = []
    # both passes list their layers in one order: kernel i of one belongs to kernel i of the other
    if len(prompts) != len(tokens):
        return ()
    for i, j in zip(prompts, tokens, strict=True):
        first, second = prefill.table.kernels[i], decode.table.kernels[j]
        prompt, answer = first.problem, second.problem
        if not isinstance(prompt, Attention) or not isinstance(answer, Attention):
            return ()
        if prefill.counts[i] != decode.counts[j] or not _have_equal_heads(prompt, answer):
            return ()
        layers.append(Layer(answer, _dtype(second), decode.counts[j]))
    return tuple(layers)


def _have_equal_heads(one: Attention, other: Attention) -> bool:
    """Return True if prefill and decode have the same known heads and no latent attention."""
    extents = {name: getattr(other, name) for name in SAME}
    if not all(isinstance(value, int) for value in extents.values()):
        return False
    config: dict[str, Any] = {**extents, "causal": True}
    return not is_latent(config) and all(getattr(one, n) == v for n, v in extents.items())


def _dtype(kernel: Kernel) -> str:
    """Return the element type under which a kernel's result was measured: bf16 stands for f16."""
    code = stored_type(kernel.writes[0])
    return TWIN.get(code, code)


def relative_to_both(
    layers: Sequence[Layer],
    machine: Machine,
    framework: str,
    separate_s: Callable[[float, float, float, float, float], float],
) -> Grid | None:
    """Return the time of joint kernels relative to two separate ones, on `AXES`.

    None if joint kernels of this type were not measured on this machine: separate kernels were
    measured on more machines and predict better.

    Args:
        layers: attention layers of a stage.
        machine: target machine of each rank.
        framework: runtime whose kernels are estimated.
        separate_s: seconds of the separate kernels of all layers, by the sizes of `AXES`.
    """
    # without joint kernels, or without rows of them, the separate ones are used
    if not layers or CLASS not in known_classes():
        return None
    sheet = Sheet(machine)
    types = {layer.dtype for layer in layers}
    cards = {t: select(CLASS, t, Protocol.KERNELS, machine.name).card for t in types}
    if not all(card.has_rows(sheet.name, dtype) for dtype, card in cards.items()):
        return None
    sizes = points(AXES)
    joint_s = [0.0] * len(sizes)
    for times_s in _times(layers, machine, framework, sizes):
        joint_s = [whole + part for whole, part in zip(joint_s, times_s, strict=True)]
    # a ratio, not a time: separate kernels have finer grids than these five axes
    return Grid.of(AXES, [t / separate_s(*at) for t, at in zip(joint_s, sizes, strict=True)])


def _times(
    layers: Sequence[Layer], machine: Machine, framework: str, sizes: Sequence[tuple[float, ...]]
) -> Iterator[list[float]]:
    """Yield the seconds of all layers of each kind."""
    import numpy as np

    chunks, lengths, pasts, decodes, contexts = np.array(sizes).T
    for layer in layers:
        head_columns = {n: np.full(len(sizes), float(getattr(layer.heads, n))) for n in SAME}
        rows = {
            **head_columns,
            "batch": chunks,
            "query_len": lengths,
            "kv_len": lengths + pasts - NEAR,  # the axis has `NEAR` added
            "decodes": decodes,
            "cached_len": contexts,
        }
        prediction = predict(CLASS, rows, layer.dtype, machine, Protocol.KERNELS, framework)
        yield (layer.count * prediction.time_s).tolist()
