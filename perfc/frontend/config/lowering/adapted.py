"""Linear layers with low-rank adapters: what each token's own adapter adds to the product."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.ir.graph import Value
from perfc.ir.ops.contraction.grouped_matmul import GroupedGemm

if TYPE_CHECKING:
    from .builder import Builder


def adapted_product(
    b: Builder, x: Value, whole: Value, extents: tuple[int, int], name: str, slices: int
) -> Value:
    """``whole``, the product of ``x``, with ``(x @ A) @ B`` of each token's adapter added.

    Ranks that divide columns have the whole of A, ranks that divide the contracted axis the whole
    of B, as engines have it where adapters are not sharded further.

    Args:
        b: takes the nodes.
        x: [tokens, contracted].
        whole: [tokens, columns], to which the adapters add.
        extents: extents of this rank's share of the layer's weight: contracted, columns.
        name: name of the layer.
        slices: layers whose columns lie side by side, each with an A of its own.
    """
    adapters, of_token = b.adapters, b.adapter_of
    assert adapters is not None
    assert of_token is not None
    k, n = extents
    narrow = b.scales(f"{name}.lora_a", (adapters.count, slices * adapters.rank, k), b.half)
    wide = b.scales(f"{name}.lora_b", (adapters.count, n, adapters.rank), b.half)
    shrunk = b.node(GroupedGemm(), (x, narrow, of_token), f"{name}.shrunk")
    return b.node(GroupedGemm(slices=slices), (shrunk, wide, of_token, whole), f"{name}.adapted")
