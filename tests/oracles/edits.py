"""Seeded edits of real graphs, each of one operator, with the name of the operator edited.

An edit keeps the model valid: what reads the edited operator is adapted as an author would have
to (a wider layer's readers read more). Values are not kept, since weights are not looked at.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import onnx
from onnx import TensorProto, helper

ACTIVATIONS = frozenset(
    {"Relu", "Sigmoid", "Clip", "HardSwish", "HardSigmoid", "Tanh", "LeakyRelu"}
)
THROUGH = frozenset(
    {
        "BatchNormalization",
        "Relu",
        "Clip",
        "HardSwish",
        "Sigmoid",
        "Erf",
        "Mul",
        "Add",
        "Div",
        "Tanh",
        "Gelu",
        "LeakyRelu",
    }
)


@dataclass(frozen=True)
class Edit:
    """A model with one edit, and the node that was edited (a removed one by its old name)."""

    model: onnx.ModelProto
    kind: str
    node: str


class Editor:
    """One copy of a model and what refers to what in it."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        self.graph = self.model.graph
        self.weights = {w.name: w for w in self.graph.initializer}
        self.index()

    def index(self) -> None:
        """Who makes and who reads each value."""
        self.maker = {o: n for n in self.graph.node for o in n.output}
        self.readers: dict[str, list[onnx.NodeProto]] = {}
        for n in self.graph.node:
            for i in dict.fromkeys(n.input):
                self.readers.setdefault(i, []).append(n)
        self.outputs = {o.name for o in self.graph.output}
        del self.graph.value_info[:]

    def weight_of(self, node: onnx.NodeProto, slot: int) -> onnx.TensorProto | None:
        """The stored tensor that an operand is, if nobody else reads it."""
        if slot >= len(node.input) or node.input[slot] not in self.weights:
            return None
        return self.weights[node.input[slot]]

    def reshape(self, w: onnx.TensorProto, dims: list[int]) -> None:
        """Another shape of a stored tensor, its content dropped."""
        del w.dims[:]
        w.dims.extend(dims)
        w.ClearField("raw_data")
        w.ClearField("float_data")
        del w.external_data[:]
        w.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "stripped"), ("offset", "0")):
            w.external_data.append(onnx.StringStringEntryProto(key=key, value=value))

    def widen(self, node: onnx.NodeProto, times: float) -> bool:
        """More output channels; False where what reads them cannot be adapted simply."""
        is_conv = node.op_type == "Conv"
        w = self.weight_of(node, 1)
        if w is None or (is_conv and attribute(node, "group", 1) != 1):
            return False
        shape = list(w.dims)
        axis = 0 if is_conv or attribute(node, "transB", 0) else len(shape) - 1
        old = shape[axis]
        new = int(old * times)
        todo: list[tuple[onnx.TensorProto, list[int]]] = []
        shape[axis] = new
        todo.append((w, shape))
        bias = self.weight_of(node, 2)
        if bias is not None:
            todo.append((bias, [new]))
        if not self.follow(node.output[0], old, new, todo):
            return False
        names = [t.name for t, _ in todo]
        if any(len(self.readers.get(n, [])) > 1 for n in names) or len(set(names)) < len(names):
            return False
        for tensor, dims in todo:
            self.reshape(tensor, dims)
        return True

    def follow(
        self, value: str, old: int, new: int, todo: list[tuple[onnx.TensorProto, list[int]]]
    ) -> bool:
        """Adapt the readers of a widened value up to the next products."""
        waiting, done, ends = [value], set(), 0
        while waiting:
            v = waiting.pop()
            if v in done:
                continue
            done.add(v)
            if v in self.outputs:
                return False
            for n in self.readers.get(v, []):
                w = self.weight_of(n, 1)
                if n.op_type == "Conv" and w is not None and attribute(n, "group", 1) == 1:
                    dims = list(w.dims)
                    if dims[1] != old or n.input[0] != v:
                        return False
                    dims[1] = new
                    todo.append((w, dims))
                    ends += 1
                elif n.op_type in ("MatMul", "Gemm") and w is not None and n.input[0] == v:
                    dims = list(w.dims)
                    axis = 1 if attribute(n, "transB", 0) else len(dims) - 2
                    if dims[axis] != old:
                        return False
                    dims[axis] = new
                    todo.append((w, dims))
                    ends += 1
                elif n.op_type in THROUGH:
                    for i in n.input:
                        if i in self.weights and list(self.weights[i].dims) == [old]:
                            todo.append((self.weights[i], [new]))
                        elif i in self.weights and len(self.weights[i].dims) not in (0, 1):
                            return False
                        elif i and i not in {*self.weights, *done, v}:
                            alone = self.is_from(i, done | {value})
                            if not alone:
                                return False
                    waiting.append(n.output[0])
                else:
                    return False
        return ends > 0

    def is_from(self, value: str, sources: set[str]) -> bool:
        """Whether a value is made of widened ones alone, by elementwise operators."""
        seen, waiting = set(), [value]
        while waiting:
            v = waiting.pop()
            if v in sources or v in seen or v in self.weights:
                continue
            seen.add(v)
            maker = self.maker.get(v)
            if maker is None or (maker.op_type not in THROUGH and maker.op_type != "Constant"):
                return False
            waiting += [i for i in maker.input if i]
        return True


def attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    """An integer attribute."""
    return next((a.i for a in node.attribute if a.name == name), default)


def wider(e: Editor, rng: random.Random) -> str | None:
    """A layer with half as many channels again."""
    nodes = [n for n in e.graph.node if n.op_type in ("Conv", "MatMul", "Gemm")]
    rng.shuffle(nodes)
    return next((n.name for n in nodes if e.widen(n, rng.choice([1.25, 1.5, 2.0]))), None)


def dropped_activation(e: Editor, rng: random.Random) -> str | None:
    """An activation taken out."""
    nodes = [n for n in e.graph.node if n.op_type in ACTIVATIONS and n.output[0] not in e.outputs]
    if not nodes:
        return None
    node = rng.choice(nodes)
    for reader in e.readers.get(node.output[0], []):
        for k, i in enumerate(reader.input):
            if i == node.output[0]:
                reader.input[k] = node.input[0]
    e.graph.node.remove(node)
    return node.name


def changed_stride(e: Editor, rng: random.Random) -> str | None:
    """A convolution or a pool that takes every second position, or every one."""
    nodes = [
        n
        for n in e.graph.node
        if n.op_type in ("Conv", "MaxPool", "AveragePool")
        and any(a.name == "strides" and list(a.ints) == [2, 2] for a in n.attribute)
    ]
    rng.shuffle(nodes)
    for node in nodes:
        # a block's shortcut has a stride of its own, so only what lies on no branch can change
        if on_trunk(e, node):
            next(a for a in node.attribute if a.name == "strides").ints[:] = [1, 1]
            return node.name
    return None


def on_trunk(e: Editor, node: onnx.NodeProto) -> bool:
    """Whether everything before the node feeds nothing behind it but through it."""
    before: set[str] = set()
    waiting = [i for i in node.input if i]
    while waiting:
        v = waiting.pop()
        maker = e.maker.get(v)
        if v not in before:
            before.add(v)
            waiting += [i for i in maker.input if i] if maker is not None else []
    inside = {id(e.maker[v]) for v in before if v in e.maker} | {id(node)}
    return all(
        id(r) in inside
        for v in before
        if v not in e.weights and (v not in e.maker or e.maker[v].op_type != "Constant")
        for r in e.readers.get(v, [])
    )


def larger_kernel(e: Editor, rng: random.Random) -> str | None:
    """A convolution of 5 x 5 where it was 3 x 3, padded accordingly."""
    nodes = []
    for n in e.graph.node:
        w = e.weight_of(n, 1) if n.op_type == "Conv" else None
        pads = next((list(a.ints) for a in n.attribute if a.name == "pads"), [])
        plain = all(x == 1 for a in n.attribute if a.name == "dilations" for x in a.ints)
        if (
            w is not None
            and list(w.dims[2:]) == [3, 3]
            and pads == [1] * 4
            and plain
            and len(e.readers[w.name]) == 1
        ):
            nodes.append(n)
    if not nodes:
        return None
    node = rng.choice(nodes)
    w = e.weight_of(node, 1)
    assert w is not None
    e.reshape(w, [*w.dims[:2], 5, 5])
    for a in node.attribute:
        if a.name == "kernel_shape":
            a.ints[:] = [5, 5]
        if a.name == "pads":
            a.ints[:] = [2, 2, 2, 2]
    return node.name


def other_activation(e: Editor, rng: random.Random) -> str | None:
    """One activation in place of another."""
    nodes = [n for n in e.graph.node if n.op_type in ("Relu", "Sigmoid", "Tanh", "HardSwish")]
    if not nodes:
        return None
    node = rng.choice(nodes)
    node.op_type = rng.choice([t for t in ("Tanh", "Softplus", "Mish") if t != node.op_type])
    del node.attribute[:]
    return node.name


