"""Random modules of real operators, typed by their own inference."""

from __future__ import annotations

import typing
from dataclasses import dataclass, field, fields, replace

from hypothesis import strategies as st

from perfc.ir import (
    NOWHERE,
    UNKNOWN,
    DType,
    Graph,
    Known,
    Loc,
    MapType,
    ModelOrigin,
    Module,
    Node,
    Op,
    OptionalType,
    SequenceType,
    SymbolDecl,
    TensorType,
    UnknownType,
    Value,
    Weight,
    symbol,
)
from perfc.ir.attributes import field_types
from perfc.ir.definition import least_of
from perfc.ir.ops import operator
from perfc.ir.symbolic.dim import Poly

N = symbol("N", 1, 256)
ODD = symbol("past seq`", 0)
DATA = symbol("u1", 0, N * 4)
DECLARED = (
    SymbolDecl("N", 8, 1, 256),
    SymbolDecl(str(ODD), 3, 0),
    SymbolDecl("M", 2, 1, N * 2),
)
names = st.one_of(
    st.from_regex(r"[a-z0-9_.$]{1,6}", fullmatch=True),
    st.text(max_size=6),
    st.sampled_from(["/conv1/Conv_output_0", "onnx::MatMul_12", "_", "a b", 'say "x"', "\\", "é"]),
)
dims = st.one_of(st.integers(0, 7), st.sampled_from([N, N + 1, ODD, N * ODD // 3, DATA]))
shapes = st.lists(dims, max_size=3).map(tuple)
floats = st.sampled_from([DType.F32, DType.F16, DType.BF16])
locations = st.one_of(
    st.just(NOWHERE), st.builds(Loc, names, st.sampled_from(["", "Conv"]), st.booleans())
)


@dataclass
class _Builder:
    """One graph in the making; ``visible`` holds outer values too."""

    draw: st.DrawFn
    taken: set[str]
    visible: list[Value]
    nodes: list[Node] = field(default_factory=list)
    weights: list[Value] = field(default_factory=list)

    def name(self) -> str:
        name = self.draw(names)
        while name in self.taken:
            name += f"_{len(self.taken)}"
        self.taken.add(name)
        return name

    def pick(self) -> Value:
        tensors = [v for v in self.visible if isinstance(v.type, TensorType)]
        return self.draw(st.sampled_from([v for v in tensors if v.type.dtype.is_float]))

    def weight(self, type_: TensorType, known: Known | None = None) -> Value:
        about = Weight(
            self.draw(st.none() | st.integers(0, 10**10)),
            self.draw(st.sampled_from(["", "0f" * 32])),
            self.draw(st.sampled_from(["", "weights/a b.bin"])),
            self.draw(st.booleans()),
        )
        value = Value(self.name(), type_, known, about)
        self.weights.append(value)
        self.visible.append(value)
        return value

    def apply(
        self, op: Op, *ins: Value | None, regions: tuple[Graph, ...] = (), types: object = None
    ) -> None:
        found = op.infer(ins) if types is None else types
        assert isinstance(found, tuple)
        outputs: list[Value | None] = []
        for i, type_ in enumerate(found):
            skip = i > 0 and self.draw(st.booleans())
            outputs.append(None if skip else Value(self.name(), type_))
        self.nodes.append(Node(op, ins, tuple(outputs), regions, self.draw(locations)))
        self.visible += [v for v in outputs if v is not None]


def _step(b: _Builder, depth: int) -> None:
    x = b.pick()
    assert isinstance(x.type, TensorType)
    kinds = ["unary", "attribute", "add", "matmul", "clip", "cast", "opaque", "reshape", "sequence"]
    match b.draw(st.sampled_from([*kinds, "if", "loop"] if depth else kinds)):
        case "unary":
            b.apply(operator(b.draw(st.sampled_from(["relu", "sqrt", "identity"])))(), x)
        case "attribute":
            alpha = b.draw(st.floats())
            b.apply(operator("leaky_relu")(alpha=alpha), x)  # type: ignore[call-arg]
        case "add":
            b.apply(operator("add")(), x, x)
        case "matmul":
            if x.type.shape:
                w = b.weight(TensorType(x.type.dtype, (x.type.shape[-1], b.draw(dims))))
                b.apply(operator("matmul")(), x, w)
        case "clip":
            b.apply(operator("clip")(), x, None, b.weight(TensorType(x.type.dtype, ())))
        case "cast":
            b.apply(operator("cast")(to=b.draw(floats)), x)  # type: ignore[call-arg]
        case "opaque":
            cls = operator("opaque")
            op = cls(name='com.x::Odd "one"', num_outputs=3)  # type: ignore[call-arg]
            b.apply(op, x, None)
        case "reshape":
            shape = b.weight(TensorType(DType.I64, (2,)), Known.vector([N, -1]))
            b.apply(operator("reshape")(), x, shape)
        case "sequence":
            b.apply(operator("sequence_construct")(), x, x)
        case "if":
            condition = b.weight(TensorType(DType.BOOL, ()), Known.scalar(True))
            branches = _regions(b, depth - 1, x, "then", "else branch")
            b.apply(operator("if")(), condition, regions=branches, types=(x.type,))
        case _:
            trips = b.weight(TensorType(DType.I64, ()), Known.scalar(b.draw(st.none() | dims)))
            (body,) = _regions(b, depth - 1, x, "body")
            carried = SequenceType(x.type, N)
            b.apply(operator("loop")(), trips, None, regions=(body,), types=(carried,))


def _regions(outer: _Builder, depth: int, x: Value, *names: str) -> tuple[Graph, ...]:
    """Regions that may use each other's names, but no outer ones."""
    taken = [set(outer.taken) for _ in names]
    made = tuple(_region(outer, depth, x, n, t) for n, t in zip(names, taken, strict=True))
    outer.taken.update(*taken)
    return made


def _region(outer: _Builder, depth: int, x: Value, name: str, taken: set[str]) -> Graph:
    b = _Builder(outer.draw, taken, list(outer.visible))
    inputs = tuple(Value(b.name(), x.type) for _ in range(outer.draw(st.integers(0, 2))))
    b.visible += inputs
    for _ in range(outer.draw(st.integers(0, 2))):
        _step(b, depth)
    results = [v for node in b.nodes for v in node.results] or [x]
    return Graph(name, inputs, tuple(results[-2:]), tuple(b.nodes), tuple(b.weights))


@st.composite
def modules(draw: st.DrawFn) -> Module:
    """A module that verifies."""
    b = _Builder(draw, set(), [])
    for _ in range(draw(st.integers(1, 3))):
        b.visible.append(Value(b.name(), TensorType(draw(floats), draw(shapes))))
    inputs = tuple(b.visible)
    for _ in range(draw(st.integers(0, 6))):
        _step(b, 2)
    results = [v for node in b.nodes for v in node.results] or list(inputs)
    outputs = tuple(draw(st.lists(st.sampled_from(results), max_size=3)))
    graph = Graph(draw(names), inputs, outputs, tuple(b.nodes), tuple(b.weights))
    opsets = draw(st.sampled_from([(), (("", 17),), (("", 17), ("com.microsoft", 1))]))
    origin = ModelOrigin(draw(st.sampled_from(["", "a b.onnx"])), opsets=opsets)
    return Module(graph, DECLARED, origin)


def shuffled(draw: st.DrawFn, module: Module) -> Module:
    """``module`` with other names, weights in another order, and nodes in another valid order."""
    new: dict[Value, Value] = {}

    def rename(v: Value) -> Value:
        new[v] = replace(v, name=f"r{len(new)}")
        return new[v]

    def graph(g: Graph) -> Graph:
        inputs = tuple(rename(v) for v in g.inputs)
        weights = tuple(rename(v) for v in draw(st.permutations(g.weights)))
        waiting, nodes = list(g.nodes), []
        blocked = {v for n in waiting for v in n.results}
        while waiting:
            ready = [n for n in waiting if not blocked & _reads(n)]
            node = draw(st.sampled_from(ready))
            waiting.remove(node)
            blocked -= set(node.results)
            ins = tuple(v and new.get(v, v) for v in node.inputs)
            regions = tuple(graph(r) for r in node.regions)
            outs = tuple(v and rename(v) for v in node.outputs)
            nodes.append(Node(node.op, ins, outs, regions, Loc("elsewhere")))
        outputs = tuple(new.get(v, v) for v in g.outputs)
        return Graph("renamed", inputs, outputs, tuple(nodes), weights)

    return Module(graph(module.graph), module.symbols, ModelOrigin("other.onnx"))


def _reads(node: Node) -> set[Value]:
    found = {v for v in node.inputs if v is not None}
    for region in node.regions:
        found |= set(region.outputs)
        for inner in region.nodes:
            found |= _reads(inner)
    return found


def fields_of(cls: type[Op]) -> st.SearchStrategy[Op]:
    """``cls`` with any value its annotations allow in every field."""
    hints = field_types(cls)
    drawn = {f.name: values_of(hints[f.name], least_of(f)) for f in fields(cls)}
    if "derivative" in drawn:
        # text that is a formula of its own kind
        drawn["derivative"] = st.sampled_from(("1", "-x * y", "where(y > 0, 1, 0)"))
    return st.fixed_dictionaries(drawn).map(lambda given: cls(**given))


knowns = st.lists(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    min_size=2,
    max_size=2,
).map(Known.vector)


def values_of(hint: object, least: int | None = None) -> st.SearchStrategy[object]:
    """Values of an annotation as operators use it; integers are at least ``least``."""
    if hint is int and least is not None:
        return st.integers(least)
    if hint is Known:
        return st.one_of(knowns, st.just(Known((0, 3), ())), st.just(Known.scalar(N + 1)))
    if hint is UnknownType:
        return st.just(UNKNOWN)
    if hint in (TensorType, SequenceType, OptionalType, MapType):
        tensors = st.builds(TensorType, st.sampled_from(DType), st.none() | st.just((N, 2)))
        wrap = {OptionalType: OptionalType, SequenceType: SequenceType}.get(hint)
        return tensors.map(wrap) if wrap else tensors
    if hint is Poly:
        return st.sampled_from((N, N + 1, 2 * N))
    if hint is float:
        return st.floats()
    if hint is str:
        return st.text(max_size=4)
    args = typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        if args[-1] is Ellipsis:
            return st.lists(values_of(args[0], least), max_size=3).map(tuple)
        return st.tuples(*map(values_of, args))
    if args:
        return st.one_of(*(values_of(a, least) for a in args))
    return st.from_type(typing.cast("type[object]", hint))
