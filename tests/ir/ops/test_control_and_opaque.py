"""Control flow and unknown operators say no more than they know."""

from __future__ import annotations

from perfc.ir.graph import Value
from perfc.ir.op import Kind
from perfc.ir.ops.control.control import If, Loop, Scan, SequenceMap
from perfc.ir.ops.opaque import Opaque
from perfc.ir.tensors.types import UNKNOWN, DType, TensorType


def test_control_operators_are_marked_as_such() -> None:
    assert {op.kind for op in (If, Loop, Scan, SequenceMap)} == {Kind.CONTROL}


def test_only_the_first_scan_has_a_batch() -> None:
    assert Scan.adapt({}, 8) == {"has_batch": True}
    assert Scan.adapt({}, 9) == {}


def test_an_unknown_operator_is_never_free() -> None:
    op = Opaque(name="com.example::Foo", num_outputs=2)
    ins = (Value("x", TensorType(DType.F32, (4,))),)
    outs = op.infer(ins)
    assert outs == (UNKNOWN, UNKNOWN)
    assert op.work(ins, outs) is None
    traffic = op.traffic(ins, outs)
    assert traffic.is_bound
    # it may look up a row of a table: only its results are certain
    assert traffic.read_bytes == 0
    counted = Opaque(name="com.example::Foo", num_outputs=2, flop=8)
    assert counted.traffic(ins, outs).read_bytes == 16
