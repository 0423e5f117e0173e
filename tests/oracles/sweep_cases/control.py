"""If, Loop, Scan and functions that belong to the model."""

from __future__ import annotations

import numpy as np
from onnx import helper

from . import sweep
from .build import Build, NoCaseError, elem


@sweep("If", repeats=8)
def if_(b: Build, op: str) -> None:
    kind = "f32"
    dims = tuple(max(1, d) for d in b.shape(b.rng.randint(1, 3)))
    x = b.rand(dims, kind)
    same = b.chance(0.5)
    taken = np.array(b.pick(True, False))
    cond = b.drive(taken, "bool") if b.chance(0.7) else b.op("Identity", b.data(taken))

    def then(g: Build, _: list[str]) -> list[str]:
        return [g.op("Relu", x), g.op("Identity", x)]

    def other(g: Build, _: list[str]) -> list[str]:
        if same:
            return [g.op("Neg", x), g.op("Abs", x)]
        # The branches agree in dtype, as the specification wants, but not in shape.
        return [g.op("Concat", x, x, axis=0), g.op("Transpose", x)]

    b.op(op, cond, n=2, then_branch=b.graph(then), else_branch=b.graph(other))


@sweep("If", repeats=4)
def if_in_if(b: Build, op: str) -> None:
    x = b.rand((2, 3), "f32")
    inner_cond = b.drive(np.array(b.pick(True, False)), "bool")

    def inner(g: Build, _: list[str]) -> list[str]:
        return [
            g.op(
                "If",
                inner_cond,
                then_branch=g.graph(lambda h, _: [h.op("Exp", x)]),
                else_branch=g.graph(lambda h, _: [h.op("Log", x)]),
            )
        ]

    cond = b.drive(np.array(b.pick(True, False)), "bool")
    outer = b.graph(lambda g, _: [g.op("Sin", x)])
    y = b.op(op, cond, then_branch=b.graph(inner), else_branch=outer)
    b.op("Shape", y)


@sweep("Loop", repeats=9)
def loop(b: Build, op: str) -> None:
    dims = tuple(max(1, d) for d in b.shape(b.rng.randint(1, 3)))
    x = b.rand(dims, "f32")
    trips = b.drive(np.array(b.rng.randint(0, 4)))
    keep = b.const(np.array(True)) if b.chance(0.6) else ""
    scans = b.rng.randint(0, 2)

    def body(g: Build, names: list[str]) -> list[str]:
        _, cond, state = names
        out = [g.op("Identity", cond), g.op("Relu", state)]
        if scans:
            out.append(g.op("Neg", state))
        if scans > 1:
            out.append(g.op("ReduceMax", state, keepdims=0))
        return out

    made = b.graph(body, [("i64", ()), ("bool", ()), ("f32", dims)])
    b.op(op, trips, keep, x, n=1 + scans, body=made)


@sweep("Loop", repeats=5)
def loop_that_grows(b: Build, op: str) -> None:
    x = b.rand((2, 3), "f32")
    trips = b.drive(np.array(b.rng.randint(1, 3)))

    def body(g: Build, names: list[str]) -> list[str]:
        # The state doubles at each iteration, so its type in the body must say less than [2,3].
        _, cond, state = names
        return [g.op("Identity", cond), g.op("Concat", state, state, axis=0)]

    made = b.graph(body, [("i64", ()), ("bool", ()), ("f32", ("n", 3))])
    b.op(op, trips, b.const(np.array(True)), x, body=made)


@sweep("Loop", repeats=5)
def loop_that_stops(b: Build, op: str) -> None:
    x = b.rand((2,), "f32")
    limit = b.rng.randint(0, 3)

    def body(g: Build, names: list[str]) -> list[str]:
        i, _, state = names
        more = g.op("Less", g.op("Cast", i, to=1), g.const(np.array(limit, np.float32)))
        return [more, g.op("Exp", state), g.op("Neg", state)]

    made = b.graph(body, [("i64", ()), ("bool", ()), ("f32", (2,))])
    b.op(op, b.drive(np.array(9)), b.const(np.array(True)), x, n=2, body=made)


