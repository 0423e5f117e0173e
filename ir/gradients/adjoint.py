"""Input of a gradient rule: a node, gradients of its results, and the operands that need one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from perfc.errors import PassError

from .. import Inputs, Node, Op, Results, Shape, Value, mutable
from .tape import Tape, shape_of

Gradients: TypeAlias = "Mapping[int, Value | None]"
"""Gradients by position of the operand."""


@mutable
class Adjoint:
    """One node that is differentiated.

    Args:
        node: the node; a rule that needs an unused result adds it with ``result``, which replaces
            this field. The caller takes the node from here after the rule.
        of_results: gradients of its results by position, None for a result without one.
        wanted: for each operand True if it needs a gradient.
        tape: collects the nodes of the gradients.
    """

    node: Node
    of_results: Results
    wanted: tuple[bool, ...]
    tape: Tape

    @property
    def op(self) -> Op:
        """Return the operator."""
        return self.node.op

    @property
    def dy(self) -> Value:
        """Return the gradient of the first result.

        Raises:
            PassError: it has no gradient; only other results have one.
        """
        first = self.of_results[0]
        if first is None:
            raise self.error("the gradient of its first result alone is known")
        return first

    def wants(self, index: int) -> bool:
        """Return True if operand ``index`` is given and needs a gradient."""
        return index < len(self.wanted) and self.wanted[index]

    def has(self, index: int) -> bool:
        """Return True if operand ``index`` is given."""
        return index < len(self.node.inputs) and self.node.inputs[index] is not None

    def operand(self, index: int) -> Value:
        """Return operand ``index``.

        Raises:
            PassError: it is not given.
        """
        operand = self.node.inputs[index] if index < len(self.node.inputs) else None
        if operand is None:
            raise self.error(f"operand {index} is missing")
        return operand

    def shape(self, index: int = 0) -> Shape:
        """Return the shape of operand ``index``."""
        return shape_of(self.operand(index))

    def result(self, index: int = 0) -> Value:
        """Return result ``index`` of the forward node; an unused result is added to the node."""
        outputs = list(self.node.outputs)
        # operators drop trailing results that nothing reads
        outputs += [None] * (index + 1 - len(outputs))
        result = outputs[index]
        if result is None:
            type_ = self.op.infer(self.node.inputs)[index]
            name = self.tape.fresh(f"{self.node.name}.{index}")
            result = outputs[index] = Value(name, type_)
            self.node = replace(self.node, outputs=tuple(outputs))
        return result

    def in_one_kernel(self, grad_op: Op, ins: Inputs | None = None, count: int = 0) -> Gradients:
        """Return gradients of every operand that needs one, from one operator.

        Args:
            grad_op: operator whose results are the gradients of the operands, in their order.
            ins: operands of ``grad_op``; by default the gradient of the first result, then all
                operands of the node.
            count: number of operands that have a gradient, the first ones; 0 for all.
        """
        indices = [i for i in range(count or len(self.node.inputs)) if self.wants(i)]
        ins = (self.dy, *self.node.inputs) if ins is None else ins
        # results are known by position: all up to the last that is wanted
        gradients = self.tape.several(grad_op, ins, max(indices, default=-1) + 1)
        return {i: gradients[i] for i in indices}

    def error(self, why: str) -> PassError:
        """Return the error that this node has no gradient; ``--freeze`` would leave it out."""
        return PassError(
            f"no gradient of {self.op.mnemonic}: {why}", where=self.node.name, hint="--freeze GLOB"
        )
