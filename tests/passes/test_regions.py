"""Types through branches, loops and scans: joins, fixed points, iterations that are known."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper

from perfc.api import typed
from perfc.errors import ShapeError
from perfc.ir.graph import Module

node = helper.make_node


def value(name: str, shape: object = (2, 3), dtype: int = 1) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def graph_of(
    nodes: list[onnx.NodeProto], ins: list[onnx.ValueInfoProto], outs: list[onnx.ValueInfoProto]
) -> onnx.GraphProto:
    return helper.make_graph(nodes, "g", ins, outs)


def read(
    nodes: list[onnx.NodeProto],
    ins: list[onnx.ValueInfoProto],
    outs: list[str],
    **weights: onnx.TensorProto,
) -> Module:
    for name, w in weights.items():
        w.name = name
    graph = helper.make_graph(
        nodes, "g", ins, [value(o, None) for o in outs], list(weights.values())
    )
    for out in graph.output:
        out.ClearField("type")
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    return typed(bytes(made.SerializeToString()))


def types(module: Module) -> list[str]:
    return [str(v.type) for v in module.graph.outputs]


def integer(n: int) -> onnx.TensorProto:
    return helper.make_tensor("", 7, (), [n])


CONDITION = value("c", (), 9)


def branch(*nodes: onnx.NodeProto) -> onnx.GraphProto:
    return graph_of(list(nodes), [], [value("a", None)])


def test_branches_of_one_type_give_it() -> None:
    then, other = branch(node("Relu", ["x"], ["a"])), branch(node("Abs", ["x"], ["a"]))
    made = node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    assert types(read([made], [value("x"), CONDITION], ["y"])) == ["f32[2, 3]"]


def test_extents_that_differ_between_branches_are_bounded_by_both() -> None:
    then = branch(node("Relu", ["x"], ["a"]))
    other = branch(node("Concat", ["x", "x"], ["a"], axis=0))
    made = node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    (out,) = read([made], [value("x"), CONDITION], ["y"]).graph.outputs
    assert out.type.dtype.code == "f32"  # type: ignore[union-attr]
    assert out.type.shape[1] == 3  # type: ignore[union-attr, index]
    assert out.type.shape[0] not in (2, 4)  # type: ignore[union-attr, index]


def test_a_known_condition_gives_its_branch_alone() -> None:
    then = branch(node("Relu", ["x"], ["a"]))
    other = branch(node("Concat", ["x", "x"], ["a"], axis=0))
    made = node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    for known, expected in ((True, "f32[2, 3]"), (False, "f32[4, 3]")):
        flag = helper.make_tensor("", 9, (), [known])
        assert types(read([made], [value("x")], ["y"], c=flag)) == [expected]


def growing() -> onnx.GraphProto:
    """``x = concat(x, x); row = x[0]`` every iteration."""
    return graph_of(
        [
            node("Identity", ["go"], ["go2"]),
            node("Concat", ["s", "s"], ["s2"], axis=0),
            node("ReduceSum", ["s"], ["row"], keepdims=0),
        ],
        [value("i", (), 7), value("go", (), 9), value("s", None)],
        [value("go2", (), 9), value("s2", None), value("row", None)],
    )


def test_a_loop_of_known_length_is_followed() -> None:
    made = node("Loop", ["m", "", "x"], ["y", "rows"], body=growing())
    assert types(read([made], [value("x")], ["y", "rows"], m=integer(3))) == [
        "f32[16, 3]",
        "f32[3]",
    ]
    assert types(read([made], [value("x")], ["y", "rows"], m=integer(0)))[0] == "f32[2, 3]"


def test_a_loop_of_unknown_length_frees_the_extents_that_change() -> None:
    made = node("Loop", ["m", "", "x"], ["y", "rows"], body=growing())
    module = read([made], [value("x"), value("m", (), 7)], ["y", "rows"])
    y, rows = (v.type for v in module.graph.outputs)
    assert y.shape[1] == 3  # type: ignore[union-attr, index]
    assert y.shape[0] not in (2, 4)  # type: ignore[union-attr, index]
    assert len(rows.shape) == 1  # type: ignore[union-attr, arg-type]


def test_a_loop_that_never_changes_its_type_keeps_it() -> None:
    body = graph_of(
        [node("Identity", ["go"], ["go2"]), node("Relu", ["s"], ["s2"])],
        [value("i", (), 7), value("go", (), 9), value("s", None)],
        [value("go2", (), 9), value("s2", None)],
    )
    made = node("Loop", ["m", "", "x"], ["y"], body=body)
    assert types(read([made], [value("x"), value("m", (), 7)], ["y"])) == ["f32[2, 3]"]


def test_a_loop_of_very_many_iterations_ends_at_once() -> None:
    made = node("Loop", ["m", "", "x"], ["y", "rows"], body=growing())
    module = read([made], [value("x")], ["y", "rows"], m=integer(1 << 62))
    assert len(module.graph.outputs) == 2


def test_a_condition_that_the_body_decides_stops_the_loop() -> None:
    body = graph_of(
        [node("Less", ["i", "two"], ["again"]), node("Concat", ["s", "s"], ["s2"], axis=0)],
        [value("i", (), 7), value("go", (), 9), value("s", None)],
        [value("again", (), 9), value("s2", None)],
    )
    made = node("Loop", ["m", "", "x"], ["y"], body=body)
    # iterations 0, 1 and 2 run: the one that finds i < 2 false is the last
    found = types(read([made], [value("x")], ["y"], m=integer(100), two=integer(2)))
    assert found == ["f32[16, 3]"]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_scan_walks_its_axis(axis: int) -> None:
    body = graph_of(
        [node("Add", ["s", "row"], ["s2"]), node("Relu", ["row"], ["out"])],
        [value("s", None), value("row", None)],
        [value("s2", None), value("out", None)],
    )
    row = (4,) if axis == 0 else (2,)
    made = node(
        "Scan",
        ["init", "xs"],
        ["last", "ys"],
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_output_axes=[axis],
    )
    module = read([made], [value("init", row), value("xs", (2, 4))], ["last", "ys"])
    assert types(module) == [f"f32[{row[0]}]", "f32[2, 4]"]


def test_a_scan_axis_outside_the_rank_is_refused() -> None:
    body = graph_of([node("Relu", ["row"], ["out"])], [value("row", None)], [value("out", None)])
    made = node("Scan", ["xs"], ["ys"], body=body, num_scan_inputs=1, scan_input_axes=[7])
    with pytest.raises(ShapeError, match="scan axis 7 is outside rank 2"):
        read([made], [value("xs", (2, 4))], ["ys"])


def test_each_carried_value_of_a_loop_of_unknown_length_keeps_what_it_has() -> None:
    body = graph_of(
        [
            node("Identity", ["go"], ["go2"]),
            node("Concat", ["s", "s"], ["s2"], axis=0),
            node("Relu", ["t"], ["t2"]),
            node("Not", ["u"], ["u2"]),
        ],
        [
            value("i", (), 7),
            value("go", (), 9),
            value("s", None),
            value("t", None),
            value("u", None, 9),
        ],
        [value("go2", (), 9), value("s2", None), value("t2", None), value("u2", None, 9)],
    )
    made = node("Loop", ["m", "", "x", "y", "z"], ["a", "b", "c"], body=body)
    ins = [value("x"), value("y", (4, 5)), value("z", (7,), 9), value("m", (), 7)]
    first, *others = types(read([made], ins, ["a", "b", "c"]))
    assert first.endswith(", 3]")
    assert not first.startswith("f32[2,")
    assert others == ["f32[4, 5]", "b1[7]"]
