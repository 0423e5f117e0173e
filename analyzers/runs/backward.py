"""Backward kernels of forward ones: what automatic differentiation launches, class by class.

Rules are those of PyTorch's derivatives (``derivatives.yaml`` and the kernels it names, 2.1):

- a product has two, one for each operand; a stored one also a sum for its bias;
- an addition has none, a product with a scalar one pointwise kernel, others read the gradient and
  what was saved;
- softmax multiplies gradient and result first, then reduces and combines: six passes;
- layer normalisation reads gradient and input twice, for its operand and for its parameters;
- dropout scales the gradient by its mask in two kernels;
- a stored tensor's gradient is added to the one that is there: three passes.

Left out: gradients through masks and index tensors, which need none; fused optimisers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from perfc.ir.op import Kind
from perfc.ir.ops.activation import Gelu, Relu, Sigmoid, Tanh
from perfc.ir.ops.elementwise import Div, Mul, Pow, Sqrt
from perfc.ir.ops.logic import Where
from perfc.ir.ops.random import Dropout

from ..features.lowering import Lowered, shape

if TYPE_CHECKING:
    from perfc.ir.graph import Node, Value
    from perfc.passes.roofline import KernelBound

ITEM = 4
SECOND_OPERAND = ((2, 1), (2, 1))
"""A product of two full tensors: each gradient needs the other operand."""


def backward(
    bound: KernelBound, forward: Lowered | None, env: Mapping[str, int]
) -> Iterator[Lowered]:
    """Kernels of the backward pass that one forward kernel has; gradients of parameters included.

    Args:
        bound: the forward kernel.
        forward: the same as a row of the operator predictor, None where no class knows it.
        env: values of the symbols.
    """
    for node in bound.kernel.nodes:
        yield from dropout(node, env)
    node = bound.kernel.anchor
    match bound.kernel.kind:
        case Kind.MATMUL if forward is not None:
            yield from of_product(forward)
        case Kind.SOFTMAX:
            yield from streams(elements(node.outputs[0], env), ((2, 1), (2, 1)))
        case Kind.NORMALIZATION:
            yield from streams(elements(node.inputs[0], env), ((2, 1), (2, 0), (2, 0)))
        case Kind.ELEMENTWISE:
            yield from pointwise(node, env)
        case Kind.GATHER if stored(node.inputs[0]):
            # a table's gradient is cleared before rows are added to it
            yield from streams(elements(node.inputs[0], env), ((0, 1),))
            yield from streams(elements(node.outputs[0], env), ((2, 1),))
        case _:
            pass
    for value in bound.kernel.reads:
        if stored(value) and bound.kernel.kind is not Kind.ELEMENTWISE:
            yield from streams(elements(value, env), ((2, 1),))


def dropout(node: Node, env: Mapping[str, int], *, forward: bool = False) -> Iterator[Lowered]:
    """Kernels of a dropout that drops, one forward and two backward; its mask is of bytes."""
    if not isinstance(node.op, Dropout) or not node.op.extents(
        node.inputs, tuple(v.type for v in node.outputs if v is not None)
    ).get("f"):
        return
    n = elements(node.inputs[0], env)
    parts = ((ITEM, ITEM + 1),) if forward else ((ITEM + 1, ITEM), (ITEM, ITEM))
    for read, written in parts:
        yield row(n, read * n, written * n, 1)


def of_product(forward: Lowered) -> Iterator[Lowered]:
    """Gradients of both operands; what is reduced becomes an extent, and the reverse."""
    p = forward.parameters
    m, n, k, batch = (float(p.get(name, 1.0)) for name in ("m", "n", "k", "batch"))
    for extents in ((m, k, n), (k, n, m)):
        named = dict(zip(("m", "n", "k"), extents, strict=True))
        yield Lowered(forward.class_name, forward.dtype, {**named, "batch": batch})
    if p.get("transposed"):
        yield from streams(m * n, ((1, 0),))


def pointwise(node: Node, env: Mapping[str, int]) -> Iterator[Lowered]:
    """By operator; none for those that pass their gradient on, or that no gradient reaches."""
    n = elements(node.outputs[0], env)
    full = [v for v in node.inputs if v is not None and elements(v, env) >= n]
    match node.op:
        case _ if not full:
            return
        case Mul() | Div() if len(full) > 1:
            yield from streams(n, SECOND_OPERAND)
        case Mul() | Div() | Where():
            yield from streams(n, ((1, 1),))
        case Relu() | Tanh() | Gelu() | Sigmoid() | Sqrt():
            yield from streams(n, ((2, 1),))
        case Pow():
            yield from streams(n, ((1, 1), (1, 1), (2, 1)))
        case _:
            return


def streams(n: float, parts: tuple[tuple[int, int], ...]) -> Iterator[Lowered]:
    """Pointwise kernels over ``n`` elements that read and write so many tensors each."""
    for read, written in parts:
        if n:
            yield row(n, ITEM * read * n, ITEM * written * n, max(read, 1))


def row(n: float, read_bytes: float, write_bytes: float, operands: int) -> Lowered:
    """A pointwise kernel."""
    return Lowered(
        "elementwise",
        "f32",
        {
            "elements": n,
            "read_bytes": read_bytes,
            "write_bytes": write_bytes,
            "alu": n,
            "operands": float(operands),
            "tensor_operands": float(operands),
        },
    )


def elements(value: Value | None, env: Mapping[str, int]) -> float:
    """Elements of a tensor, 0 where its shape is not known."""
    import math

    extents = shape(value, env)
    return float(math.prod(extents)) if extents is not None else 0.0


def stored(value: Value | None) -> bool:
    """Whether a tensor comes with the model, so that it has a gradient."""
    return value is not None and value.weight is not None
