"""Regions of ``torch.autocast``, with and without their device at the export.

On a machine without the device of a region, an export switches the region off: in the file, all
its values have the types of the module. On its device, the region runs in the reduced type, which
the file still names.
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
"""Operators that autocast runs in f32. This list and the one above are those of CUDA.
Source: https://docs.pytorch.org/docs/stable/amp.html, op reference."""


def enter_region(
    given: Sequence[Mapping[str, Any]],
    graph: Mapping[str, Any],
    outer: ProgramScope,
    inner: ProgramScope,
) -> None:
    """Set the reduced type of the graph of a region, and whether it converts operands.

    Args:
        given: arguments of the region: device, type, whether it is enabled, then others.
        graph: the graph in the file.
        outer: scope around the region.
        inner: scope of the graph, which is changed.
    """
    device, dtype, is_enabled = (next(iter(arg.values())) for arg in given[:3])
    devices = {meta["device"]["type"] for meta in graph["tensor_values"].values()}
    converts = any(".to." in str(node["target"]) for node in graph["nodes"])
    reduced = ELEMENT_TYPES.get(dtype, 0)
    # the module itself switched the region off, not a missing device, if the graph converts types
    # (to compute in f32), if the device is the CPU, or within a region of the same type
    is_off = not is_enabled and (converts or device == "cpu" or reduced == outer.reduced)
    # values on its device show that the device was there at the export: the file has the types
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
        scope: scope of the call, whose types are changed.
        operator: operator of the call.
        args: arguments of the call.
        given: names of its operands.
        results: names of its results.
    """
    # statistics of a normalization over batches stay in f32: only the first operand decides
    given = given[:1] if "batch_norm" in operator else given
    metas = [scope.meta(raw) for raw in given]
    floats = {m.dtype for m in metas if m.is_float and m.rank}
    is_changed = any(m.dtype != declared(scope, raw) for m, raw in zip(metas, given, strict=True))
    # an argument that is a type fixes that of the result
    is_typed = any(kind == "as_scalar_type" for kind, _ in args.values())
    for raw in results:
        meta = scope.meta(raw)
        if meta.dtype != DataType.FLOAT or is_typed:
            continue
        if scope.reduced and REDUCED.fullmatch(operator):
            scope.metas[raw] = replace(meta, dtype=scope.reduced)
        # any other operator has the type of its operands, if one changed and all are the same
        elif is_changed and len(floats) == 1 and not (scope.reduced and FULL.fullmatch(operator)):
            scope.metas[raw] = replace(meta, dtype=next(iter(floats)))


def declared(scope: ProgramScope, raw: str) -> int:
    """Return the element type of a value in the file; 0 if the file has none."""
    return ELEMENT_TYPES.get(scope.tensors.get(raw, {}).get("dtype"), 0)
