"""A launch: its kind, amounts that grow with the batch and traits that do not."""

from __future__ import annotations

from collections.abc import Mapping

from perfc.ir import record

from .launch_kind import LaunchKind

Amount = tuple[float, ...]
"""Numbers, one per environment."""


@record
class Launch:
    """A launch; repeated ones share ``amounts`` and ``traits``.

    Args:
        kind: what it does.
        kernel: index in the kernel table; -1 for a cast or copy outside operators.
        amounts: what grows with the batch, by name, at each environment.
        traits: what does not, by name.
        times: how often it is launched in a step.
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
