"""Lowering takes what is odd but clear, and refuses the rest in one line that names the node."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
import pytest
from onnx import TensorProto, helper

from perfc.api import typed
from perfc.errors import ModelError, PerfcError, ShapeError
from perfc.frontend import load
from perfc.ir.graph import Module
from perfc.ir.ops.opaque import Opaque
from perfc.ir.tensors.types import DType, TensorType

node = helper.make_node


def value(
    name: str, shape: Sequence[object] | None = (2, 3), dtype: int = 1
) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto] | None = None,
    outputs: Sequence[onnx.ValueInfoProto] | None = None,
    weights: Sequence[onnx.TensorProto] = (),
    imports: Sequence[tuple[str, int]] = (("", 17),),
    functions: Sequence[onnx.FunctionProto] = (),
    value_info: Sequence[onnx.ValueInfoProto] = (),
) -> bytes:
    graph = helper.make_graph(
        list(nodes),
        "g",
        [value("x")] if inputs is None else list(inputs),
        [value("y", None)] if outputs is None else list(outputs),
        list(weights),
        value_info=list(value_info),
    )
    made = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid(*i) for i in imports],
        functions=list(functions),
        ir_version=10,
    )
    return bytes(made.SerializeToString())


def zeros(name: str, *shape: int) -> onnx.TensorProto:
    count = 1
    for d in shape:
        count *= d
    return helper.make_tensor(name, 1, shape, [0.0] * count)


def output(module: Module, at: int = 0) -> str:
    return str(module.graph.outputs[at].type)


def with_attribute(made: onnx.NodeProto, name: str, content: object) -> onnx.NodeProto:
    made.attribute.append(helper.make_attribute(name, content))
    return made


CONDITION = value("c", (), TensorProto.BOOL)


def branch(*nodes: onnx.NodeProto, out: str = "a", **declared: Sequence[object]) -> onnx.GraphProto:
    infos = [value(name, shape) for name, shape in declared.items()]
    return helper.make_graph(list(nodes), "b", [], [value(out, None)], value_info=infos)


def test_two_nodes_of_one_name_are_two_nodes() -> None:
    m = typed(model([node("Relu", ["x"], ["a"], name="n"), node("Abs", ["a"], ["y"], name="n")]))
    assert [n.op.mnemonic for n in m.graph.nodes] == ["relu", "abs"]


def test_a_value_made_twice_is_refused_with_its_node() -> None:
    twice = model(
        [node("Relu", ["x"], ["y"], name="first"), node("Abs", ["x"], ["y"], name="other")]
    )
    with pytest.raises(ModelError, match=r"node 'other' \(Abs\): 'y' is made twice"):
        load(twice)


@pytest.mark.parametrize("taken", ["x", "w"])
def test_a_node_cannot_make_an_input_or_a_weight(taken: str) -> None:
    made = [node("Relu", ["x"], [taken]), node("Relu", ["x"], ["y"])]
    with pytest.raises(ModelError, match="made twice"):
        load(model(made, weights=[zeros("w", 2, 3)]))


def test_an_inner_name_hides_the_outer_one_inside_only() -> None:
    then = branch(node("Shape", ["x"], ["a"]))
    otherwise = branch(node("Shape", ["x"], ["a"]))
    made = [
        node("Relu", ["x"], ["a"]),
        node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise),
        node("Abs", ["a"], ["z"]),
    ]
    m = typed(model(made, [value("x"), CONDITION], [value("y", None, 7), value("z", None)]))
    assert output(m) == "i64[2]"
    assert output(m, 1) == "f32[2, 3]"


def test_a_declared_type_holds_for_the_graph_that_declares_it() -> None:
    """Both graphs declare a value of one name; an opaque operator has nothing else to go by."""
    foo = node("Foo", ["x"], ["a"], domain="com.foo")
    then = branch(foo, a=(7,))
    made = [
        node("Foo", ["x"], ["a"], domain="com.foo"),
        node("If", ["c"], ["y"], then_branch=then, else_branch=then),
        node("Identity", ["a"], ["z"]),
    ]
    bytes_ = model(
        made,
        [value("x"), CONDITION],
        [value("y", None), value("z", None)],
        imports=[("", 17), ("com.foo", 1)],
        value_info=[value("a", (5, 5))],
    )
    m = typed(bytes_)
    assert output(m, 1) == "f32[5, 5]"
    conditional = next(n for n in m.graph.nodes if n.regions)
    assert str(conditional.regions[0].outputs[0].type) == "f32[7]"


def test_a_loop_argument_hides_the_outer_value_of_its_name() -> None:
    body = helper.make_graph(
        [
            node("Identity", ["c"], ["c2"]),
            node("Shape", ["x"], ["s"]),
            node("Add", ["x", "x"], ["x2"]),
        ],
        "body",
        [value("i", (), 7), CONDITION, value("x", None)],
        [value("c2", (), 9), value("x2", None), value("s", None, 7)],
    )
    trips = helper.make_tensor("m", 7, (), [3])
    made = [node("Relu", ["x"], ["h"]), node("Loop", ["m", "", "h"], ["y", "s3"], body=body)]
    m = typed(model(made, outputs=[value("y", None), value("s3", None, 7)], weights=[trips]))
    assert output(m) == "f32[2, 3]"
    assert output(m, 1) == "i64[3, 2]"


def test_an_initializer_that_is_also_an_input_is_a_weight() -> None:
    m = typed(
        model(
            [node("Add", ["x", "w"], ["y"])], [value("x"), value("w")], weights=[zeros("w", 2, 3)]
        )
    )
    assert [v.name for v in m.graph.inputs] == ["x"]
    assert m.graph.weights[0].weight is not None
    assert m.graph.weights[0].weight.is_parameter


def test_outputs_may_be_inputs_and_weights() -> None:
    outs = [value("x"), value("w"), value("y", None), value("y", None)]
    m = typed(model([node("Relu", ["x"], ["y"])], outputs=outs, weights=[zeros("w", 2, 3)]))
    assert m.graph.outputs[0] is m.graph.inputs[0]
    assert m.graph.outputs[1] is m.graph.weights[0]
    assert m.graph.outputs[2] is m.graph.outputs[3]


def test_an_unnamed_node_is_called_after_its_output() -> None:
    (relu,) = typed(model([node("Relu", ["x"], ["y"])])).graph.nodes
    assert relu.name == "y"


def test_a_node_without_operator_is_refused() -> None:
    with pytest.raises(ModelError, match="node 'y': a node names no operator"):
        load(model([node("", ["x"], ["y"])]))


def test_an_undefined_input_names_node_and_value() -> None:
    with pytest.raises(ModelError, match="node 'n': input 'zz' of Relu is made by no node"):
        load(model([node("Relu", ["zz"], ["y"], name="n")]))


def test_an_undefined_output_is_refused() -> None:
    with pytest.raises(ModelError, match="output 'y' is made by no node"):
        load(model([node("Relu", ["x"], ["q"])]))


@pytest.mark.parametrize("imports", [(), (("ai.onnx.ml", 3),), (("ai.onnx", 17),), (("", 999),)])
def test_imports_may_be_missing_spelt_out_or_newer(imports: tuple[tuple[str, int], ...]) -> None:
    assert output(typed(model([node("Softmax", ["x"], ["y"])], imports=imports))) == "f32[2, 3]"


def test_a_missing_import_reads_as_the_newest() -> None:
    """Before version 13 Softmax had axis 1 and flattened what followed."""
    (old,) = typed(model([node("Softmax", ["x"], ["y"])], imports=[("", 12)])).graph.nodes
    (none,) = typed(model([node("Softmax", ["x"], ["y"])], imports=[])).graph.nodes
    (new,) = typed(model([node("Softmax", ["x"], ["y"])], imports=[("", 13)])).graph.nodes
    assert none.op == new.op != old.op


@pytest.mark.parametrize(
    ("name", "content", "shown"),
    [
        ("axis", "foo", "axis is 'foo', not an integer"),
        ("axis", [1.0, 2.0], r"axis is \(1.0, 2.0\), not an integer"),
        ("axis", zeros("t", 1), "axis is a tensor, not an integer"),
    ],
)
def test_an_attribute_of_the_wrong_type_names_node_and_value(
    name: str, content: object, shown: str
) -> None:
    made = with_attribute(node("Softmax", ["x"], ["y"], name="s"), name, content)
    with pytest.raises(ModelError, match=f"node 's': attributes of Softmax do not fit it: {shown}"):
        load(model([made]))


def test_a_list_of_the_wrong_type_is_refused() -> None:
    made = with_attribute(node("MaxPool", ["x"], ["y"], kernel_shape=[1, 1]), "strides", [1.5, 2.0])
    with pytest.raises(ModelError, match=r"strides is .*, not a list of integers"):
        load(model([made], [value("x", (1, 1, 4, 4))]))


def test_a_subgraph_belongs_only_where_one_is_run() -> None:
    made = with_attribute(node("Relu", ["x"], ["y"]), "body", branch(node("Abs", ["x"], ["a"])))
    with pytest.raises(ModelError, match="Relu cannot have a subgraph"):
        load(model([made]))
    with pytest.raises(ModelError, match="Loop lacks a subgraph"):
        load(
            model(
                [node("Loop", ["m", "", "x"], ["y"])], weights=[helper.make_tensor("m", 7, (), [3])]
            )
        )
    one = node("If", ["c"], ["y"], then_branch=branch(node("Abs", ["x"], ["a"])))
    with pytest.raises(ModelError, match="If lacks a subgraph"):
        load(model([one], [value("x"), CONDITION]))


def test_a_loop_body_that_gives_too_little_is_a_shape_error() -> None:
    body = helper.make_graph([], "b", [value("i", (), 7)], [])
    trips = helper.make_tensor("m", 7, (), [3])
    with pytest.raises(ShapeError, match="the body gives 0 of 1 carried values"):
        typed(model([node("Loop", ["m", "", "x"], ["y"], body=body)], weights=[trips]))


def test_unknown_operators_keep_their_declared_types() -> None:
    m = typed(model([node("Foo", ["x"], ["y"], domain="com.foo")], outputs=[value("y", (9,))]))
    (foo,) = m.graph.nodes
    assert foo.op == Opaque(name="com.foo::Foo", num_outputs=1)
    assert output(m) == "f32[9]"


def test_an_attribute_that_became_an_input_is_a_constant_input() -> None:
    m = typed(model([node("Clip", ["x"], ["y"], min=0.0, max=6.0)], imports=[("", 10)]))
    (clip,) = m.graph.nodes
    assert [v.known.item for v in clip.inputs[1:] if v is not None and v.known] == [0.0, 6.0]
    m = typed(
        model([node("Squeeze", ["x"], ["y"], axes=[0])], [value("x", (1, 3))], imports=[("", 11)])
    )
    assert output(m) == "f32[3]"


def test_what_is_not_a_parameter_does_not_count_as_one() -> None:
    constant = node("Constant", [], ["k"], value=zeros("", 2, 3))
    m = typed(model([constant, node("Add", ["x", "k"], ["y"])]))
    assert all(not v.weight.is_parameter for v in m.graph.weights if v.weight)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"value_float": 1.5},
        {"value_ints": [1, 2]},
        {"value_string": "s"},
        {"value_strings": ["a", "b"]},
    ],
)
def test_constants_of_every_sort_lower(attributes: dict[str, object]) -> None:
    assert load(model([node("Constant", [], ["y"], **attributes)])).graph.outputs


def test_a_shape_input_given_by_the_caller_is_known() -> None:
    from perfc.ir.tensors.known import Known

    made = model([node("Reshape", ["x", "s"], ["y"])], [value("x"), value("s", (2,), 7)])
    assert output(typed(made)).startswith("f32[")
    assert output(typed(made, values={"s": [3, 2]})) == "f32[3, 2]"
    assert load(made, contents={"s": Known.vector((3, 2))}).graph.inputs[1].known is not None


def test_errors_of_a_file_never_are_of_another_type() -> None:
    odd: list[bytes] = [
        model([node("Relu", [], ["y"])]),
        model([node("Conv", ["x"], ["y"])]),
        model([node("Add", ["", "x"], ["y"])]),
        model([node("Relu", ["x"], [])], outputs=[value("x")]),
        model([with_attribute(node("Cast", ["x"], ["y"]), "to", 9999)]),
        model([with_attribute(node("Conv", ["x", "x"], ["y"]), "group", 0)]),
        model([node("Relu", ["x"], ["y"])], [value("x", (-1, 3), 999)]),
        model([node("Relu", ["x"], ["y"])], [value("x", (1,) * 100)]),
        model([node("Relu", ["x"], ["y"])], [value("x", (1 << 62,) * 3)]),
        model([node("Scan", ["x"], ["y"], body=branch(node("Abs", ["x"], ["a"])))]),
        model([], outputs=[value("x")]),
        model([node("Constant", [], ["y"], value=zeros("", 0))]),
    ]
    for data in odd:
        assert "\n" not in outcome(data)


def outcome(data: bytes) -> str:
    """What reading a file comes to: its nodes, or the line that refuses it."""
    try:
        return ", ".join(n.op.mnemonic for n in typed(data).graph.nodes)
    except PerfcError as error:
        return str(error)


def test_value_types_of_sparse_and_external_weights_are_kept() -> None:
    stored = zeros("w", 4, 4)
    stored.ClearField("float_data")
    stored.data_location = TensorProto.EXTERNAL
    stored.external_data.add(key="location", value="absent")
    m = load(model([node("MatMul", ["x", "w"], ["y"])], [value("x", (2, 4))], weights=[stored]))
    (w,) = m.graph.weights
    assert w.type == TensorType(DType.F32, (4, 4))
    assert w.weight is not None
    assert w.weight.location == "absent"
    assert w.known is None


def test_an_error_about_a_megabyte_of_text_is_short() -> None:
    einsum = node("Einsum", ["x"], ["y"], name="n" * 10**6, equation="i" * 10**6)
    graph = helper.make_graph([einsum], "g", [value("x", (2,))], [onnx.ValueInfoProto(name="y")])
    with pytest.raises(PerfcError) as error:
        typed(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    assert len(str(error.value)) < 10_000
