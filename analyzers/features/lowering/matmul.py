"""Matrix products: MatMul, Gemm, quantised and weight-only ones, with what is fused behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfc.ir.op import Kind
from perfc.ir.types import TensorType

from . import Lowered, letters

if TYPE_CHECKING:
    from perfc.passes.roofline import KernelBound

NAME = "matmul"
TOLERANCE = 0.01
_WEIGHT_BITS = ("bits", "Bits")


def lower(bound: KernelBound, env: Mapping[str, int]) -> Lowered | None:
    """Extents from the operator's own letters, taken only where they give its products.

    A stored right operand that all batches share makes one product of all rows.
    """
    node = bound.kernel.anchor
    if bound.kernel.kind is not Kind.MATMUL or bound.counts.mac <= 0:
        return None
    e = letters(node, env)
    if "n" not in e or "k" not in e:
        return None
    weight_only = "m" not in e
    m = e.get("b", 0.0) if weight_only else e["m"]
    batch = 1.0 if weight_only else e.get("b", 1.0)
    right = node.inputs[1] if len(node.inputs) > 1 else None
    if batch > 1 and right is not None and isinstance(right.type, TensorType):
        rank = len(right.type.shape or ())
        if rank <= 2:
            m, batch = m * batch, 1.0
    if abs(batch * m * e["n"] * e["k"] - bound.counts.mac) > TOLERANCE * bound.counts.mac:
        return None
    parameters = {"m": m, "n": e["n"], "k": e["k"], "batch": batch}
    if right is not None and right.weight is not None:
        # frameworks store the weights of linear layers with the reduced axis last
        parameters["transposed"] = 1.0
    stored_bits = weight_bits(bound) if weight_only else 0
    if stored_bits:
        parameters["weight_bits"] = float(stored_bits)
        block = getattr(node.op, "block_size", 0)
        parameters["scale_block"] = float(block) if isinstance(block, int) else 0.0
    return Lowered(NAME, bound.dtype.code, parameters)


def weight_bits(bound: KernelBound) -> int:
    """Bits of a stored weight that is widened inside the kernel, 0 where it is not."""
    op = bound.kernel.anchor.op
    for name in _WEIGHT_BITS:
        found = getattr(op, name, None)
        if isinstance(found, int):
            return found
    return 0
