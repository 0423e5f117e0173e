"""Collectives among devices that run one model together."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from .. import Dim, Inputs, Kind, Natural, Op, Positive, TensorType, Types, frozen, tensor
from ..problem import Collective, Exchange

PARTS = 1000
"""Denominator of the exchanged share of a message: sizes are integers or polynomials of integers,
so that a share is written as parts of 1000."""


@frozen
class CollectiveOp(Op):
    """Base of collectives among ``ranks`` devices; this module is one rank's part of the model.

    Shapes:  as in each collective.
    Work:    not counted: additions take far less time than the traffic of links.
    Traffic: the operand read once and the result written once in the memory of one device.
    Source:  NCCL user guide, 'Collective Operations'.
    """

    kind = Kind.COLLECTIVE
    exchange: ClassVar[Exchange]

    ranks: Positive = 1
    nodes: Positive = 1  # machines that the ranks are on

    def problem(self, ins: Inputs, outs: Types) -> Collective | None:
        sizes = [t.nbytes for t in (tensor(ins, 0), *outs) if isinstance(t, TensorType)]
        if len(sizes) < 2 or sizes[0] is None or sizes[1] is None:
            return None
        # sizes are those of operand and result; the message is the larger one: the result of an
        # all-gather, the operand of all others
        whole = sizes[1] if self.exchange is Exchange.ALL_GATHER else sizes[0]
        return Collective(self.exchange, self.sent_bytes(whole), self.ranks, self.nodes)

    def sent_bytes(self, whole: Dim) -> Dim:
        """Return the exchanged bytes of a message of ``whole`` bytes."""
        return whole


@frozen
class RowsOfExperts(CollectiveOp):
    """Exchange of rows whose experts are on several ranks.

    With ``chosen``, rows go only to ranks that hold a chosen expert, as in DeepEP: to
    1 - (1 - 1/ranks)^chosen of the ``ranks``, if every rank is equally likely.
    """

    chosen: Natural = 0
    """Experts per row; 0 if every rank has every row."""

    def sent_bytes(self, whole: Dim) -> Dim:
        """Return the exchanged bytes of a message of ``whole`` bytes."""
        if not self.chosen:
            return whole
        # probability that a rank has one of the chosen experts
        share = 1 - (1 - 1 / self.ranks) ** self.chosen
        # at least one part: with thousands of ranks the share would round to an empty message
        return whole * max(1, round(share * PARTS)) // PARTS


@frozen
class AllReduce(CollectiveOp):
    """The sum of every rank's tensor, on every rank.

    Shapes:  X -> same shape.
    """

    mnemonic = "all_reduce"
    operands = "X"
    exchange = Exchange.ALL_REDUCE


@frozen
class AllGather(RowsOfExperts):
    """The tensors of all ranks, concatenated along ``axis``.

    Shapes:  X[..., d, ...] -> Y[..., ranks*d, ...].
    """

    mnemonic = "all_gather"
    operands = "X"
    exchange = Exchange.ALL_GATHER

    axis: int = -1

    def infer(self, ins: Inputs) -> Types:
        return (along(tensor(ins, 0), self.axis, lambda extent: extent * self.ranks),)


@frozen
class ReduceScatter(RowsOfExperts):
    """The sum of every rank's tensor; each rank gets its part along ``axis``.

    Shapes:  X[..., ranks*d, ...] -> Y[..., d, ...].
    """

    mnemonic = "reduce_scatter"
    operands = "X"
    exchange = Exchange.REDUCE_SCATTER

    axis: int = -1

    def infer(self, ins: Inputs) -> Types:
        return (along(tensor(ins, 0), self.axis, lambda extent: extent // self.ranks),)


@frozen
class AllToAll(CollectiveOp):
    """Rows sent to the ranks of their chosen experts, or back.

    Shapes:  X -> same shape: with evenly distributed rows each rank receives as many.
    """

    mnemonic = "all_to_all"
    operands = "X"
    exchange = Exchange.ALL_TO_ALL


@frozen
class SendReceive(CollectiveOp):
    """A tensor received from the previous rank, as between pipeline stages.

    Shapes:  X -> same shape.
    """

    mnemonic = "send_receive"
    operands = "X"
    exchange = Exchange.SEND_RECEIVE


def along(x: TensorType, axis: int, change: Callable[[Dim], Dim]) -> TensorType:
    """Return ``x`` with another extent along an axis; unchanged if its rank is unknown or 0."""
    if not x.shape:
        return x
    shape = list(x.shape)
    shape[axis] = change(shape[axis])
    return TensorType(x.dtype, tuple(shape))
