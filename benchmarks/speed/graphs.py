"""Models for the timings, written to a folder: weights inside, long chains, a language model."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.shapes_models import fill_weights

from .processes import RESNET


def external(name: str, dims: tuple[int, ...], file: str = "weights.bin") -> onnx.TensorProto:
    """Return a float weight said to lie in another file."""
    t = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims)
    t.data_location = TensorProto.EXTERNAL
    nbytes = 4
    for d in dims:
        nbytes *= d
    for key, value in (("location", file), ("offset", "0"), ("length", str(nbytes))):
        t.external_data.add(key=key, value=value)
    return t


def resnet50(folder: Path) -> Path:
    """Write the example ResNet-50, batch one, with random weights inside the file."""
    model = onnx.load_model_from_string(gzip.decompress(RESNET.read_bytes()))
    for info in (*model.graph.input, *model.graph.output):
        for d in info.type.tensor_type.shape.dim[:1]:
            d.dim_value = 1
    del model.graph.value_info[:]
    fill_weights(model)
    path = folder / "resnet50.onnx"
    onnx.save(model, path)
    return path


def chain(folder: Path, nodes: int, channels: int = 64, weights: bool = True) -> Path:
    """Write Conv and Relu in turn; weights inside the file, or only named."""
    made, inits, x = [], [], "x"
    data = np.zeros((channels, channels, 3, 3), np.float32).tobytes()
    dims = (channels, channels, 3, 3)
    for i in range(nodes // 2):
        if weights:
            t = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=dims, raw_data=data)
        else:
            t = external(f"w{i}", dims)
        inits.append(t)
        made.append(helper.make_node("Conv", [x, f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1]))
        made.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"]))
        x = f"r{i}"
    return save(folder / f"chain{nodes}.onnx", made, inits, x, [1, channels, 56, 56])


def save(
    path: Path,
    nodes: list[onnx.NodeProto],
    inits: list[onnx.TensorProto],
    out: str,
    shape: list[int | str],
    kind: int = TensorProto.FLOAT,
) -> Path:
    """Write a model of one input and one output."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, shape)],
        [onnx.ValueInfoProto(name=out)],
        inits,
    )
    graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def llama(folder: Path, layers: int = 22, width: int = 2048, inner: int = 5632) -> Path:
    """Write a decoder of about 1.1 billion parameters, every weight in a file that is not there."""
    nodes: list[onnx.NodeProto] = []
    inits: list[onnx.TensorProto] = []
    heads, vocabulary = 32, 32_000

    def add(op: str, inputs: list[str], **attrs: object) -> str:
        nodes.append(helper.make_node(op, inputs, [f"v{len(nodes)}"], **attrs))
        return str(nodes[-1].output[0])

    def weight(*dims: int) -> str:
        inits.append(external(f"w{len(inits)}", dims, "model.onnx.data"))
        return str(inits[-1].name)

    def const(values: object, dtype: type = np.int64) -> str:
        array = np.asarray(values, dtype=dtype)
        inits.append(onnx.numpy_helper.from_array(array, f"k{len(inits)}"))
        return str(inits[-1].name)

    def norm(x: str) -> str:
        square = add("Pow", [x, const(2.0, np.float32)])
        mean = add("ReduceMean", [square], axes=[-1])
        root = add("Sqrt", [add("Add", [mean, const(1e-5, np.float32)])])
        return add("Mul", [add("Div", [x, root]), weight(width)])

    def split_heads(x: str) -> str:
        shape = add("Shape", [x])
        head = add("Slice", [shape, const([0]), const([2])])
        target = add("Concat", [head, const([heads, width // heads])], axis=0)
        return add("Transpose", [add("Reshape", [x, target])], perm=[0, 2, 1, 3])

    x = add("Gather", [weight(vocabulary, width), "x"])
    for _ in range(layers):
        y = norm(x)
        q, k, v = (split_heads(add("MatMul", [y, weight(width, width)])) for _ in range(3))
        kt = add("Transpose", [k], perm=[0, 1, 3, 2])
        scores = add("Mul", [add("MatMul", [q, kt]), const(0.125, np.float32)])
        mixed = add("MatMul", [add("Softmax", [scores], axis=-1), v])
        flat = add("Reshape", [add("Transpose", [mixed], perm=[0, 2, 1, 3]), const([0, 0, -1])])
        x = add("Add", [x, add("MatMul", [flat, weight(width, width)])])
        y = norm(x)
        gate = add("MatMul", [y, weight(width, inner)])
        gate = add("Mul", [gate, add("Sigmoid", [gate])])
        up = add("Mul", [gate, add("MatMul", [y, weight(width, inner)])])
        x = add("Add", [x, add("MatMul", [up, weight(inner, width)])])
    out = add("MatMul", [norm(x), weight(width, vocabulary)])
    path = folder / "llama.onnx"
    return save(path, nodes, inits, out, ["batch", "seq"], TensorProto.INT64)


def fan_out(folder: Path, nodes: int) -> Path:
    """Write a value that all nodes read, and a node that reads all of them."""
    made = [helper.make_node("Relu", ["x"], [f"r{i}"]) for i in range(nodes - 1)]
    made.append(helper.make_node("Concat", [f"r{i}" for i in range(nodes - 1)], ["y"], axis=0))
    return save(folder / f"fan_out{nodes}.onnx", made, [], "y", [1, 64])


def residual(folder: Path, nodes: int) -> Path:
    """Write sums that each read the input of the network again, so that it lives to the end."""
    made = [helper.make_node("Relu", ["x"], ["v0"])]
    for i in range(1, nodes):
        op, ins = ("Add", [f"v{i - 1}", "x"]) if i % 2 else ("MatMul", [f"v{i - 1}", "w"])
        made.append(helper.make_node(op, ins, [f"v{i}"]))
    weights = [external("w", (64, 64))]
    return save(folder / f"residual{nodes}.onnx", made, weights, f"v{nodes - 1}", [8, 64])


def pointwise(folder: Path, nodes: int) -> Path:
    """Write elementwise operators only, which a runtime would fuse without end."""
    ops = ("Relu", "Sigmoid", "Tanh", "Neg")
    made = [
        helper.make_node(ops[i % 4], [f"v{i - 1}" if i else "x"], [f"v{i}"]) for i in range(nodes)
    ]
    return save(folder / f"pointwise{nodes}.onnx", made, [], f"v{nodes - 1}", [1, 64, 56, 56])


def views(folder: Path, nodes: int) -> Path:
    """Write reshapes and transposes in turn."""
    shape = numpy_helper.from_array(np.array([64, 16], np.int64), "s")
    made = []
    for i in range(nodes):
        source = [f"v{i - 1}" if i else "x"]
        if i % 2:
            made.append(helper.make_node("Transpose", source, [f"v{i}"], perm=[1, 0]))
        else:
            made.append(helper.make_node("Reshape", [*source, "s"], [f"v{i}"]))
    return save(folder / f"views{nodes}.onnx", made, [shape], f"v{nodes - 1}", [64, 16])


def symbolic(folder: Path, nodes: int) -> Path:
    """Write sequences that grow by one symbol a step, so that extents are ever longer sums."""
    made = []
    for i in range(nodes):
        source = f"v{i - 1}" if i else "x"
        made.append(helper.make_node("Concat", [source, "x"], [f"v{i}"], axis=1))
    return save(folder / f"symbolic{nodes}.onnx", made, [], f"v{nodes - 1}", ["batch", "seq", 4])


def distinct(folder: Path, nodes: int) -> Path:
    """Write products, no two of which are equal."""
    inits, made, width = [], [], 64
    for i in range(nodes):
        then = 64 + i * 7 % 4093  # a prime: widths repeat after 4093 nodes
        inits.append(external(f"w{i}", (width, then)))
        made.append(helper.make_node("MatMul", [f"v{i - 1}" if i else "x", f"w{i}"], [f"v{i}"]))
        width = then
    return save(folder / f"distinct{nodes}.onnx", made, inits, f"v{nodes - 1}", [8, 64])


def quantized(folder: Path, nodes: int) -> Path:
    """Write quantized convolutions, each with conversions around it."""
    scale = numpy_helper.from_array(np.array(0.1, np.float32), "scale")
    zero = numpy_helper.from_array(np.array(0, np.int8), "zero")
    inits, made, last = [scale, zero], [], "x"
    for i in range(nodes // 4):
        weight = external(f"w{i}", (16, 16, 3, 3))
        weight.data_type = TensorProto.INT8
        # the length: one byte per element
        weight.external_data[2].value = str(16 * 16 * 9)
        inits.append(weight)
        made += [
            helper.make_node("DequantizeLinear", [f"w{i}", "scale", "zero"], [f"d{i}"]),
            helper.make_node("Conv", [last, f"d{i}"], [f"c{i}"], pads=[1, 1, 1, 1]),
            helper.make_node("QuantizeLinear", [f"c{i}", "scale", "zero"], [f"q{i}"]),
            helper.make_node("DequantizeLinear", [f"q{i}", "scale", "zero"], [f"x{i}"]),
        ]
        last = f"x{i}"
    return save(folder / f"quantized{nodes}.onnx", made, inits, last, [1, 16, 14, 14])


def body(name: str, nodes: list[onnx.NodeProto], *inputs: onnx.ValueInfoProto) -> onnx.GraphProto:
    """Return a region whose outputs are results of its last nodes, one per input but the first."""
    outputs = [onnx.ValueInfoProto(name=n.output[0]) for n in nodes[-max(len(inputs) - 1, 1) :]]
    return helper.make_graph(nodes, name, list(inputs), outputs)


def branches(folder: Path, nodes: int) -> Path:
    """Write Ifs in a row with two nodes on each side, decided by data."""
    made, last = [helper.make_node("Cast", ["s"], ["c"], to=TensorProto.BOOL)], "x"
    made.insert(0, helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0))
    for i in range(nodes // 5):
        sides = {}
        for side, (first, then) in {"then": ("Relu", "Neg"), "else": ("Neg", "Relu")}.items():
            inner = [
                helper.make_node(first, [last], [f"{side}{i}a"]),
                helper.make_node(then, [f"{side}{i}a"], [f"{side}{i}b"]),
            ]
            sides[f"{side}_branch"] = body(f"{side}{i}", inner)
        last = f"v{i}"
        made.append(helper.make_node("If", ["c"], [last], **sides))
    return save(folder / f"branches{nodes}.onnx", made, [], last, [1, 64])


def loops(folder: Path, nodes: int) -> Path:
    """Write loops in a row, whose number of iterations depends on data."""
    made, last = [helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0)], "x"
    made.append(helper.make_node("Cast", ["s"], ["m"], to=TensorProto.INT64))
    info = helper.make_tensor_value_info
    for i in range(nodes // 4):
        inputs = [
            info(f"i{i}", TensorProto.INT64, []),
            info(f"k{i}", TensorProto.BOOL, []),
            info(f"p{i}", TensorProto.FLOAT, [1, 64]),
        ]
        inner = [
            helper.make_node("Relu", [f"p{i}"], [f"q{i}"]),
            helper.make_node("Identity", [f"k{i}"], [f"l{i}"]),
            helper.make_node("Add", [f"q{i}", "x"], [f"r{i}"]),
        ]
        made.append(
            helper.make_node("Loop", ["m", "", last], [f"v{i}"], body=body(f"b{i}", inner, *inputs))
        )
        last = f"v{i}"
    return save(folder / f"loops{nodes}.onnx", made, [], last, [1, 64])


GROWING = (
    fan_out,
    residual,
    pointwise,
    views,
    symbolic,
    distinct,
    quantized,
    branches,
    loops,
)
"""Graphs of any number of nodes, each the worst of something."""