def inserted(e: Editor, rng: random.Random) -> str | None:
    """An operator put into an edge."""
    nodes = [
        n
        for n in e.graph.node
        if n.op_type in ("Conv", "MatMul", "Gemm") and n.output[0] not in e.outputs
    ]
    node = rng.choice(nodes)
    value = node.output[0]
    made = helper.make_node(
        rng.choice(["Tanh", "Exp", "Abs"]),
        [value],
        [f"{value}.new"],
        name=f"inserted_behind_{node.name}",
    )
    for reader in e.readers.get(value, []):
        for k, i in enumerate(reader.input):
            if i == value:
                reader.input[k] = made.output[0]
    place = list(e.graph.node).index(node)
    e.graph.node.insert(place + 1, made)
    return made.name


def other_precision(e: Editor, rng: random.Random) -> str | None:
    """One product in another element type, cast before it and behind it."""
    nodes = [
        n
        for n in e.graph.node
        if n.op_type in ("Conv", "Gemm", "MatMul")
        and e.weight_of(n, 1) is not None
        and n.output[0] not in e.outputs
    ]
    rng.shuffle(nodes)
    for node in nodes:
        w = e.weight_of(node, 1)
        assert w is not None
        own = [e.weight_of(node, k) for k in range(1, len(node.input))]
        if any(t is None or len(e.readers[t.name]) > 1 for t in own):
            continue
        was = w.data_type
        now = TensorProto.FLOAT16 if was == TensorProto.FLOAT else TensorProto.FLOAT
        for t in own:
            assert t is not None
            t.data_type = now
            e.reshape(t, list(t.dims))
        x, y = node.input[0], node.output[0]
        before = helper.make_node("Cast", [x], [f"{y}.in"], to=now, name=f"{node.name}_in")
        behind = helper.make_node("Cast", [f"{y}.out"], [y], to=was, name=f"{node.name}_out")
        node.input[0], node.output[0] = f"{y}.in", f"{y}.out"
        place = list(e.graph.node).index(node)
        e.graph.node.insert(place, before)
        e.graph.node.insert(place + 2, behind)
        return node.name
    return None


def grouped(e: Editor, rng: random.Random) -> str | None:
    """A convolution in four groups."""
    nodes = []
    for n in e.graph.node:
        w = e.weight_of(n, 1) if n.op_type == "Conv" else None
        if w is None or attribute(n, "group", 1) != 1 or len(e.readers[w.name]) > 1:
            continue
        if w.dims[0] % 4 == 0 and w.dims[1] % 4 == 0:
            nodes.append(n)
    if not nodes:
        return None
    node = rng.choice(nodes)
    w = e.weight_of(node, 1)
    assert w is not None
    e.reshape(w, [w.dims[0], w.dims[1] // 4, *w.dims[2:]])
    kept = [a for a in node.attribute if a.name != "group"]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute("group", 4)])
    return node.name


KINDS: tuple[Callable[[Editor, random.Random], str | None], ...] = (
    wider,
    dropped_activation,
    changed_stride,
    other_precision,
    larger_kernel,
    other_activation,
    inserted,
    grouped,
)


def edited(model: onnx.ModelProto, kind: int, rng: random.Random) -> Edit | None:
    """The model with one edit of a kind; None where it has nothing to edit so."""
    editor = Editor(model)
    make = KINDS[kind % len(KINDS)]
    name = make(editor, rng)
    return None if name is None else Edit(editor.model, make.__name__, name)


def renamed(model: onnx.ModelProto, rng: random.Random) -> tuple[onnx.ModelProto, dict[str, str]]:
    """The model with every node and value but inputs and outputs under another name."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    graph = found.graph
    kept = {v.name for v in (*graph.input, *graph.output)}
    values = {o for n in graph.node for o in n.output if o} | {w.name for w in graph.initializer}
    order = sorted(values - kept)
    rng.shuffle(order)
    new = {name: f"v{k}" for k, name in enumerate(order)}
    names: dict[str, str] = {}
    for k, n in enumerate(graph.node):
        names[n.name] = f"n{k}_{rng.randrange(1 << 30)}"
        n.name = names[n.name]
        for part in (n.input, n.output):
            for i, v in enumerate(part):
                part[i] = new.get(v, v)
    for w in graph.initializer:
        w.name = new.get(w.name, w.name)
    return found, names
