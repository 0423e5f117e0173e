"""Regions of ``torch.autocast``: those of the file, and those that lacked their device.

Exported where its device is missing, a region is switched off in the file, and all its values have
the types of the module. On its device it runs in the type that the file still names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..lowering.elements import DataType
from .call import ELEMENT_TYPES, ProgramScope

REDUCED = re.compile(
    r"add(bmm|mm|mv|r)|baddbmm|bmm|mm|mv|(linalg_)?matmul|chain_matmul|linalg_multi_dot|linear|bilinear"
    r"|_?convolution|conv(_transpose)?[123]d|(lstm|gru|rnn_tanh|rnn_relu)(_cell)?|einsum|prelu"
    r"|scaled_dot_product_attention"
)
"""Operators that autocast runs in the type of the region."""
FULL = re.compile(
    r"acos|asin|cosh|erfinv|expm?1?|log(10|1p|2|_softmax)?|pow|reciprocal|rsqrt|sinh|softmax|softplus"
    r"|sum|prod|tan|cumprod|cumsum|cdist|dist|pdist|renorm|cosine_similarity|kl_div|\w+_loss\w*|norm"
    r"|(layer|group|linalg_vector)_norm|binary_cross_entropy_with_logits"
)
"""Operators that autocast runs in f32; both lists are those of CUDA.
Source: https://docs.pytorch.org/docs/stable/amp.html, op reference."""


def enter_region(
    given: Sequence[Mapping[str, Any]],
    graph: Mapping[str, Any],
    outer: ProgramScope,
    inner: ProgramScope,
) -> None:
    """Set the autocast of the graph of a region.

    Args:
        given: arguments of the region: device, type, whether it is enabled, then others.
        graph: the graph.
        outer: names around it.
        inner: names of the graph.
    """
    device, dtype, is_enabled = (next(iter(arg.values())) for arg in given[:3])
    devices = {meta["device"]["type"] for meta in graph["tensor_values"].values()}
    converts = any(".to." in str(node["target"]) for node in graph["nodes"])
    reduced = ELEMENT_TYPES.get(dtype, 0)
    # switched off by the module if it converts to f32 itself, or in a region of the same type
    is_off = not is_enabled and (converts or device == "cpu" or reduced == outer.reduced)
    # values on its device: the device was there at the export, and the file has the types
    inner.reduced = 0 if is_off or device in devices else reduced
    inner.is_autocast = bool(is_enabled or inner.reduced)


def retype(
    scope: ProgramScope,
    operator: str,
    args: Mapping[str, tuple[str, Any]],
    given: Sequence[str],
    results: Iterable[str],
) -> None:
    """Give results the types that they have on the device of a region that lacked it.

    Args:
        scope: graph of the call.
        operator: its operator.
        args: its arguments.
        given: its operands.
        results: its results.
    """
    # of the operands of a normalization over batches only the first decides
    given = given[:1] if "batch_norm" in operator else given
    metas = [scope.meta(raw) for raw in given]
    floats = {m.dtype for m in metas if m.is_float and m.rank}
    is_changed = any(m.dtype != declared(scope, raw) for m, raw in zip(metas, given, strict=True))
    is_typed = any(kind == "as_scalar_type" for kind, _ in args.values())
    for raw in results:
        meta = scope.meta(raw)
        if meta.dtype != DataType.FLOAT or is_typed:
            continue
        if scope.reduced and REDUCED.fullmatch(operator):
            scope.metas[raw] = replace(meta, dtype=scope.reduced)
        elif is_changed and len(floats) == 1 and not (scope.reduced and FULL.fullmatch(operator)):
            scope.metas[raw] = replace(meta, dtype=next(iter(floats)))


def declared(scope: ProgramScope, raw: str) -> int:
    """Return the element type of a value in the file."""
    return ELEMENT_TYPES.get(scope.tensors.get(raw, {}).get("dtype"), 0)
