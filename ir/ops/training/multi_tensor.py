"""Kernels over lists of tensors, as optimizers launch them."""

from __future__ import annotations

from ... import (
    Extents,
    Inputs,
    Kind,
    Natural,
    Op,
    Parts,
    Positive,
    Results,
    Traffic,
    Types,
    count,
    dim_sum,
    frozen,
    tensor,
)
from ...traffic import moved, stored


@frozen
class MultiTensor(Op):
    """A function of corresponding elements of several lists of tensors.

    Shapes:  ``lists`` lists of equally many tensors, one after the other -> a list for each of
             ``written``, which overwrites that list, and ``fresh`` new lists like the first one.
    Work:    {alu}, {sfu} over the e elements of the first list.
    Traffic: each operand once, but for lists that are ``unread`` before they are overwritten; each
             result once.
    Source:  PyTorch, torch._foreach_* and fused optimizers (multi_tensor_apply).
    """

    mnemonic = "multi_tensor"
    operands = "tensors+"
    kind = Kind.OPTIMIZER
    formulas = {"alu": "e*a", "sfu": "e*s"}
    function: str = ""
    lists: Positive = 1
    written: tuple[int, ...] = (0,)
    fresh: Natural = 0
    alu: Natural = 1
    sfu: Natural = 0
    unread: tuple[int, ...] = ()

    @property
    def is_list(self) -> bool:
        """Return True if one launch takes several tensors, as PyTorch's list functions do."""
        # `_foreach_add` or `_fused_adam`: private names of PyTorch
        return self.function.startswith("_")

    def members(self, ins: Inputs) -> int:
        """Return the number of tensors per list."""
        return len(ins) // self.lists

    def overwritten(self, ins: Inputs) -> Results:
        """Return the operand that each result overwrites, None for new tensors."""
        n = self.members(ins)
        targets = [ins[index * n + i] for index in self.written for i in range(n)]
        return (*targets, *((None,) * (self.fresh * n)))

    def infer(self, ins: Inputs) -> Types:
        n = self.members(ins)
        # results are like the lists they overwrite, new ones like the first list
        sources = (*self.written, *((0,) * self.fresh))
        return tuple(tensor(ins, index * n + i) for index in sources for i in range(n))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        e = dim_sum(count(tensor(ins, i)) for i in range(self.members(ins)))
        return {"e": e, "a": self.alu, "s": self.sfu}

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        n = self.members(ins)
        # a tensor in two lists is read once
        read = {v: None for i, v in enumerate(ins) if v is not None and i // n not in self.unread}
        return moved((stored(v.type) for v in read), map(stored, outs))

    def read_parts(self, ins: Inputs) -> Parts:
        if not self.unread:
            return {}
        n = self.members(ins)
        sizes = ((i, stored(v.type) or 0) for i, v in enumerate(ins) if v is not None)
        return {i: 0 if i // n in self.unread else nbytes for i, nbytes in sizes}
