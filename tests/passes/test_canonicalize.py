"""Folding removes what runs before the model does, and keeps what the model means."""

from __future__ import annotations

import onnx
import pytest
from hypothesis import given, settings

import perfc
from perfc import testing
from perfc.ir.cost import dim_sum
from perfc.ir.graph import Graph, Loc, Module, Node, Value, walk
from perfc.ir.graphs.verify import verify
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, TensorType
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.roofline.cost import Cost, Counting
from tests.passes.random_graphs import Builder, modules, op

ENV = {"N": 3}


def canonical(module: Module) -> Module:
    return Analyses().apply(Canonicalize(), module)


@settings(max_examples=150, deadline=None)
@given(modules())
def test_the_result_verifies_and_is_settled(module: Module) -> None:
    once = canonical(module)
    verify(once)
    assert canonical(once) is once


def price(module: Module) -> float:
    counting = Counting(module.defaults())
    counting.graph(module.graph, 1)
    return counting.price()


@settings(max_examples=100, deadline=None)
@given(modules())
def test_work_only_shrinks_and_outputs_keep_their_types(module: Module) -> None:
    small = canonical(module)
    assert price(small) <= price(module)
    # without its dead nodes a branch may be the cheaper one: the other has other units
    if all(len(n.regions) < 2 for n in walk(module.graph)):
        before, after = (Analyses().get(Cost(), m) for m in (module, small))
        for unit in ("mac", "alu", "sfu"):
            counts = [evaluate(getattr(c.work, unit), ENV) for c in (after, before)]
            assert counts[0] <= counts[1]
    assert [v.type for v in small.graph.outputs] == [v.type for v in module.graph.outputs]
    assert small.graph.inputs == module.graph.inputs


def build(*outputs: Value, builder: Builder) -> Module:
    inputs = tuple(v for v in builder.values if v.weight is None)
    return Module(Graph("g", inputs, outputs, tuple(builder.nodes), tuple(builder.weights)))


def test_nobody_reads_what_is_dropped() -> None:
    b = Builder(2, [Value("x", Builder(2).square)])
    b.add(op("relu"), b.values[0])
    y = b.add(op("sigmoid"), b.values[0])
    assert [n.op.mnemonic for n in canonical(build(y, builder=b)).graph] == ["sigmoid"]


def test_what_reads_only_stored_tensors_becomes_one() -> None:
    b = Builder(2, [Value("x", Builder(2).square)])
    w = b.weight((2, 4, 4))
    scaled = b.add(op("mul"), w, b.weight(()))
    y = b.add(op("add"), b.values[0], scaled)
    small = canonical(build(y, builder=b))
    assert [n.op.mnemonic for n in small.graph] == ["add"]
    (stored,) = small.graph.weights
    assert stored.weight is not None
    assert not stored.weight.is_parameter
    assert small.graph.nodes[0].inputs[1] is stored


def test_quantised_weights_stay_as_they_are_stored() -> None:
    b = Builder(2, [Value("x", Builder(2).square)])
    narrow = Value("w", TensorType(DType.I8, (4, 4)), None, b.weight((1,)).weight)
    b.weights.append(narrow)
    wide = b.add(
        op("dequantize_linear"), narrow, b.weight(()), types=(TensorType(DType.F32, (4, 4)),)
    )
    y = b.add(op("matmul"), b.values[0], wide)
    small = canonical(build(y, builder=b))
    assert [n.op.mnemonic for n in small.graph] == ["dequantize_linear", "matmul"]


def test_random_tensors_are_drawn_every_run() -> None:
    b = Builder(2, [])
    y = b.add(op("random_normal", shape=(2, 4, 4)))
    assert len(canonical(build(y, builder=b)).graph.nodes) == 1


def test_an_identity_hands_on_even_an_input_to_an_output() -> None:
    b = Builder(2, [Value("x", Builder(2).square)])
    y = b.add(op("identity"), b.add(op("identity"), b.values[0]))
    small = canonical(build(y, builder=b))
    assert not small.graph.nodes
    assert small.graph.outputs == small.graph.inputs


