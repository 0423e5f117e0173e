"""Functions are put in place of their calls; standard bodies stand in for missing operators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import onnx
import pytest
from onnx import helper

import perfc.frontend.lowering.lower as lowering
from perfc.api import typed
from perfc.errors import ModelError
from perfc.frontend import load
from perfc.passes.manager import Analyses
from perfc.passes.roofline.cost import Cost, Tier
from tests.frontend.test_lower import model, node, output, value

F1 = [("", 17), ("f", 1)]


def function(
    name: str,
    inputs: list[str],
    outputs: list[str],
    *nodes: onnx.NodeProto,
    attributes: tuple[str, ...] = (),
) -> onnx.FunctionProto:
    imports = [helper.make_opsetid(*i) for i in F1]
    return helper.make_function("f", name, inputs, outputs, list(nodes), imports, list(attributes))


def call(name: str, inputs: list[str], outputs: list[str], **attributes: object) -> onnx.NodeProto:
    return node(name, inputs, outputs, domain="f", **attributes)


def test_a_function_is_replaced_by_its_nodes() -> None:
    twice = function("Twice", ["a"], ["b"], node("Relu", ["a"], ["m"]), node("Abs", ["m"], ["b"]))
    made = [call("Twice", ["x"], ["h"]), call("Twice", ["h"], ["y"])]
    m = typed(model(made, imports=F1, functions=[twice]))
    assert [n.op.mnemonic for n in m.graph.nodes] == ["relu", "abs"] * 2
    assert output(m) == "f32[2, 3]"
    names = [v.name for n in m.graph.nodes for v in n.results]
    assert len(set(names)) == len(names)


def test_an_attribute_of_the_call_reaches_the_body() -> None:
    soft = node("Softmax", ["a"], ["b"])
    soft.attribute.append(onnx.AttributeProto(name="axis", type=2, ref_attr_name="dim"))
    made = function("Soft", ["a"], ["b"], soft, attributes=("dim",))
    m = typed(model([call("Soft", ["x"], ["y"], dim=0)], imports=F1, functions=[made]))
    assert m.graph.nodes[0].op.axis == 0  # type: ignore[attr-defined]
    m = typed(model([call("Soft", ["x"], ["y"])], imports=F1, functions=[made]))
    assert m.graph.nodes[0].op.axis == -1  # type: ignore[attr-defined]


def test_an_input_the_call_leaves_out_is_left_out_inside() -> None:
    made = function("Limit", ["a", "low"], ["b"], node("Clip", ["a", "low"], ["b"]))
    m = typed(model([call("Limit", ["x"], ["y"])], imports=F1, functions=[made]))
    assert m.graph.nodes[0].inputs[1:] in ((), (None,))


def test_names_of_a_body_do_not_meet_those_of_the_graph() -> None:
    made = function("F", ["x"], ["y"], node("Shape", ["x"], ["h"]), node("Abs", ["x"], ["y"]))
    nodes = [node("Relu", ["x"], ["h"]), call("F", ["h"], ["z"]), node("Abs", ["h"], ["y"])]
    m = typed(model(nodes, imports=F1, functions=[made], value_info=[value("h", (2, 3))]))
    assert output(m) == "f32[2, 3]"
    shape = next(n for n in m.graph.nodes if n.op.mnemonic == "shape")
    assert str(shape.results[0].type) == "i64[2]"


def test_a_function_without_its_output_is_refused() -> None:
    made = function("F", ["a"], ["b"], node("Relu", ["a"], ["other"]))
    with pytest.raises(ModelError, match="function F does not make its output 'b'"):
        load(model([call("F", ["x"], ["y"])], imports=F1, functions=[made]))


def test_a_function_that_calls_itself_is_refused() -> None:
    made = function("F", ["a"], ["b"], call("F", ["a"], ["b"]))
    with pytest.raises(ModelError, match="deeper than"):
        load(model([call("F", ["x"], ["y"])], imports=F1, functions=[made]))


def test_functions_that_double_at_every_level_are_stopped() -> None:
    made = [function("F0", ["a"], ["b"], node("Relu", ["a"], ["b"]))]
    for i in range(1, 40):
        inner = [call(f"F{i - 1}", ["a"], ["c"]), call(f"F{i - 1}", ["c"], ["b"])]
        made.append(function(f"F{i}", ["a"], ["b"], *inner))
    with pytest.raises(ModelError, match="functions expand to more than"):
        load(model([call("F39", ["x"], ["y"])], imports=F1, functions=made))


@contextmanager
def without(monkeypatch: pytest.MonkeyPatch, op_type: str) -> Iterator[None]:
    """No operator of ours for one of the standard domain."""
    known, find = dict(lowering.OPERATORS), lowering.operator_for
    known.pop(op_type, None)
    with monkeypatch.context() as patch:
        patch.setattr(lowering, "OPERATORS", known)
        patch.setattr(
            lowering,
            "operator_for",
            lambda domain, name: None if (domain, name) == ("", op_type) else find(domain, name),
        )
        yield


STANDARD = {
    "Gelu": (node("Gelu", ["x"], ["y"]), 20),
    "Softplus": (node("Softplus", ["x"], ["y"]), 18),
    "LogSoftmax": (node("LogSoftmax", ["x"], ["y"], axis=0), 18),
    "Clip": (node("Clip", ["x"], ["y"]), 17),
    "MeanVarianceNormalization": (node("MeanVarianceNormalization", ["x"], ["y"], axes=[0]), 17),
    "LayerNormalization": (node("LayerNormalization", ["x", "w"], ["y"]), 17),
    "ReduceSumSquare": (node("ReduceSumSquare", ["x"], ["y"], keepdims=0), 18),
    "HardSwish": (node("HardSwish", ["x"], ["y"]), 18),
}


@pytest.mark.parametrize("name", STANDARD)
def test_a_standard_body_gives_the_types_of_the_operator(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, version = STANDARD[name]
    weights = [helper.make_tensor("w", 1, (3,), [1.0, 1.0, 1.0])]
    data = model([made], weights=weights, imports=[("", version)])
    own = typed(data)
    with without(monkeypatch, name):
        expanded = typed(data)
    assert output(expanded) == output(own)
    assert len(expanded.graph.nodes) >= 1
    assert all(n.loc.is_expanded and n.loc.op_type == name for n in expanded.graph.nodes)
    cost = Analyses().get(Cost(), expanded)
    assert {c.tier for c in cost.nodes.values()} == {Tier.EXPANDED}
    assert not cost.is_bound


def test_an_operator_that_nobody_describes_stays_opaque(monkeypatch: pytest.MonkeyPatch) -> None:
    with without(monkeypatch, "MatMul"):
        m = typed(model([node("MatMul", ["x", "x"], ["y"])], [value("x", (3, 3))]))
    assert [n.op.mnemonic for n in m.graph.nodes] == ["opaque"]


def test_other_domains_are_not_looked_up_in_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> object:
        raise AssertionError("looked up")

    monkeypatch.setattr(onnx.defs, "get_schema", refuse)
    m = load(model([node("Gelu", ["x"], ["y"], domain="com.foo")]))
    assert [n.op.mnemonic for n in m.graph.nodes] == ["opaque"]
