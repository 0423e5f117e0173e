"""Operations on complex numbers as those on real numbers that units execute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfc.common.fitted import data_next_to

from .cost import Work, dim_sum
from .graph import Inputs
from .op import Kind, Op, Types, count, tensor
from .problem import Problem, Product
from .tensors.types import DType

PARTS: Mapping[DType, DType] = {DType.C64: DType.F32, DType.C128: DType.F64}
"""Element types of real and imaginary parts."""
PRODUCTS = 4
"""Real products of a complex one: libraries of matrix products do not save the fourth."""
CONV_PRODUCTS = 3
"""Real convolutions of a complex one, as PyTorch splits it. Source: aten/src/ATen/native/
Convolution.cpp, ``complex_convolution``."""


def real_work(op: Op, ins: Inputs, outs: Types) -> Work | None:
    """Return `Op.work` with each operation on complex numbers as the real ones that it takes.

    A function that is not in the table counts one for each part, a lower bound.
    """
    work = op.work(ins, outs)
    are_complex = [tensor(ins, i).dtype in PARTS for i in range(len(ins))]
    # transforms count real operations
    if work is None or True not in are_complex or op.kind is Kind.SIGNAL:
        return work
    both = all(are_complex[:2])
    if work.mac:
        is_conv = op.kind is Kind.CONV
        times = (CONV_PRODUCTS if is_conv else PRODUCTS) if both else 2
        least = None if work.effective_mac is None else work.effective_mac * times
        # three convolutions are of the parts and of their sums, and give their differences
        read = (count(tensor(ins, 0)), count(tensor(ins, 1)))
        sums = dim_sum((*read, count(outs[0]) * 3)) if is_conv and both else 0
        alu = work.alu * 2 + sums
        return replace(work, mac=work.mac * times, alu=alu, effective_mac=least)
    operations = work.alu + work.sfu
    alu, sfu, *one_complex = _table().get(op.mnemonic, (0, 0))
    if one_complex and not both and (are_complex[0] or op.is_commutative):
        alu, sfu = one_complex
    if not alu + sfu:
        is_bound = work.is_bound or operations != 0
        return replace(work, alu=work.alu * 2, sfu=work.sfu * 2, is_bound=is_bound)
    return replace(work, alu=operations * alu, sfu=operations * sfu)


def real_problem(op: Op, ins: Inputs, outs: Types) -> Problem | None:
    """Return `Op.problem`; a complex product is one of the real matrices [[a, -b], [b, a]]."""
    problem = op.problem(ins, outs)
    if isinstance(problem, Product) and tensor(ins, 0).dtype in PARTS:
        return problem._replace(m=problem.m * 2, k=problem.k * 2)
    return problem


def _table() -> Mapping[str, tuple[int, ...]]:
    table: Mapping[str, tuple[int, ...]] = data_next_to(__file__)
    return table
