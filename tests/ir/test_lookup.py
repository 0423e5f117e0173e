"""Operators are found by the text of the files that define them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from perfc.ir import ops
from perfc.ir.op import BY_ONNX


def test_every_defined_operator_is_found_without_a_list() -> None:
    loaded = ops.load_all()
    assert set(ops.mnemonics()) == set(loaded)
    assert {n: ops.operator(n) for n in loaded} == loaded
    for name, cls in BY_ONNX.items():
        domain, _, op_type = name.rpartition("::")
        assert ops.operator_for(domain, op_type) is cls


def test_the_standard_domain_has_two_names() -> None:
    assert ops.operator_for("ai.onnx", "MatMul") is ops.operator_for("", "MatMul")


def test_unknown_operators_are_not_found() -> None:
    assert ops.operator_for("", "Nothing") is None
    assert ops.operator_for("com.microsoft", "MatMul") is None
    with pytest.raises(KeyError):
        ops.operator("nothing")


def test_looking_one_up_loads_only_its_family() -> None:
    code = (
        "import sys; from perfc.ir import ops; ops.operator_for('', 'MatMul');"
        "print([m for m in sys.modules if m.startswith('perfc.ir.ops.')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "perfc.ir.ops.matmul" in out.stdout
    assert "perfc.ir.ops.conv" not in out.stdout
