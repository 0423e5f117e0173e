"""Models made to hurt a reader: cycles, absurd extents, deep nesting, bombs, paths that escape."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INT64 = (2**63 - 1, -(2**63), 2**31, -1, 0, 10**12, 2**32 + 1)
"""Integers at limits of 64 and 32 bits, and extents that no memory holds."""
Hostile = Callable[[random.Random], tuple[bytes, str]]
HOSTILE: list[Hostile] = []
"""All makers, in the order of this file."""
node = helper.make_node


def hostile(make: Hostile) -> Hostile:
    """Register a maker; it returns the file's bytes and its suffix."""
    HOSTILE.append(make)
    return make


def model(nodes: Any, inputs: Any, outputs: list[str], inits: Any = (), **more: Any) -> bytes:
    """Return a serialized model; nothing is checked."""
    infos = [onnx.ValueInfoProto(name=o) for o in outputs]
    graph = helper.make_graph(nodes, "g", inputs, infos, list(inits))
    opset = more.pop("opset", 17)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], **more)
    return bytes(made.SerializeToString())


def floats(name: str, shape: object) -> onnx.ValueInfoProto:
    """Return a float input."""
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def ints(name: str, values: object) -> onnx.TensorProto:
    """Return an int64 initializer."""
    return numpy_helper.from_array(np.asarray(values, dtype=np.int64), name)


@hostile
def cycle(r: random.Random) -> tuple[bytes, str]:
    n = r.randint(1, 6)
    nodes = [node("Relu", [f"v{(i + 1) % n}"], [f"v{i}"]) for i in range(n)]
    return model(nodes, [floats("x", [1])], ["v0"]), ".onnx"


@hostile
def absurd_input(r: random.Random) -> tuple[bytes, str]:
    """An input with extents that are huge, negative or zero."""
    shape = [r.choice((10**12, 10**6, 2**62, 1, -1, -(2**63), 0, "N")) for _ in range(4)]
    op, attrs = r.choice((("Relu", {}), ("Flatten", {}), ("Softmax", {"axis": 1}), ("Shape", {})))
    nodes = [node(op, ["x"], ["y"], **attrs), node("Add", ["y", "y"], ["z"])]
    return model(nodes, [floats("x", shape)], ["y"]), ".onnx"


@hostile
def symbols_at_odds(r: random.Random) -> tuple[bytes, str]:
    """Hundreds of symbols, assumed at sizes that contradict each other, or that nothing mends."""
    count, rank = r.choice((3, 40, 600)), r.randint(2, 4)
    kinds = ("MatMul", "Add", "Concat", "Conv")[: 4 if rank == 4 else 3]
    nodes, inputs, last = [], [floats("x0", ["n", 3, "h", "w"][:rank])], "x0"
    for i in range(1, count):
        op = r.choice(kinds)
        shape = [f"{name}{i}" for name in ("seq", "past", "k", "w")[:rank]]
        inputs.append(floats(f"x{i}", shape))
        source = last if r.random() < 0.7 else f"x{r.randrange(i)}"
        attrs = {"axis": r.randrange(2)} if op == "Concat" else {}
        nodes.append(node(op, [source, f"x{i}"], [f"y{i}"], **attrs))
        last = f"y{i}"
    return model(nodes, inputs, [last]), ".onnx"


