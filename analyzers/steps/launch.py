"""Class of a launch: its kind, amounts that grow with the batch and traits that do not."""

from __future__ import annotations

from collections.abc import Mapping

from perfc.ir import record

from .launch_kind import LaunchKind

Amount = tuple[float, ...]
"""Value of an amount at each environment (values of the model's symbols)."""


@record
class Launch:
    """A launch; repeated ones share ``amounts`` and ``traits``.

    Args:
        kind: kind of the launch.
        kernel: index in the kernel table; -1 for a cast or copy outside operators.
        amounts: numbers that grow with the batch (`AMOUNTS`), by name, at each environment.
        traits: numbers that do not grow with the batch (`TRAITS`), by name.
        times: number of these launches in a step.
    """

    kind: LaunchKind
    kernel: int
    amounts: Mapping[str, Amount]
    traits: Mapping[str, float]
    times: float


AMOUNTS = (
    "mac",
    "floor_mac",
    "alu",
    "sfu",
    "read_bytes",
    "write_bytes",
    "least_read_bytes",
    "least_write_bytes",
    "m",
    "groups",
)
"""Work (``floor_mac``: the fewest multiply–accumulates, with minimal filtering), traffic
(``least_*``: as if tensors were stored in the narrower type), rows ``m`` and number ``groups`` of
products."""
TRAITS = (
    "n",
    "k",
    "window",
    "stride",
    "channels",
    "inner",
    "reduced",
    "permuted",
    "read_bits",
    "write_bits",
    "operands",
    "nodes",
)
"""In this order: columns and depth of products, elements and stride of windows, channels of the
largest input, last extent of the result, elements that are reduced to one, share of permuted
operands, mean bits of an element that is read and that is written, numbers of operands and of
nodes."""
