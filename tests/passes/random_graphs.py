"""Random well-typed modules: residuals, fan-out, views, movements, reductions, branches, loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from perfc.ir.graph import Graph, Loc, Module, Node, SymbolDecl, Value, Weight
from perfc.ir.op import Op
from perfc.ir.ops import operator
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, TensorType
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses

N = symbol("N")


@dataclass
class Builder:
    """Appends nodes; every tensor is ``f32[batch, 4, 4]`` but where an operator makes another."""

    batch: Dim
    values: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    weights: list[Value] = field(default_factory=list)
    prefix: str = "v"

    def name(self) -> str:
        return f"{self.prefix}{len(self.nodes)}"

    @property
    def square(self) -> TensorType:
        return TensorType(DType.F32, (self.batch, 4, 4))

    def weight(self, shape: tuple[int, ...], known: Known | None = None) -> Value:
        dtype = DType.I64 if known is not None else DType.F32
        v = Value(f"{self.prefix}w{len(self.weights)}", TensorType(dtype, shape), known, Weight())
        self.weights.append(v)
        return v

    def ints(self, *items: int) -> Value:
        return self.weight((len(items),), Known.vector(items))

    def add(self, op: Op, *ins: Value, types: tuple[TensorType, ...] = ()) -> Value:
        outs = tuple(Value(f"{self.name()}_{i}", t) for i, t in enumerate(types or (self.square,)))
        self.nodes.append(Node(op, ins, outs, (), Loc(f"n{len(self.nodes)}", op.mnemonic)))
        return outs[0]


def op(mnemonic: str, **attributes: object) -> Op:
    return operator(mnemonic)(**attributes)


Step = Callable[[Builder, Value, Value], Value]


def _matmul(b: Builder, x: Value, y: Value) -> Value:
    return b.add(op("matmul"), x, y)


def _linear(b: Builder, x: Value, y: Value) -> Value:
    product = b.add(op("matmul"), x, b.weight((4, 4)))
    return b.add(op("add"), product, b.weight((4,)))


def _attention(b: Builder, x: Value, y: Value) -> Value:
    keys = b.add(op("transpose", perm=(0, 2, 1)), y)
    scores = b.add(op("matmul"), x, keys)
    return b.add(op("matmul"), b.add(op("softmax"), scores), y)


def _silu(b: Builder, x: Value, y: Value) -> Value:
    return b.add(op("mul"), x, b.add(op("sigmoid"), x))


def _gelu(b: Builder, x: Value, y: Value) -> Value:
    inner = b.add(op("erf"), b.add(op("div"), x, b.weight(())))
    return b.add(op("mul"), x, b.add(op("add"), inner, b.weight(())))


def _norm(b: Builder, x: Value, y: Value) -> Value:
    return b.add(op("layer_norm"), x, b.weight((4,)), b.weight((4,)))


def _mean(b: Builder, x: Value, y: Value) -> Value:
    row = TensorType(DType.F32, (b.batch, 4, 1))
    mean = b.add(op("reduce_mean", keepdims=1), x, b.ints(2), types=(row,))
    return b.add(op("sub"), y, mean)


def _reshape(b: Builder, x: Value, y: Value) -> Value:
    flat = TensorType(DType.F32, (b.batch, 16))
    rows = b.add(op("reshape"), x, b.ints(0, 16), types=(flat,))
    return b.add(op("reshape"), rows, b.ints(0, 4, 4))


def _halves(b: Builder, x: Value, y: Value) -> Value:
    half = TensorType(DType.F32, (b.batch, 4, 2))
    parts = [
        b.add(op("slice"), v, b.ints(i), b.ints(i + 2), b.ints(2), types=(half,))
        for v, i in ((x, 0), (y, 2))
    ]
    return b.add(op("concat", axis=2), *parts)


def _dynamic_reshape(b: Builder, x: Value, y: Value) -> Value:
    """A view whose shape is computed from another value's elements."""
    count = TensorType(DType.I64, (3,))
    shape = b.add(op("shape"), y, types=(count,))
    return b.add(op("reshape"), x, b.add(op("abs"), shape, types=(count,)))


def _quantized(b: Builder, x: Value, y: Value) -> Value:
    narrow = TensorType(DType.I8, (b.batch, 4, 4))
    q = b.add(op("quantize_linear"), x, b.weight(()), types=(narrow,))
    return b.add(op("dequantize_linear"), q, b.weight(()))


def _plain(mnemonic: str, arity: int) -> Step:
    def step(b: Builder, x: Value, y: Value) -> Value:
        return b.add(op(mnemonic), *(x, y)[:arity])

    return step


STEPS: dict[str, Step] = {
    "relu": _plain("relu", 1),
    "sigmoid": _plain("sigmoid", 1),
    "add": _plain("add", 2),
    "mul": _plain("mul", 2),
    "identity": _plain("identity", 1),
    "softmax": _plain("softmax", 1),
    "matmul": _matmul,
    "linear": _linear,
    "attention": _attention,
    "silu": _silu,
    "gelu": _gelu,
    "norm": _norm,
    "mean": _mean,
    "reshape": _reshape,
    "halves": _halves,
    "dynamic_reshape": _dynamic_reshape,
    "quantized": _quantized,
}


def grow(draw: st.DrawFn, b: Builder, steps: int) -> None:
    """Append random steps whose operands are any values made before."""
    for _ in range(steps):
        name = draw(st.sampled_from(sorted(STEPS)))
        x, y = (draw(st.sampled_from(b.values)) for _ in range(2))
        b.values.append(STEPS[name](b, x, y))


def branch(draw: st.DrawFn, b: Builder, prefix: str) -> Graph:
    """A region that reads values of the outer graph."""
    inner = Builder(b.batch, list(b.values), prefix=prefix)
    grow(draw, inner, draw(st.integers(1, 4)))
    return Graph(prefix, (), (inner.values[-1],), tuple(inner.nodes), tuple(inner.weights))


@st.composite
def modules(
    draw: st.DrawFn, max_steps: int = 14, symbolic: bool = True, regions: bool = True
) -> Module:
    """A module of random steps; its batch is a symbol or 2."""
    is_symbolic = symbolic and draw(st.booleans())
    b = Builder(N if is_symbolic else 2)
    b.values = [Value(f"x{i}", b.square) for i in range(draw(st.integers(1, 3)))]
    inputs = tuple(b.values)
    grow(draw, b, draw(st.integers(1, max_steps)))
    if regions and draw(st.booleans()):
        condition = Value("c", TensorType(DType.BOOL, ()))
        inputs = (*inputs, condition)
        choices = tuple(branch(draw, b, p) for p in ("t", "e"))
        out = Value("chosen", b.square)
        b.nodes.append(Node(op("if"), (condition,), (out,), choices, Loc("if", "If")))
        b.values.append(out)
        grow(draw, b, draw(st.integers(1, 4)))
    outputs = draw(st.lists(st.sampled_from(b.values), min_size=1, max_size=3, unique=True))
    graph = Graph("g", inputs, tuple(outputs), tuple(b.nodes), tuple(b.weights))
    symbols = (SymbolDecl("N", 3),) if is_symbolic else ()
    return Analyses().apply(Shapes(), Module(graph, symbols))