@hostile
def sizes_that_never_fit(r: random.Random) -> tuple[bytes, str]:
    """Margins that cut more than there is, negative shapes, windows larger than their input."""
    depth = r.choice((1, 8, 60))
    nodes, last = [], "x"
    for i in range(depth):
        op = r.choice(("Pad", "Shape", "MaxPool", "Slice"))
        match op:
            case "Pad":
                nodes.append(node("Pad", [last, "pads"], [f"y{i}"]))
            case "MaxPool":
                window = r.choice((3, 2**31))
                nodes.append(node("MaxPool", [last], [f"y{i}"], kernel_shape=[window, 1]))
            case "Slice":
                nodes.append(node("Slice", [last, "far", "end", "two"], [f"y{i}"]))
            case _:
                nodes.append(node("Shape", [last], [f"s{i}"]))
                nodes.append(node("Sub", [f"s{i}", "far4"], [f"t{i}"]))
                nodes.append(node("ConstantOfShape", [f"t{i}"], [f"y{i}"]))
        last = f"y{i}"
    cut = r.choice((-1, -7, -(2**40), 2**62))
    stored = [ints("pads", [0, 0, cut, 0, 0, 0, 0, cut]), ints("far", [r.choice(INT64)])]
    stored += [ints("end", [2**40]), ints("two", [2]), ints("far4", [0, 0, r.choice(INT64), 0])]
    x = floats("x", ["n", r.choice((1, 3, 5)), "h", "w"])
    return model(nodes, [x], [last], stored), ".onnx"


@hostile
def absurd_rank(r: random.Random) -> tuple[bytes, str]:
    """An input with up to 100,000 axes."""
    shape = [2] * r.choice((64, 1000, 100_000))
    nodes = [node("Transpose", ["x"], ["y"]), node("Reshape", ["x", "s"], ["z"])]
    return model(nodes, [floats("x", shape)], ["y"], [ints("s", [-1])]), ".onnx"


@hostile
def absurd_values(r: random.Random) -> tuple[bytes, str]:
    """Values that determine shapes: fills, ranges, tilings and pads of 10^12 elements."""
    big = [r.choice((10**12, 2**62, 2**63 - 1, 10**6, -5)) for _ in range(r.randint(1, 3))]
    x = floats("x", [2, 3])
    match r.randrange(7):
        case 0:
            nodes = [node("ConstantOfShape", ["s"], ["y"]), node("NonZero", ["y"], ["z"])]
        case 1:
            nodes = [node("Range", ["a", "b", "c"], ["y"]), node("Cast", ["y"], ["z"], to=1)]
            inits = [ints("a", 0), ints("b", big[0]), ints("c", r.choice((1, 0, -1)))]
            return model(nodes, [x], ["z"], inits), ".onnx"
        case 2:
            nodes = [node("Tile", ["x", "s"], ["y"])]
            return model(nodes, [x], ["y"], [ints("s", (big * 2)[:2])]), ".onnx"
        case 3:
            nodes = [node("Expand", ["x", "s"], ["y"])]
        case 4:
            nodes = [node("Pad", ["x", "s"], ["y"])]
            return model(nodes, [x], ["y"], [ints("s", (big * 4)[:4])]), ".onnx"
        case 5:
            nodes = [node("OneHot", ["i", "s", "v"], ["y"])]
            inits = [ints("i", [1, 2]), ints("s", big[:1]), ints("v", [0, 1])]
            return model(nodes, [x], ["y"], inits), ".onnx"
        case _:
            nodes = [node("Reshape", ["x", "s"], ["y"])]
    return model(nodes, [x], ["y"], [ints("s", big)]), ".onnx"


@hostile
def squaring(r: random.Random) -> tuple[bytes, str]:
    """Integers, or polynomials, that double in length at each node."""
    shape = r.choice(([3, 5], ["N", "M"]))
    nodes = [node("Shape", ["x"], ["v0"]), node("Add", ["v0", "one"], ["w0"])]
    for i in range(r.choice((8, 40, 200))):
        op = r.choice(("Mul", "Mul", "Add", "Pow"))
        nodes.append(node(op, [f"w{i}", f"w{i}"], [f"w{i + 1}"]))
    nodes.append(node("ConstantOfShape", [nodes[-1].output[0]], ["y"]))
    return model(nodes, [floats("x", shape)], ["y"], [ints("one", [1])]), ".onnx"


