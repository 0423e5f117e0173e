"""Kind of network of a run, by which kernels have most multiply-accumulates."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from ..steps.launch_kind import LaunchKind
from ..steps.stored import columns_at

if TYPE_CHECKING:
    from ..estimators import Execution
    from ..features.classes import Array
    from ..steps.columns import Columns

CONVOLUTIONS = (
    LaunchKind.STEM, LaunchKind.DEPTHWISE, LaunchKind.GROUPED, LaunchKind.POINTWISE,
    LaunchKind.CONVOLUTION,
)  # fmt: skip


class Network(Enum):
    """Kinds of networks that an engine may run with different efficiency."""

    CONVOLUTIONS = "convolutions"
    PRODUCTS = "products"

    @property
    def number(self) -> int:
        """Return the position among the kinds."""
        return list(Network).index(self)

    @classmethod
    def of(cls, convolved: float) -> Network:
        """Return the kind with a share of convolutions in its MACs."""
        return cls.CONVOLUTIONS if convolved > 0.5 else cls.PRODUCTS


def convolved(columns: Columns, count: Array) -> float:
    """Return the share of convolutions in the MACs of launches, each with its count."""
    macs = columns.amounts["mac"] * count
    mine = np.isin(columns.kind, [kind.number for kind in CONVOLUTIONS])
    return float(macs[mine].sum()) / max(float(macs.sum()), 1.0)


def network_of(execution: Execution) -> Network:
    """Return the kind of network of a run, which no machine and no type changes."""
    count = Counter(kernel.identity for kernel in execution.kernels.kernels)
    first = {k.identity: i for i, k in reversed([*enumerate(execution.kernels.kernels)])}
    assert execution.module is not None
    at = [first[number] for number in count]
    columns = columns_at(execution.kernels, execution.module, execution.bounds.env, at)
    return Network.of(convolved(columns, np.array([*count.values()], np.float64)))
