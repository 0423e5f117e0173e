"""Exchanges among machines that run one model together: tensors that several hold in part."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ..definition import Natural, Positive
from ..dim import Dim
from ..graph import Inputs
from ..op import Kind, Op, Types, tensor
from ..problem import Collective, Exchange
from ..record import frozen
from ..types import TensorType

PARTS = 1000
"""Of a message, in whole numbers of which a share of it is counted."""


@frozen
class CollectiveOp(Op):
    """A tensor exchanged among ``ranks`` machines, of which this module is one's share.

    Shapes:  as each exchange says.
    Work:    none that is counted: additions on the way are far below the traffic of links.
    Traffic: the operand read once and the result written once in the memory of one machine.
    Source:  NCCL user guide, 'Collective Operations'.
    """

    kind = Kind.COLLECTIVE
    exchange: ClassVar[Exchange]

    ranks: Positive = 1
    nodes: Positive = 1

    def infer(self, ins: Inputs) -> Types:
        return (tensor(ins, 0),)

    def problem(self, ins: Inputs, outs: Types) -> Collective | None:
        sizes = [t.nbytes for t in (tensor(ins, 0), *outs) if isinstance(t, TensorType)]
        if len(sizes) < 2 or sizes[0] is None or sizes[1] is None:
            return None
        whole = sizes[1] if self.exchange is Exchange.ALL_GATHER else sizes[0]
        return Collective(self.exchange, self.sent_bytes(whole), self.ranks, self.nodes)

    def sent_bytes(self, whole: Dim) -> Dim:
        """What of a message is exchanged."""
        return whole


@frozen
class RowsOfExperts(CollectiveOp):
    """An exchange of rows whose experts lie on several ranks.

    With ``chosen``, rows go only to ranks that have experts they chose, as DeepEP sends them: of
    ``ranks`` the share 1 - (1 - 1/ranks)^chosen, where each choice is of any rank alike.
    """

    chosen: Natural = 0
    """Experts of a row; 0 where every rank has every row."""

    def sent_bytes(self, whole: Dim) -> Dim:
        """What of a message is exchanged."""
        if not self.chosen:
            return whole
        share = 1 - (1 - 1 / self.ranks) ** self.chosen
        return whole * max(1, round(share * PARTS)) // PARTS


@frozen
class AllReduce(CollectiveOp):
    """The sum of every rank's tensor, at every rank.

    Shapes:  X -> same shape.
    """

    mnemonic = "all_reduce"
    operands = ("X",)
    exchange = Exchange.ALL_REDUCE


@frozen
class AllGather(RowsOfExperts):
    """The tensors of all ranks, joined along ``axis``.

    Shapes:  X[..., d, ...] -> Y[..., ranks*d, ...].
    """

    mnemonic = "all_gather"
    operands = ("X",)
    exchange = Exchange.ALL_GATHER

    axis: int = -1

    def infer(self, ins: Inputs) -> Types:
        return (along(tensor(ins, 0), self.axis, lambda extent: extent * self.ranks),)


@frozen
class ReduceScatter(RowsOfExperts):
    """The sum of every rank's tensor, of which each rank gets its part along ``axis``.

    Shapes:  X[..., ranks*d, ...] -> Y[..., d, ...].
    """

    mnemonic = "reduce_scatter"
    operands = ("X",)
    exchange = Exchange.REDUCE_SCATTER

    axis: int = -1

    def infer(self, ins: Inputs) -> Types:
        return (along(tensor(ins, 0), self.axis, lambda extent: extent // self.ranks),)


@frozen
class AllToAll(CollectiveOp):
    """Rows sent to the ranks whose experts they chose, or back from there.

    Shapes:  X -> same shape: with rows that spread evenly each rank ends with as many.
    """

    mnemonic = "all_to_all"
    operands = ("X",)
    exchange = Exchange.ALL_TO_ALL


@frozen
class SendReceive(CollectiveOp):
    """A tensor that comes from the rank before, as between stages of a pipeline.

    Shapes:  X -> same shape.
    """

    mnemonic = "send_receive"
    operands = ("X",)
    exchange = Exchange.SEND_RECEIVE


def along(x: TensorType, axis: int, change: Callable[[Dim], Dim]) -> TensorType:
    """A tensor with another extent along an axis; as it is where its rank is not known, or 0."""
    if not x.shape:
        return x
    shape = list(x.shape)
    shape[axis] = change(shape[axis])
    return TensorType(x.dtype, tuple(shape))