@hostile
def doubling_tensor(r: random.Random) -> tuple[bytes, str]:
    """A tensor that doubles at each node, to 2^200 elements."""
    nodes = [node("Concat", ["x", "x"], ["v0"], axis=0)]
    for i in range(r.choice((40, 200))):
        nodes.append(node("Concat", [f"v{i}", f"v{i}"], [f"v{i + 1}"], axis=0))
    start = r.choice((floats("x", [2]), floats("x", ["N"])))
    return model(nodes, [start], [nodes[-1].output[0]]), ".onnx"


@hostile
def doubling_shape(r: random.Random) -> tuple[bytes, str]:
    """A shape vector that doubles: known contents must have a limit."""
    nodes = [node("Shape", ["x"], ["v0"])]
    for i in range(r.choice((12, 40))):
        nodes.append(node("Concat", [f"v{i}", f"v{i}"], [f"v{i + 1}"], axis=0))
    nodes.append(node("ConstantOfShape", [nodes[-1].output[0]], ["y"]))
    return model(nodes, [floats("x", [1, "N"])], ["y"]), ".onnx"


def wrap(field: int, payload: bytes) -> bytes:
    """Return a length-delimited field in the wire format."""
    out, n = bytes([field << 3 | 2]), len(payload)
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n]) + payload


@hostile
def deep_nesting(r: random.Random) -> tuple[bytes, str]:
    """If in If in If …, deeper than any parser's limit; written by hand in the wire format."""
    depth = r.choice((20, 90, 200, 1000, 3000))
    graph = wrap(1, wrap(1, b"c") + wrap(2, b"y") + wrap(4, b"Not")) + wrap(12, wrap(1, b"y"))
    for _ in range(depth):
        # attribute "then_branch" with a graph (field 6); the last bytes are its type, GRAPH (field
        # 20)
        branch = wrap(1, b"then_branch") + wrap(6, graph) + b"\xa0\x01\x05"
        inner = wrap(1, b"c") + wrap(2, b"y") + wrap(4, b"If") + wrap(5, branch)
        graph = wrap(1, inner) + wrap(12, wrap(1, b"y"))
    cond = helper.make_tensor_value_info("c", TensorProto.BOOL, []).SerializeToString()
    graph += wrap(11, cond)
    opset = helper.make_opsetid("", 17).SerializeToString()
    # a model: IR version 8 (field 1), graph (field 7), opset (field 8)
    return b"\x08\x08" + wrap(7, graph) + wrap(8, opset), ".onnx"


@hostile
def nested_types(r: random.Random) -> tuple[bytes, str]:
    """seq(seq(seq(…))) thousands deep."""
    kind = wrap(1, b"\x08\x01")
    for _ in range(r.choice((50, 3000))):
        kind = wrap(r.choice((4, 9)), wrap(1, kind))
    info = wrap(1, b"x") + wrap(2, kind)
    graph = wrap(1, wrap(1, b"x") + wrap(2, b"y") + wrap(4, b"Identity")) + wrap(11, info)
    opset = helper.make_opsetid("", 17).SerializeToString()
    return b"\x08\x08" + wrap(7, graph + wrap(12, wrap(1, b"y"))) + wrap(8, opset), ".onnx"


@hostile
def functions(r: random.Random) -> tuple[bytes, str]:
    """Functions that call themselves, each other, or the next one twice: 2^n nodes inlined."""
    kind = r.choice(("self", "mutual", "bomb", "missing"))
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("l", 1)]

    def call(name: str, x: str, y: str) -> onnx.NodeProto:
        return helper.make_node(name, [x], [y], domain="l")

    def function(name: str, nodes: list[onnx.NodeProto]) -> onnx.FunctionProto:
        return helper.make_function("l", name, ["a"], ["z"], nodes, imports)

    match kind:
        case "self":
            bodies = [function("f0", [call("f0", "a", "z")])]
        case "mutual":
            bodies = [
                function("f0", [call("f1", "a", "z")]),
                function("f1", [call("f0", "a", "z")]),
            ]
        case "bomb":
            n = r.choice((10, 24, 60))
            bodies = [function(f"f{n}", [helper.make_node("Relu", ["a"], ["z"])])]
            for i in range(n):
                bodies.append(
                    function(f"f{i}", [call(f"f{i + 1}", "a", "b"), call(f"f{i + 1}", "b", "z")])
                )
        case _:
            bodies = [function("f0", [helper.make_node("Relu", ["nowhere"], ["other"])])]
    top = [helper.make_node("f0", ["x"], ["y"], domain="l")]
    return model(top, [floats("x", [2])], ["y"], functions=bodies), ".onnx"


