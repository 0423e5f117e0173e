"""Operators of whose operands nothing is known: no error, no number, and never a zero for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from perfc.errors import ShapeError
from perfc.ir.cost import Traffic, Work
from perfc.ir.graph import Value
from perfc.ir.op import Kind, Op
from perfc.ir.ops import load_all
from perfc.ir.tensors.types import DType, TensorType


def unknown() -> Value:
    return Value("x", TensorType(DType.UNKNOWN, None))


def operands_of(cls: type[Op]) -> Iterator[tuple[Value | None, ...]]:
    """All operands, and those alone that must be there."""
    count = len(cls.signature.names)
    yield tuple(unknown() for _ in range(count))
    required = cls.signature.required
    yield tuple(unknown() if i in required else None for i in range(count))
    yield tuple(unknown() for _ in required)


@pytest.mark.parametrize("cls", load_all().values(), ids=lambda cls: cls.mnemonic)
def test_what_is_not_known_is_no_error_and_no_number(cls: type[Op]) -> None:
    try:
        op = cls()
    except (TypeError, ValueError) as error:
        pytest.skip(f"it has attributes that must be given: {error}")
    for ins in operands_of(cls):
        try:
            outs = op.infer(ins)
        except ShapeError:
            continue
        except NotImplementedError:
            assert op.kind in (Kind.CONTROL, Kind.OPAQUE), cls.mnemonic
            continue
        assert isinstance(outs, tuple)
        if outs:
            letters = op.extents(ins, outs)
            assert isinstance(letters, Mapping)
        work, traffic = op.work(ins, outs), op.traffic(ins, outs)
        assert work is None or isinstance(work, Work)
        assert isinstance(traffic, Traffic)
        assert isinstance(op.read_parts(ins), Mapping)
        assert isinstance(op.fold(ins, outs), tuple)
        op.problem(ins, outs)
