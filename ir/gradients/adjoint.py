"""What a rule is asked: one node, the gradients of its results, and which operands want one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from perfc.errors import PassError

from ..graph import Node, Value
from ..op import Op
from ..record import mutable
from ..types import TensorType
from .tape import Tape, shape_of

if TYPE_CHECKING:
    from ..types import Shape

Gradients: TypeAlias = "Mapping[int, Value | None]"
"""By the position of the operand."""


@mutable
class Adjoint:
    """One node that is differentiated.

    Args:
        node: it; a rule that needs a result nobody asked for adds it by ``result``.
        of_results: gradients of its results by position, None where none arrives.
        wanted: whether each operand wants a gradient.
        tape: what the gradients are written on.
    """

    node: Node
    of_results: tuple[Value | None, ...]
    wanted: tuple[bool, ...]
    tape: Tape

    @property
    def op(self) -> Op:
        """The operator."""
        return self.node.op

    @property
    def dy(self) -> Value:
        """The gradient of the first result.

        Raises:
            PassError: there is none; only others have one.
        """
        first = self.of_results[0]
        if first is None:
            raise self.error("the gradient of its first result alone is known")
        return first

    def wants(self, index: int) -> bool:
        """Whether operand ``index`` is given and wants a gradient."""
        return index < len(self.wanted) and self.wanted[index]

    def has(self, index: int) -> bool:
        """Whether operand ``index`` is given."""
        return index < len(self.node.inputs) and self.node.inputs[index] is not None

    def operand(self, index: int) -> Value:
        """Operand ``index``.

        Raises:
            PassError: it is not given.
        """
        found = self.node.inputs[index] if index < len(self.node.inputs) else None
        if found is None:
            raise self.error(f"operand {index} is missing")
        return found

    def shape(self, index: int = 0) -> Shape:
        """Extents of operand ``index``."""
        return shape_of(self.operand(index))

    def result(self, index: int = 0) -> Value:
        """Result ``index`` of the forward node, which then is computed and kept."""
        outputs = list(self.node.outputs)
        outputs += [None] * (index + 1 - len(outputs))
        found = outputs[index]
        if found is None:
            type_ = self.op.infer(self.node.inputs)[index]
            name = self.tape.fresh(f"{self.node.name}.{index}")
            found = outputs[index] = Value(name, type_)
            self.node = replace(self.node, outputs=tuple(outputs))
        return found

    def same_shape(self, index: int) -> bool:
        """Whether operand ``index`` has the extents of the gradient."""
        type_ = self.operand(index).type
        return isinstance(type_, TensorType) and type_.shape == shape_of(self.dy)

    def in_one_kernel(self, made: Op) -> Gradients:
        """Gradients of every operand that wants one, from one operator that reads all of them.

        Args:
            made: reads the gradient of the first result, then the operands; gives one of each.
        """
        indices = [i for i in range(len(self.node.inputs)) if self.wants(i)]
        found = self.tape.several(made, (self.dy, *self.node.inputs), max(indices) + 1)
        return {i: found[i] for i in indices}

    def error(self, why: str) -> PassError:
        """That this node has no gradient."""
        return PassError(
            f"no gradient of {self.op.mnemonic}: {why}", where=self.node.name, hint="--freeze GLOB"
        )
