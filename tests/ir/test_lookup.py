"""Operators are found by the text of the files that define them."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from perfc.ir import ops
from perfc.ir.op import BY_ONNX
from perfc.ir.ops.elementwise import activation, rounding
from perfc.passes.fusion.patterns import PATTERNS, finder
from perfc.passes.fusion.windows import WINDOWS
from perfc.passes.runtimes import tables


def test_every_defined_operator_is_found_without_a_list() -> None:
    loaded = ops.load_all()
    assert set(ops.mnemonics()) == set(loaded)
    assert {n: ops.operator(n) for n in loaded} == loaded
    for name, cls in BY_ONNX.items():
        domain, _, op_type = name.rpartition("::")
        assert ops.operator_for(domain, op_type) is cls


def test_tables_of_patterns_and_runtimes_name_operators_that_there_are() -> None:
    known = set(ops.mnemonics())
    for name, pattern in PATTERNS.items():
        assert {s for s in pattern.starts if isinstance(s, str)} <= known, name
        assert callable(finder(pattern.place)), name
    tags = known | {pattern.tag for pattern in PATTERNS.values()}
    for table in tables():
        assert table.views - {WINDOWS} <= known, table.name
        for only in table.epilogue_tags.values():
            assert only <= tags, table.name


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
    assert "perfc.ir.ops.contraction.matmul" in out.stdout
    assert "perfc.ir.ops.convolution.conv" not in out.stdout


def test_rows_of_a_table_are_classes_like_any_other() -> None:
    exp, elu = ops.operator("exp"), ops.operator_for("", "Elu")
    assert exp is rounding.Exp
    assert exp.signature.required == (0,)
    assert exp() == exp() != rounding.Log()
    assert pickle.loads(pickle.dumps(exp())) == exp()
    assert elu is activation.Elu
    assert str(activation.Elu(**{"alpha": 0.5})) == "elu {alpha=0.5}"
    assert hash(activation.Elu()) == hash(activation.Elu(**{"alpha": 1.0}))


def test_a_row_says_what_a_class_would() -> None:
    assert activation.Mish.__doc__ == (
        "``x * tanh(log(1 + exp(x)))``. Source: ONNX Mish-22; arXiv:1908.08681."
    )
    assert activation.QuickGelu.__doc__ == (
        "``x * sigmoid(alpha * x)``. Source: ONNX Runtime contrib QuickGelu-1."
    )
    assert activation.QuickGelu.onnx == "com.microsoft::QuickGelu"
    assert dict(activation.QuickGelu.formulas) == {"alu": "3*f", "sfu": "2*f", "integer": "5*i"}
