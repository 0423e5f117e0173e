"""Identity of a network, by which its measured runs are recognized."""

from __future__ import annotations

from hashlib import blake2b

from perfc.ir import Module, TensorType


def network_id(module: Module) -> int:
    """Return a digest of the shapes of a model's matrices and filters, in 63 bits.

    Exports of one network in other precisions or for other input sizes have the same digest, as it
    does not depend on the order of axes, on element types or on vectors such as bias and scale.
    """
    types = (v.type for v in module.graph.weights if isinstance(v.type, TensorType))
    extents = [sorted(map(str, t.shape)) for t in types if t.shape is not None]
    matrices = sorted(" ".join(shape) for shape in extents if len(shape) > 1)
    digest = blake2b("\n".join(matrices).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1  # non-negative as a signed 64-bit integer