@sweep("Loop", repeats=4)
def loop_over_a_sequence(b: Build, op: str) -> None:
    if b.opset < 13:
        raise NoCaseError(op)
    start = b.op("SequenceEmpty", dtype=1)
    x = b.rand((2, 3), "f32")

    def body(g: Build, names: list[str]) -> list[str]:
        _, cond, seq = names
        return [g.op("Identity", cond), g.op("SequenceInsert", seq, x)]

    tensor = helper.make_tensor_type_proto(elem("f32"), None)
    state = helper.make_sequence_type_proto(tensor)
    made = b.graph(body, [("i64", ()), ("bool", ()), state])
    out = b.op(op, b.drive(np.array(2)), b.const(np.array(True)), start, body=made)
    b.op("ConcatFromSequence", out, axis=0)


@sweep("Scan", repeats=8)
def scan(b: Build, op: str) -> None:
    if b.opset < 9:
        raise NoCaseError(op)
    steps, width = b.rng.randint(1, 4), b.rng.randint(1, 3)
    axis = b.pick(0, 1, -1)
    dims = (steps, width) if axis == 0 else (width, steps)
    if b.opset < 11:
        axis %= 2
    x = b.rand(dims, "f32")
    state = b.rand((width,), "f32")

    def body(g: Build, names: list[str]) -> list[str]:
        total = g.op("Add", names[0], names[1])
        return [total, g.op("Exp", total), g.op("ReduceMax", names[1], keepdims=0)]

    made = b.graph(body, [("f32", (width,)), ("f32", (width,))])
    attrs = {"scan_input_axes": [axis]} if axis else {}
    if b.chance(0.4):
        attrs["scan_output_axes"] = [b.pick(0, 1), 0]
    if b.chance(0.3):
        attrs["scan_input_directions"] = [1]
    b.op(op, state, x, n=3, body=made, num_scan_inputs=1, **attrs)


@sweep("Scan", repeats=10, opsets=(8,))
def scan_with_batch(b: Build, op: str) -> None:
    n, steps, width = (b.rng.randint(1, 3) for _ in range(3))
    x, state = b.rand((n, steps, width), "f32"), b.rand((n, width), "f32")

    def body(g: Build, names: list[str]) -> list[str]:
        total = g.op("Add", names[0], names[1])
        return [total, g.op("Exp", total)]

    made = b.graph(body, [("f32", (width,)), ("f32", (width,))])
    b.op(op, "", state, x, n=2, body=made, num_scan_inputs=1)


@sweep("Function", repeats=20, opsets=(12, 15, 18, 21, 24))
def local_function(b: Build, op: str) -> None:
    """A function of the model: an attribute passed through, one function calling another."""
    domain = "local"
    b.extra[domain] = 1
    imports = [helper.make_opsetid("", b.opset), helper.make_opsetid(domain, 1)]
    nodes = [
        helper.make_node("Relu", ["X"], ["t"]),
        helper.make_node("Transpose", ["t"], ["u"]),
        helper.make_node("MatMul", ["t", "u"], ["Y"]),
    ]
    b.functions.append(helper.make_function(domain, "Gram", ["X"], ["Y"], nodes, imports))
    soft = helper.make_node("Softmax", ["g"], ["Y"])
    axis = soft.attribute.add(name="axis", ref_attr_name="axis")
    axis.type = 2
    calls = [helper.make_node("Gram", ["X"], ["g"], domain=domain), soft]
    outer = helper.make_function(domain, "Outer", ["X"], ["Y"], calls, imports, ["axis"])
    b.functions.append(outer)
    x = b.rand((b.rng.randint(1, 4), b.rng.randint(1, 4)), b.pick("f32", "f64"))
    if b.chance(0.5):
        y = b.op("Gram", x, domain=domain)
    else:
        y = b.op("Outer", x, domain=domain, axis=b.pick(0, 1, -1))
    b.op("Shape", y)
    if b.chance(0.5):
        b.op("Gram", y, domain=domain)


@sweep("Function", repeats=10, opsets=(13, 17, 20))
def function_with_missing_input(b: Build, op: str) -> None:
    domain = "local"
    b.extra[domain] = 1
    nodes = [helper.make_node("Clip", ["X", "low", "high"], ["Y"])]
    imports = [helper.make_opsetid("", b.opset)]
    made = helper.make_function(domain, "Bound", ["X", "low", "high"], ["Y"], nodes, imports)
    b.functions.append(made)
    low = b.const(b.array(()))
    high = b.const(b.array(()))
    args = b.pick((low, high), ("", high), (low, ""))
    b.op("Bound", b.rand(b.shape(), "f32"), *args, domain=domain)
