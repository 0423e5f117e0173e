"""What a cut keeps: types of sequences, makers of what cannot be an input, constants by size."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from perfc.api import typed
from perfc.errors import ModelError
from perfc.study.reduce import reduce_error, reduce_to_node
from perfc.study.reduce.cut import SMALL_BYTES, Cutter, values_by_name
from perfc.study.reduce.shrink import Search
from tests.study.test_reduce import model_of, ops, relus, shape_of


def cutter_of(model: onnx.ModelProto) -> Cutter:
    return Cutter(model, values_by_name(typed(model).graph))


def split() -> onnx.ModelProto:
    """A sequence of rows, of which one is read."""
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["rows"], name="split", axis=0, keepdims=1),
        helper.make_node("Constant", [], ["first"], name="first", value_int=0),
        helper.make_node("SequenceAt", ["rows", "first"], ["y"], name="at"),
    ]
    return model_of(nodes, "y", [])


def test_a_sequence_keeps_its_type_and_its_maker() -> None:
    model = reduce_to_node(split(), "split").model
    (output,) = model.graph.output
    assert output.type.WhichOneof("value") == "sequence_type"
    element = output.type.sequence_type.elem_type.tensor_type
    assert element.elem_type == TensorProto.FLOAT
    assert len(element.shape.dim) == 2
    # a sequence is no input: who makes it is kept
    assert ops(reduce_to_node(split(), "at").model) == ["SplitToSequence", "SequenceAt"]
    onnx.checker.check_model(model)


def floats(name: str, count: int) -> TensorProto:
    return helper.make_tensor(name, TensorProto.FLOAT, [count], [0.5] * count)


def test_constants_stay_up_to_a_size() -> None:
    count = SMALL_BYTES // 4
    nodes = [
        helper.make_node("Mul", ["x", "fits"], ["a"], name="small"),
        helper.make_node("Mul", ["a", "large"], ["y"], name="large"),
    ]
    model = model_of(nodes, "y", [floats("fits", count), floats("large", count + 1)])
    cutter = Cutter(model)
    first, second = (cutter.submodel([n]) for n in cutter.nodes)
    assert ([t.name for t in first.graph.initializer], len(first.graph.input)) == (["fits"], 1)
    assert ([t.name for t in second.graph.initializer], len(second.graph.input)) == ([], 2)
    assert [shape_of(i) for i in second.graph.input if i.name == "large"] == [[count + 1]]


def test_a_cut_says_whose_the_model_was_and_gives_back_what_nothing_reads() -> None:
    model = model_of(relus("x", "y", 3), "y", [])
    model.producer_name, model.producer_version = "exporter", "7"
    model.graph.output.append(helper.make_empty_tensor_value_info("y_1"))
    cutter = cutter_of(model)
    cut = cutter.submodel(cutter.nodes[:2])
    assert (cut.ir_version, cut.producer_name, cut.producer_version) == (8, "exporter", "7")
    assert cut.opset_import[0].version == 17
    assert cut.graph.name == "g"
    assert [o.name for o in cut.graph.output] == ["y_1", "y_2"]
    assert [i.name for i in cut.graph.input] == ["x"]
    assert [shape_of(o) for o in cut.graph.output] == [["n", 4], ["n", 4]]


def test_ancestors_are_counted_in_steps() -> None:
    cutter = cutter_of(model_of(relus("x", "y", 4), "y", []))
    last = cutter.nodes[-1]
    assert [len(cutter.ancestors(last, depth)) for depth in (0, 1, 2, 3, 9)] == [1, 2, 3, 4, 4]


def test_two_readers_of_one_value_have_one_ancestor() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Exp", ["a"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    cutter = cutter_of(model_of(nodes, "y", []))
    assert len(cutter.ancestors(cutter.nodes[-1], 1)) == 3
    assert len(cutter.closed([cutter.nodes[-1]])) == 1


def test_what_is_no_graph_cannot_be_cut() -> None:
    node = helper.make_node("Relu", ["y"], ["y"])
    with pytest.raises(ModelError, match="cannot be cut: "):
        Cutter(model_of([node, node], "y", []))


def test_an_error_that_no_beginning_shows_is_not_about_nodes() -> None:
    asked: list[int] = []

    def probe(model: onnx.ModelProto) -> None:
        asked.append(len(model.graph.node))
        if len(asked) == 1:
            raise ModelError("once")

    with pytest.raises(ModelError, match="every prefix of the graph is valid by itself: once"):
        reduce_error(model_of(relus("x", "y", 3), "y", []), probe)
    assert asked == [3, 3]


@pytest.mark.parametrize("bad", range(5))
def test_the_shortest_beginning_that_fails_is_found(bad: int) -> None:
    model = model_of(relus("x", "y", 5), "y", [])
    wanted = model.graph.node[bad].name

    def probe(result: onnx.ModelProto) -> None:
        if wanted in {n.name for n in result.graph.node}:
            raise ModelError("bad; in detail")

    search = Search(probe, (ModelError, "bad"))
    cutter = Cutter(model)
    assert search.shortest(cutter) == bad + 1
    assert search.tries <= 5
    (last,) = search.fewest(cutter, cutter.nodes[: bad + 1])
    assert last.name == wanted


def test_an_error_of_another_kind_is_another_error() -> None:
    def probe(_: onnx.ModelProto) -> None:
        raise ModelError("other")

    cutter = Cutter(model_of(relus("x", "y", 2), "y", []))
    assert Search(probe, (ModelError, "bad")).shortest(cutter) is None
    assert Search(lambda _: None, (ModelError, "bad")).shortest(cutter) is None
    assert Search.values(cutter, []) == {}
    assert set(Search.values(cutter, cutter.nodes[:1])) == {"x", "y_1"}