@hostile
def external_paths(r: random.Random) -> tuple[bytes, str]:
    """Weights in files outside the model's folder; the first of the paths exist."""
    where = r.choice(
        (
            "../secret.bin",
            "../../secret.bin",
            "/etc/passwd",
            "a/../../secret.bin",
            "link.bin",
            "/dev/zero",
            "/dev/stdin",
            "..\\secret.bin",
            "file:///etc/passwd",
            "\0",
            "",
            "weights\0.bin",
            "~/.profile",
            "//etc/passwd",
            "C:\\x",
            "missing.bin",
            "fifo",
        )
    )
    dims = r.choice(([4], [10**12], [0], [-1], [2**62, 4]))
    kind = r.choice((TensorProto.FLOAT, TensorProto.INT64))
    weight = onnx.TensorProto(name="w", data_type=kind, dims=dims)
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=where)
    for key in ("offset", "length"):
        if r.random() < 0.6:
            value = r.choice(("0", "-1", str(2**63), "x", "16", "1e9", ""))
            weight.external_data.add(key=key, value=value)
    # As a shape it must be read to be of use, as a weight it must not.
    op = r.choice(("Add", "Reshape", "Expand", "Gather"))
    return model([node(op, ["x", "w"], ["y"])], [floats("x", [2, 2])], ["y"], [weight]), ".onnx"


@hostile
def loops(r: random.Random) -> tuple[bytes, str]:
    """A loop of 10^12 iterations whose state doubles in each."""
    trips = ints("m", r.choice((10**12, 2**63 - 1, -1)))
    body_nodes = [node("Identity", ["c"], ["d"]), node("Concat", ["s", "s"], ["t"], axis=0)]
    body = helper.make_graph(
        body_nodes,
        "b",
        [
            helper.make_tensor_value_info("i", 7, []),
            helper.make_tensor_value_info("c", 9, []),
            floats("s", None),
        ],
        [onnx.ValueInfoProto(name="d"), onnx.ValueInfoProto(name=r.choice(("t", "gone")))],
    )
    nodes = [node("Loop", ["m", "", "x"], ["y"], body=body)]
    return model(nodes, [floats("x", [2])], ["y"], [trips]), ".onnx"


@hostile
def names(r: random.Random) -> tuple[bytes, str]:
    """Names with markup, control characters, other scripts, and of a megabyte."""
    name = r.choice(
        ("[bold red]x[/]", "\x1b[31mx", "a\nb", "x" * 10**6, "\u202e\u0000x", "%s{}", "")
    )
    nodes = [node("Relu", ["x"], [name]), node("Neg", [name], ["y"], name=name)]
    return model(nodes, [floats("x", [name[:50] or "N", 2])], ["y"]), ".onnx"


@hostile
def duplicates(r: random.Random) -> tuple[bytes, str]:
    """Names that several nodes, inputs and weights define."""
    nodes = [
        node("Relu", ["x"], ["y"]),
        node("Neg", ["x"], ["y"]),
        node("Split", ["x"], ["a", "a"]),
    ]
    inputs = [floats("x", [2]), floats("x", [3])]
    return model(nodes, inputs, ["y", "y"], [ints("x", [1]), ints("x", [2])]), ".onnx"


