"""Loops whose length follows from contents are counted as onnxruntime executes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

import perfc
from perfc.api import Report

node = helper.make_node
MACS = 4 * 16 * 16
"""Products of one iteration."""
TYPES = {np.dtype("int64"): 7, np.dtype("int32"): 6, np.dtype("float32"): 1, np.dtype("bool"): 9}


def constant(name: str, value: Any, dtype: str = "int64") -> onnx.NodeProto:
    tensor = numpy_helper.from_array(np.array(value, dtype))
    return node("Constant", [], [name], value=tensor)


def value(name: str, dtype: str = "float32", shape: Any = (4, 16)) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TYPES[np.dtype(dtype)], shape)


def model(
    body_nodes: list[onnx.NodeProto],
    states: dict[str, tuple[Any, str]],
    *,
    trips: int | None = None,
    begins: bool = True,
    going: str = "going",
    x_shape: Any = (4, 16),
) -> onnx.ModelProto:
    """Return a loop that multiplies a matrix; ``NAME_next`` is the next content of a state."""
    weight = numpy_helper.from_array(np.ones((16, 16), np.float32), "w")
    shapes = {name: np.shape(start) for name, (start, _) in states.items()}
    inside = [value(name, dtype, shapes[name]) for name, (_, dtype) in states.items()]
    results = [value(f"{name}_next", dtype, shapes[name]) for name, (_, dtype) in states.items()]
    body = helper.make_graph(
        [node("MatMul", ["x", "w"], ["product"]), *body_nodes],
        "body",
        [
            value("iteration", "int64", ()),
            value("go", "bool", ()),
            *inside,
            value("x", shape=x_shape),
        ],
        [value(going, "bool", ()), *results, value("x_next", shape=x_shape)],
    )
    if not any("x_next" in n.output for n in body_nodes):
        body.node.append(node("Identity", ["product"], ["x_next"]))
    before = [constant(name, *start) for name, start in states.items()]
    before.append(constant("begins", begins, "bool"))
    if trips is not None:
        before.append(constant("trips", trips))
    made = node(
        "Loop",
        ["trips" if trips is not None else "", "begins", *states, "given"],
        [*(f"{name}_last" for name in states), "y"],
        body=body,
    )
    outputs = [value(f"{n}_last", t, shapes[n]) for n, (_, t) in states.items()]
    graph = helper.make_graph(
        [*before, made], "g", [value("given")], [value("y", shape=None), *outputs], [weight]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def analyzed(made: onnx.ModelProto) -> Report:
    return perfc.analyze(made.SerializeToString(), "a100")


def executed(made: onnx.ModelProto) -> Any:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["i_last"], {"given": np.zeros((4, 16), np.float32)})[0]


def counter(
    step: int, limit: int, comparison: str, dtype: str, on_next: bool, is_negated: bool
) -> list[onnx.NodeProto]:
    compared = "i_next" if on_next else "i"
    nodes = [
        constant("step", step, dtype),
        constant("limit", limit, dtype),
        node("Add", ["i", "step"], ["i_next"]),
        node(comparison, [compared, "limit"], ["compared"]),
    ]
    return [*nodes, node("Not" if is_negated else "Identity", ["compared"], ["going"])]


OPPOSITE = {
    "Less": "GreaterOrEqual",
    "LessOrEqual": "Greater",
    "Greater": "LessOrEqual",
    "GreaterOrEqual": "Less",
}


@settings(max_examples=40, deadline=None)
@given(
    st.integers(-5, 5),
    st.integers(1, 4),
    st.integers(0, 30),
    st.sampled_from([*OPPOSITE]),
    st.sampled_from(["int64", "int32", "float32"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 1, 7, 2**31 - 1, 2**63 - 1]),
)
def test_counters_run_as_often_as_executed(
    start: int,
    step: int,
    distance: int,
    comparison: str,
    dtype: str,
    on_next: bool,
    is_negated: bool,
    trips: int | None,
) -> None:
    if comparison.startswith("Greater"):
        step, distance = -step, -distance
    name = OPPOSITE[comparison] if is_negated else comparison
    nodes = counter(step, start + distance, name, dtype, on_next, is_negated)
    made = model(nodes, {"i": (start, dtype)}, trips=trips)
    runs = round((float(executed(made)) - start) / step)
    work = analyzed(made).cost
    assert (work.work.mac, work.is_bound) == (runs * MACS, False)


@pytest.mark.parametrize("trips", [None, 150_000])
def test_long_loops_are_counted_without_following_them(trips: int | None) -> None:
    nodes = counter(1, 200_000, "Less", "int32", True, False)
    report = analyzed(model(nodes, {"i": (0, "int32")}, trips=trips))
    assert (report.cost.work.mac, report.cost.is_bound) == ((trips or 200_000) * MACS, False)


def test_a_condition_that_may_hold_again_is_followed() -> None:
    nodes = [
        constant("step", 1),
        constant("stop", 11),
        node("Add", ["i", "step"], ["i_next"]),
        node("Equal", ["i_next", "stop"], ["met"]),
        node("Not", ["met"], ["going"]),
    ]
    assert analyzed(model(nodes, {"i": (0, "int64")})).cost.work.mac == 11 * MACS


def test_a_condition_that_is_false_between_two_limits_is_followed() -> None:
    nodes = [
        constant("step", 1),
        constant("low", 57),
        constant("high", 59),
        node("Add", ["i", "step"], ["i_next"]),
        node("Greater", ["i_next", "low"], ["above"]),
        node("Less", ["i_next", "high"], ["below"]),
        node("And", ["above", "below"], ["between"]),
        node("Not", ["between"], ["going"]),
    ]
    assert analyzed(model(nodes, {"i": (0, "int64")})).cost.work.mac == 58 * MACS


def test_a_limit_that_a_table_gives_by_the_counter_is_followed() -> None:
    table = [9] * 20 + [0] + [99] * 40
    nodes = [
        constant("step", 1),
        constant("table", table),
        node("Add", ["i", "step"], ["i_next"]),
        node("Gather", ["table", "i_next"], ["limit"]),
        constant("five", 5),
        node("Less", ["five", "limit"], ["going"]),
    ]
    assert analyzed(model(nodes, {"i": (0, "int64")})).cost.work.mac == 20 * MACS


def test_a_loop_that_does_not_begin_has_no_work() -> None:
    nodes = counter(1, 5, "Less", "int64", True, False)
    cost = analyzed(model(nodes, {"i": (0, "int64")}, begins=False)).cost
    assert (cost.work.mac, cost.is_bound) == (0, False)


def test_branches_that_change_between_iterations_count_the_dearer_each_time() -> None:
    then = helper.make_graph([node("MatMul", ["product", "w"], ["t"])], "t", [], [value("t")])
    other = helper.make_graph([node("Identity", ["product"], ["o"])], "o", [], [value("o")])
    nodes = [
        constant("three", 3),
        node("Equal", ["iteration", "three"], ["is_third"]),
        node("If", ["is_third"], ["x_next"], then_branch=then, else_branch=other),
        node("Identity", ["go"], ["going"]),
    ]
    report = analyzed(model(nodes, {}, trips=4))
    # the last iteration alone multiplies twice
    assert (report.cost.work.mac, report.cost.is_bound) == (2 * 4 * MACS, False)
    once = analyzed(
        model([*nodes[:2], node("Identity", ["product"], ["x_next"]), nodes[3]], {}, trips=4)
    )
    assert report.bound_s <= once.bound_s + 1e-9


def test_states_that_grow_count_at_most_what_runs() -> None:
    nodes = [
        node("Concat", ["product", "given"], ["x_next"], axis=0),
        node("Identity", ["go"], ["going"]),
    ]
    report = analyzed(model(nodes, {}, trips=4, x_shape=(None, 16)))
    assert 0 < report.cost.work.mac <= (1 + 2 + 3 + 4) * MACS
    assert report.cost.is_bound
    assert str(report.module.graph.outputs[0].type) == "f32[20, 16]"
