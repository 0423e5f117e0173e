"""An eager framework before it had fused attention: two products and a softmax instead."""

from dataclasses import replace

from . import eager
from ._list_limits import BEFORE_CUDA_13

TABLE = replace(
    eager.TABLE,
    name="eager-unfused",
    title="operator by operator, attention in three",
    patterns=tuple(p for p in eager.TABLE.patterns if p != "sdpa"),
    aliases=(),
    stands_for=frozenset(),
    formats=frozenset(),
    newest=eager.TABLE.name,
    before=(2, 0),
    lists=BEFORE_CUDA_13,
    source="PyTorch before 2.0, and models with separate attention kernels: as eager, but without "
    "scaled_dot_product_attention",
)