def test_a_cast_to_its_own_type_is_none() -> None:
    b = Builder(2, [Value("x", Builder(2).square)])
    half = TensorType(DType.F16, b.square.shape)
    y = b.add(op("cast", to=DType.F32), b.values[0])
    z = b.add(op("cast", to=DType.F16), y, types=(half,))
    small = canonical(build(z, builder=b))
    assert [n.outputs[0] for n in small.graph.nodes] == [z]
    assert small.graph.nodes[0].inputs == small.graph.inputs


def branching(known: bool | None) -> Module:
    b = Builder(2, [Value("x", Builder(2).square)])
    content = None if known is None else Known.scalar(known)
    condition = Value("c", TensorType(DType.BOOL, ()), content)
    sides = []
    for prefix, name in (("t", "relu"), ("e", "sigmoid")):
        inner = Builder(2, [], prefix=prefix)
        weight = inner.weight((4,))
        out = inner.add(op(name), inner.add(op("add"), b.values[0], weight))
        sides.append(Graph(prefix, (), (out,), tuple(inner.nodes), tuple(inner.weights)))
    y = Value("y", b.square)
    b.nodes.append(Node(op("if"), (condition,), (y,), tuple(sides), Loc("if", "If")))
    z = b.add(op("abs"), y)
    return Module(Graph("g", (b.values[0], condition), (z, y), tuple(b.nodes)))


def test_a_decided_branch_is_put_in_place() -> None:
    for known, name in ((True, "relu"), (False, "sigmoid")):
        small = canonical(branching(known))
        assert [n.op.mnemonic for n in small.graph] == ["add", name, "abs"]
        assert len(small.graph.weights) == 1
        assert small.graph.outputs[1] is small.graph.nodes[1].results[0]
        verify(small)


def test_an_undecided_branch_stays() -> None:
    module = branching(None)
    assert canonical(module) is module


def test_regions_are_folded_too() -> None:
    module = branching(None)
    inner = module.graph.nodes[0].regions[0]
    copied = Value("copied", inner.outputs[0].type)
    identity = Node(op("identity"), inner.outputs, (copied,))
    then = Graph("t", (), (copied,), (*inner.nodes, identity), inner.weights)
    branch = module.graph.nodes[0]
    wrapped = Node(branch.op, branch.inputs, branch.outputs, (then, branch.regions[1]), branch.loc)
    graph = Graph(
        "g", module.graph.inputs, module.graph.outputs, (wrapped, *module.graph.nodes[1:])
    )
    small = canonical(Module(graph))
    assert [n.op.mnemonic for n in walk(small.graph)] == [
        "if",
        "add",
        "relu",
        "add",
        "sigmoid",
        "abs",
    ]


def test_stored_bytes_after_folding_are_those_that_are_read() -> None:
    b = Builder(2, [Value("x", Builder(2).square)])
    b.weight((1000, 1000))
    y = b.add(op("add"), b.values[0], b.weight((4,)))
    small = canonical(build(y, builder=b))
    assert dim_sum(w.type.nbytes or 0 for w in small.graph.weights) == 16  # type: ignore[union-attr]


@pytest.mark.parametrize(("runtime", "launches"), [("eager", 2), ("ort", 1)])
def test_operators_of_parameters_run_each_time_where_no_session_folds_them(
    runtime: str, launches: int
) -> None:
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[N,2] x) => (float[N,2] y)
        <float[2,2] w = {1, 2, 3, 4}> { v = Sigmoid (w)  y = MatMul (x, v) }"""
    report = perfc.analyze(onnx.parser.parse_model(text), "a100", runtime=runtime)
    assert len(report.roofline.kernels) == launches


def test_a_tensor_with_one_unknown_element_is_computed() -> None:
    lines = ("%s = shape(%x) : i64[2]", "%y = concat(%s, %k) {axis=0} : i64[3]")
    report = perfc.analyze(testing.module("%x: f32[8, 4], %k: i64[1]", *lines), "a100")
    assert [k.kernel.label for k in report.roofline.kernels] == ["concat"]
    lines = ("%s = shape(%x) : i64[2]", "%y = concat(%s, %s) {axis=0} : i64[4]")
    known = perfc.analyze(testing.module("%x: f32[8, 4]", *lines), "a100")
    assert not known.roofline.kernels
