"""What the backward pass of a kernel takes, beside its forward pass.

A product has two in its backward pass, one for each operand, whose extents are those of the
forward one in another order; both are predicted as kernels. Other kinds have factors:

- attention: five products for two, at 0.87 of the forward rate (T. Dao, "FlashAttention-2", 2023,
  figures 4 and 5);
- experts: two grouped products for each;
- normalisation and softmax: gradient and input are read, and read again for the parameters;
- pointwise kernels: gradient and saved operand are read, one gradient is written;
- an addition passes its gradient on, which is added to that of the other branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from perfc.analyzers.features.lowering import Lowered, lower
from perfc.ir.op import Kind
from perfc.ir.ops.elementwise import Add
from perfc.ir.ops.moe import MoE
from perfc.ir.record import record
from perfc.passes.fuse import Kernel
from perfc.passes.roofline import KernelBound

ATTENTION = 2.5 / 0.87
FACTORS: Mapping[Kind, float] = {
    Kind.ATTENTION: ATTENTION,
    Kind.NORMALIZATION: 2.0,
    Kind.SOFTMAX: 1.5,
    Kind.GATHER: 2.0,
    Kind.COLLECTIVE: 0.0,
    Kind.RECURRENT: 2.0,
    Kind.CONV: 2.0,
    Kind.POOL: 1.0,
    Kind.MATMUL: 2.0,
}
USUAL = 1.5
ADDITION = 1.0
EXPERTS = 2.0


@record
class Split:
    """Seconds of the backward pass of a kernel.

    Args:
        input_s: for the gradient of what it reads, which the kernel before waits for.
        weight_s: for the gradients of its parameters, which nothing waits for but the optimiser.
    """

    input_s: float
    weight_s: float


def has_parameters(kernel: Kernel) -> bool:
    """Whether it reads parameters."""
    return any(v.weight is not None and v.weight.is_parameter for v in kernel.reads)


def products(bound: KernelBound, env: Mapping[str, int]) -> tuple[Lowered, Lowered] | None:
    """The two products of the backward pass of one: for its input, then for its weight."""
    row = lower(bound, env) if bound.kernel.kind is Kind.MATMUL else None
    if row is None or row.class_name != "matmul":
        return None
    p = row.parameters
    rest = {name: value for name, value in p.items() if name not in ("m", "n", "k")}
    of_input = {**rest, "m": p["m"], "n": p["k"], "k": p["n"]}
    of_weight = {**rest, "m": p["n"], "n": p["k"], "k": p["m"]}
    return (
        Lowered(row.class_name, row.dtype, of_input),
        Lowered(row.class_name, row.dtype, of_weight),
    )


def by_factor(kernel: Kernel, forward_s: float) -> Split:
    """Of a kernel that is no product."""
    kind = kernel.kind
    if isinstance(kernel.anchor.op, MoE):
        return Split(EXPERTS / 2 * forward_s, EXPERTS / 2 * forward_s)
    if isinstance(kernel.anchor.op, Add):
        return Split(ADDITION * forward_s, 0.0)
    return Split(FACTORS.get(kind, USUAL) * forward_s, 0.0)


def columns(rows: Sequence[Lowered]) -> Iterator[tuple[tuple[str, str], list[int]]]:
    """Places of rows by class and element type."""
    groups: dict[tuple[str, str], list[int]] = {}
    for at, row in enumerate(rows):
        groups.setdefault((row.class_name, row.dtype), []).append(at)
    yield from groups.items()
