"""Optimizers as the kernels that they launch; each is the file of its name in ``optimizers``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from perfc.errors import PassError
from perfc.ir import DType, Shape, TensorType, Value, Weight, frozen, record
from perfc.ir.gradients.tape import Tape
from perfc.ir.ops.training.multi_tensor import MultiTensor

from . import optimizers
from .implementation import OptimizerLaunch


@record
class ListKernel:
    """One kernel over lists of tensors.

    Args:
        function: PyTorch's name of the operation.
        reads: letters of the lists that are read: ``p`` parameters, ``g`` gradients; other letters
            are states or temporary lists.
        writes: letters of the lists that are written; a letter that is not read is a new list.
        unread: lists that are written over without being read.
        alu: operations an element on the vector unit.
        sfu: operations an element on the special-function unit.
    """

    function: str
    reads: str
    writes: str
    alu: int = 1
    sfu: int = 0
    unread: str = ""

    def narrowing(self) -> ListKernel:
        """Return the kernel that also writes the narrow copies ``w`` of parameters."""
        return replace(self, reads=f"{self.reads}w", writes=f"{self.writes}w", unread="w")


@frozen
class ListOptimizer:
    """An optimizer whose kernels go over lists of tensors.

    Args:
        name: value of ``--train``.
        title: full name.
        states: letter and name of each state that has the shape of the parameter.
        foreach: kernels over lists of tensors, one for each operation.
        fused: one kernel for all operations; None if there is none.
        alone: kernels that update one tensor at a time; by default the kernels of ``foreach``.
        source: where the kernels were read.
    """

    name: str
    title: str
    states: Mapping[str, str] = field(default_factory=dict)
    foreach: tuple[ListKernel, ...] = ()
    fused: ListKernel | None = None
    alone: tuple[ListKernel, ...] = ()
    source: str = ""

    @property
    def state_bytes(self) -> float:
        """Return the bytes of optimizer state per element of a large matrix, for 32-bit states."""
        return 4.0 * len(self.states)

    def update(
        self, tape: Tape, trained: Sequence[tuple[Value, Value]], how: OptimizerLaunch
    ) -> tuple[list[Value], list[Value]]:
        """Write the update of parameters by their gradients.

        Args:
            tape: takes the kernels.
            trained: parameters with their gradients.
            how: launch of the kernels.

        Returns:
            new values of parameters and states, and the states before, which are stored tensors.
        """
        lists = {"p": [p for p, _ in trained], "g": [g for _, g in trained]}
        stored: list[Value] = []
        for letter, name in self.states.items():
            lists[letter] = [state_like(tape, p, name) for p, _ in trained]
            stored += lists[letter]
        # one kernel for each operation, unless another launch is chosen
        steps = self.foreach
        size = len(trained)
        if how is OptimizerLaunch.FUSED and self.fused:
            steps = (self.fused,)
        elif how is OptimizerLaunch.SINGLE:
            steps = self.alone or steps
            size = 1
        # one group of all parameters, or one group for each
        groups = [
            {letter: values[i : i + size] for letter, values in lists.items()}
            for i in range(0, len(trained), size)
        ]
        for group in groups:
            for step in steps:
                apply(tape, step, group)
        updated = [v for letter in ("p", *self.states) for group in groups for v in group[letter]]
        return updated, stored

    def narrowed(
        self, tape: Tape, masters: Sequence[Value], trained: Sequence[tuple[Value, Value]]
    ) -> tuple[list[Value], list[Value]]:
        """Write the fused update of master copies by narrow gradients; it also writes parameters.

        Returns:
            new values of parameters, masters and states, and the masters and states before, which
            are stored tensors.
        """
        assert self.fused is not None
        # the masters take the place of the parameters, which are the narrow copies
        lists = {"p": list(masters), "g": [g for _, g in trained], "w": [p for p, _ in trained]}
        for letter, name in self.states.items():
            lists[letter] = [state_like(tape, p, name) for p in masters]
        stored = [*masters, *(v for letter in self.states for v in lists[letter])]
        apply(tape, self.fused.narrowing(), lists)
        return [v for letter in ("w", "p", *self.states) for v in lists[letter]], stored


def apply(tape: Tape, step: ListKernel, lists: dict[str, list[Value]]) -> None:
    """Write one kernel; the lists that it writes stand for their new contents."""
    ins = tuple(v for letter in step.reads for v in lists[letter])
    overwritten = [letter for letter in step.writes if letter in step.reads]
    new = [letter for letter in step.writes if letter not in step.reads]
    op = MultiTensor(
        step.function,
        lists=len(step.reads),
        written=tuple(step.reads.index(x) for x in overwritten),
        fresh=len(new),
        alu=step.alu,
        sfu=step.sfu,
        unread=tuple(map(step.reads.index, step.unread)),
    )
    members = len(ins) // len(step.reads)
    names = [f"{v.name}.next" for x in overwritten for v in lists[x]]
    names += [f"{step.function}.{i}" for _ in new for i in range(members)]
    results = tape.named(op, ins, names, step.function)
    for position, letter in enumerate((*overwritten, *new)):
        lists[letter] = list(results[position * members : (position + 1) * members])


def state_like(
    tape: Tape, p: Value, name: str, dtype: DType | None = None, shape: Shape | None = None
) -> Value:
    """Return a state of a parameter: like it, or of another type or shape."""
    assert isinstance(p.type, TensorType)
    type_ = TensorType(dtype or p.type.dtype, p.type.shape if shape is None else shape)
    weight = Weight(type_.known_nbytes, is_parameter=False, is_state=True)
    return Value(tape.fresh(f"{p.name}.{name}"), type_, None, weight)


@cache
def names() -> tuple[str, ...]:
    """Return every optimizer there is, as ``--train`` takes it."""
    return tuple(sorted(m.name for m in iter_modules(optimizers.__path__)))


def optimizer(name: str) -> ListOptimizer:
    """Return the optimizer ``name``.

    Raises:
        PassError: there is none.
    """
    if name not in names():
        raise PassError(f"no optimizer {name[:32]!r}", hint=", ".join(names()), where="--train")
    result: ListOptimizer = import_module(f"{optimizers.__name__}.{name}").OPTIMIZER
    return result
