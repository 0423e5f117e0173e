"""Stored tensors with the layers that only convert them: casts, scales and other extents."""

from __future__ import annotations

from dataclasses import replace

from perfc.ir import record

from ..lowering.builder import Meta
from ..lowering.elements import FLOATS, DataType, element_type, unpack_elements
from .document import Elements, LayerGraph, NetLayer, Port

PACKED = frozenset(
    {
        DataType.INT8,
        DataType.UINT8,
        DataType.INT4,
        DataType.UINT4,
        DataType.UINT2,
        DataType.FLOAT4E2M1,
        DataType.FLOAT8E4M3FN,
        DataType.FLOAT8E5M2,
    }
)
"""Element types of quantized weights."""
CONVERSIONS = frozenset({"Convert", "Subtract", "Multiply", "Reshape", "FakeQuantize"})
"""Layers that may be a conversion of a stored tensor and no work at run time."""
LONGEST_CHAIN = 16
"""Maximum conversions of a stored tensor, which are followed by recursion."""


@record
class StoredTensor:
    """Stored tensor.

    Args:
        key: number of the layer with its elements.
        name: name of the tensor.
        meta: element type of the stored elements, and extents.
        data: elements of a small tensor; None for others.
        real: element type after a conversion to real numbers; 0 without a conversion.
        scale: factor of each group of elements; None without one.
        zero: zero point of each group; None if it is 0.
    """

    key: int
    name: str
    meta: Meta
    data: bytes | None = None
    real: int = 0
    scale: StoredTensor | None = None
    zero: StoredTensor | None = None

    def values(self) -> tuple[float, ...]:
        """Return the elements.

        Raises:
            ValueError: they were not read.
        """
        meta = self.meta
        values = unpack_elements(meta.dtype, self.data, meta.count) if self.data else None
        if values is None:
            raise ValueError("elements that were not read")
        return tuple(v for v in values if isinstance(v, int | float))


def stored_of(
    network: LayerGraph, port: Port, elements: Elements, depth: int = 0
) -> StoredTensor | None:
    """Return the stored tensor that a value is, or only a conversion of; None for a computed value.

    Args:
        network: layers of the graph.
        port: port of the value.
        elements: file of weights.
        depth: number of conversions after this value.
    """
    index, _ = port
    layer = network.layers[index]
    if depth > LONGEST_CHAIN:
        return None
    if layer.kind == "Const":
        meta = layer.outputs[0].meta
        name = layer.outputs[0].name or layer.name
        dtype = element_type(layer.data.get("element_type", "")) or meta.dtype
        meta = Meta(dtype, meta.sizes)
        return StoredTensor(layer.index, name, meta, elements.read(layer.data, meta))
    if layer.kind not in CONVERSIONS:
        return None
    operands = [
        stored_of(network, network.edges[layer.index, p], elements, depth + 1)
        for p in layer.inputs[:2]
    ]
    first, second = [*operands, None][:2]
    return None if first is None else _converted(layer, first, second)


def _converted(
    layer: NetLayer, first: StoredTensor, second: StoredTensor | None
) -> StoredTensor | None:
    """Return a stored tensor after one more layer; None if the layer does more than convert it."""
    to, dtype = layer.outputs[0].meta, first.meta.dtype
    is_real = to.dtype in FLOATS
    match layer.kind:
        # quantized elements as real numbers, before or after the scale
        case "Convert" if dtype in PACKED and is_real:
            return replace(first, real=to.dtype)
        case "Convert" if first.scale is not None and is_real:
            return replace(first, real=to.dtype)
        case "Convert" if dtype in FLOATS and is_real and first.data is None:
            # compressed weights are converted once, when the model is loaded
            return replace(first, meta=Meta(to.dtype, first.meta.sizes))
        case "Subtract" if first.real and second is not None and first.scale is None:
            # the zero point is subtracted before the product with the scale
            return replace(first, zero=second)
        case "Multiply" if first.real and second is not None and first.scale is None:
            return replace(first, scale=second)
        case "FakeQuantize" if dtype in FLOATS and second is not None and not first.real:
            # weights in floats that plugins quantize to 8 bits
            meta = Meta(DataType.INT8, first.meta.sizes)
            step = replace(second, data=None)
            return replace(first, meta=meta, data=None, real=to.dtype, scale=step)
        case "Reshape" if all(isinstance(s, int) for s in to.sizes):
            if first.data is not None and first.scale is None:
                return replace(first, meta=Meta(dtype, to.sizes))
            # [..., groups, block] becomes [..., groups * block]: scales stay those of the groups
            grouped = first.meta.rank == to.rank + 1 and first.meta.sizes[:-2] == to.sizes[:-1]
            if first.scale is None or grouped:
                return replace(first, meta=Meta(dtype, to.sizes))
        case _:
            pass
    return None