@hostile
def many_attributes(r: random.Random) -> tuple[bytes, str]:
    """Attributes with up to 300,000 numbers, or a node with as many operands."""
    n = r.choice((1000, 300_000))
    match r.randrange(4):
        case 0:
            nodes = [
                node("Constant", [], ["c"], value_ints=[2] * n),
                node("Reshape", ["x", "c"], ["y"]),
            ]
        case 1:
            nodes = [node("Transpose", ["x"], ["y"], perm=list(range(n)))]
        case 2:
            nodes = [node("MaxPool", ["x"], ["y"], kernel_shape=[2**62] * n)]
        case _:
            nodes = [node("Concat", ["x"] * n, ["y"], axis=0)]
    return model(nodes, [floats("x", [1, 2, 8, 8])], ["y"]), ".onnx"


@hostile
def bad_attributes(r: random.Random) -> tuple[bytes, str]:
    """Numbers at limits of 64 bits as windows, axes and groups, and malformed equations."""
    big = r.choice(INT64)
    x = floats("x", [1, 4, 8, 8])
    w = numpy_helper.from_array(np.ones((4, 4, 3, 3), np.float32), "w")
    options: list[tuple[str, list[str], dict[str, object]]] = [
        ("Conv", ["x", "w"], {"strides": [big, 1]}),
        ("Conv", ["x", "w"], {"pads": [big, big, big, big]}),
        ("Conv", ["x", "w"], {"group": big}),
        ("Conv", ["x", "w"], {"dilations": [big, 2], "auto_pad": "SAME_UPPER"}),
        ("ConvTranspose", ["x", "w"], {"output_shape": [big, big]}),
        ("MaxPool", ["x"], {"kernel_shape": [big, 1], "ceil_mode": 1}),
        ("Softmax", ["x"], {"axis": big}),
        ("Flatten", ["x"], {"axis": big}),
        ("Split", ["x"], {"num_outputs": big}),
        ("DepthToSpace", ["x"], {"blocksize": big}),
        ("Einsum", ["x", "w"], {"equation": r.choice(("->", ",,,", "é->é", "...", "ij->" * 999))}),
        ("Resize", ["x", "", "s"], {"mode": "zzz"}),
        ("Gelu", ["x"], {"approximate": 7}),
        ("LSTM", ["x", "w", "w"], {"hidden_size": big}),
        ("Cast", ["x"], {"to": big % 2**31}),
        ("Transpose", ["x"], {"perm": [big, 0, 0, 9]}),
    ]
    op, ins, attrs = r.choice(options)
    scale = r.choice((float("nan"), float("inf"), -1.0, 1e38))
    scales = numpy_helper.from_array(np.array([1, 1, scale, scale], np.float32), "s")
    return model([node(op, ins, ["y"], **attrs)], [x], ["y"], [w, scales]), ".onnx"


@hostile
def compressed(r: random.Random) -> tuple[bytes, str]:
    """Broken gzip, and 64 MB of zeros in 64 kB."""
    plain = model([node("Relu", ["x"], ["y"])], [floats("x", [2])], ["y"])
    packed = gzip.compress(r.choice((plain, bytes(1 << 26), b"")))
    return r.choice(
        (packed, packed[: len(packed) // 2], packed + b"\0" * 9, b"\x1f\x8b")
    ), ".onnx.gz"


@hostile
def not_a_model(r: random.Random) -> tuple[bytes, str]:
    junk = r.choice(
        (b"", b"\0", b"\xff" * 100, b"PK\x03\x04", b"{}", b"\x80\x04.", r.randbytes(300))
    )
    return junk, r.choice((".onnx", ".onnxtxt", ".onnx.gz", ".pir"))


@hostile
def opsets(r: random.Random) -> tuple[bytes, str]:
    nodes = [node(r.choice(("Relu", "Upsample", "NoSuchOp", "")), ["x"], ["y"])]
    return model(
        nodes, [floats("x", [2])], ["y"], opset=r.choice((0, -1, 1, 6, 999, 2**62))
    ), ".onnx"
