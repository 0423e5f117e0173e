"""Losses of a training step; each is a file of its name in ``losses``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from perfc.errors import PassError
from perfc.ir import Node, Value, entity
from perfc.ir.gradients.tape import Tape, shape_of

from . import losses

LEAST_VOCABULARY = 1000
"""Minimum last extent of a result of rank 3 that counts as scores of words, not as features.

Features that are as wide need ``--loss mean``.
"""


@entity
class Head:
    """Loss of a training step, with the inputs that it adds to the step.

    Args:
        loss: scalar loss.
        inputs: additional inputs of the step, such as labels.
    """

    loss: Value
    inputs: tuple[Value, ...] = ()


Loss = Callable[[Tape, Sequence[Value], Sequence[Node]], Head]


@cache
def names() -> tuple[str, ...]:
    """Return the names of all losses, as ``--loss`` accepts them."""
    return tuple(sorted(m.name.replace("_", "-") for m in iter_modules(losses.__path__)))


def head(name: str, tape: Tape, outputs: Sequence[Value], nodes: Sequence[Node]) -> Head:
    """Return the loss ``name`` of a model's results.

    Raises:
        PassError: there is no such loss, or no result that it applies to.
    """
    # integers and truth values have no gradients
    real = [v for v in outputs if v.is_real]
    if not real:
        raise PassError(
            f"only real numbers have gradients, and results are of {types_of(outputs)}",
            hint="a step is computed in f32, bf16, f16 or amp-f16",
            where="--train",
        )
    chosen = name or fitting(real[0])
    if chosen not in names():
        raise PassError(f"no loss {chosen[:32]!r}", hint=", ".join(names()), where="--loss")
    module = import_module(f"{losses.__name__}.{chosen.replace('-', '_')}")
    loss: Loss = module.head
    return loss(tape, real, nodes)


def types_of(values: Sequence[Value]) -> str:
    """Return the distinct types of ``values``, as error messages name them."""
    return ", ".join(sorted({str(v.type) for v in values})) or "no tensor"


def fitting(result: Value) -> str:
    """Return ``cross-entropy`` for scores of classes or words, else ``mean``."""
    try:
        shape = shape_of(result)
    except ValueError:
        return "mean"
    last = shape[-1] if shape else 1
    is_vocabulary = isinstance(last, int) and last >= LEAST_VOCABULARY
    # one column is a number, not a class; three axes are sequences of words
    is_scores = (len(shape) == 2 and last != 1) or (len(shape) == 3 and is_vocabulary)
    return "cross-entropy" if is_scores else "mean"
