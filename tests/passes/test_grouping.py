"""Kernels of small graphs: how many nodes they take, what they read and what they multiply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfc.ir.graph import Graph, Module, Value
from perfc.ir.op import Kind
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import DType, TensorType
from perfc.passes.fusion.grouping import Grouping
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.manager import Analyses
from perfc.passes.roofline.cost import Cost
from perfc.passes.runtimes import LaunchMode, Runtime, runtime
from tests.passes.random_graphs import Builder, op

LOOPS = frozenset({Kind.ELEMENTWISE, Kind.MOVEMENT})
LOOSE = Runtime(
    "loose",
    "fuses loops",
    LaunchMode.EAGER,
    epilogue=dict.fromkeys(LOOPS, LOOPS),
    keeps_shared=True,
)
ROWS, ROW_BYTES = 8, 4 * 4 * 4


def kernels(table: Runtime, b: Builder, *outputs: Value, inputs: int = 1) -> list[Kernel]:
    graph = Graph("g", tuple(b.values[:inputs]), outputs, tuple(b.nodes), tuple(b.weights))
    module = Module(graph)
    grouping = Grouping(table, Analyses().get(Cost(), module))
    grouping.graph(graph)
    return grouping.kernels


def sizes(table: Runtime, b: Builder, *outputs: Value) -> list[int]:
    return [len(k.nodes) for k in kernels(table, b, *outputs)]


def chained(b: Builder, source: Value, length: int) -> Value:
    for _ in range(length):
        source = b.add(op("relu"), source)
    return source


def begun() -> Builder:
    return Builder(ROWS, [Value("x", TensorType(DType.F32, (ROWS, 4, 4)))])


@pytest.mark.parametrize("most", range(1, 6))
def test_a_chain_fills_kernels_up_to_the_most_nodes(most: int) -> None:
    for length in range(1, 12):
        b = begun()
        grouped = sizes(replace(LOOSE, max_nodes=most), b, chained(b, b.values[0], length))
        whole, rest = divmod(length, most)
        assert grouped == [most] * whole + [rest] * (rest > 0)


@pytest.mark.parametrize("most", range(1, 8))
def test_two_chains_are_one_kernel_where_they_fit_with_what_joins_them(most: int) -> None:
    for left, right in product(range(1, 4), range(1, 4)):
        b = begun()
        ends = [chained(b, b.values[0], length) for length in (left, right)]
        grouped = sizes(replace(LOOSE, max_nodes=most), b, b.add(op("add"), *ends))
        assert sum(grouped) == left + right + 1
        assert max(grouped) <= most
        assert (len(grouped) == 1) == (left + right + 1 <= most)


@st.composite
def intervals(draw: st.DrawFn) -> list[tuple[int, int]]:
    start = st.integers(0, ROWS - 1)
    grouped = [
        (i, draw(st.integers(i + 1, ROWS))) for i in draw(st.lists(start, min_size=2, max_size=4))
    ]
    return grouped


@pytest.mark.parametrize("views", [frozenset(), frozenset({"slice"})], ids=["copies", "views"])
@settings(max_examples=50)
@given(parts=intervals(), is_whole=st.booleans())
def test_a_kernel_reads_no_row_twice(
    parts: list[tuple[int, int]], is_whole: bool, views: frozenset[str]
) -> None:
    """Slices of one tensor that a kernel joins: at least the largest, at most their union."""
    b = begun()
    x = b.values[0]
    pieces = []
    for start, stop in parts:
        rows = TensorType(DType.F32, (stop - start, 4, 4))
        bounds = b.ints(start), b.ints(stop), b.ints(0)
        pieces.append(b.add(op("slice"), x, *bounds, types=(rows,)))
    if is_whole:
        pieces.append(b.add(op("sigmoid"), x))
    height = sum(stop - start for start, stop in parts) + ROWS * is_whole
    joined = b.add(op("concat", axis=0), *pieces, types=(TensorType(DType.F32, (height, 4, 4)),))
    (kernel,) = kernels(replace(LOOSE, views=views), b, joined)
    read = dict(zip(kernel.reads, kernel.read_parts, strict=True))
    union = ROWS if is_whole else len({i for part in parts for i in range(*part)})
    least = ROWS if is_whole else max(stop - start for start, stop in parts)
    read_bytes = evaluate(read[x], {})
    assert least * ROW_BYTES <= read_bytes <= union * ROW_BYTES
    assert evaluate(kernel.traffic.write_bytes, {}) == height * ROW_BYTES


@pytest.mark.parametrize("copies", [1, 3])
def test_a_row_that_is_shown_often_is_read_once(copies: int) -> None:
    b = Builder(copies, [Value("x", TensorType(DType.F32, (1, 4, 4)))])
    wide = b.add(op("expand"), b.values[0], b.ints(copies, 4, 4))
    (kernel,) = kernels(replace(LOOSE, views=frozenset({"expand"})), b, b.add(op("relu"), wide))
    assert (kernel.reads, kernel.read_parts) == ((b.values[0],), (ROW_BYTES,))
    assert kernel.traffic.read_bytes == ROW_BYTES


INTEGERS = (DType.I4, DType.U4, DType.I8, DType.U8, DType.I16)


def quantised(*types: DType | None) -> Builder:
    """A product of factors that are dequantised, floats where None."""
    b = Builder(
        2, [Value(f"q{i}", TensorType(d or DType.F32, (2, 4, 4))) for i, d in enumerate(types)]
    )
    factors = [
        v if d is None else b.add(op("dequantize_linear"), v, b.weight(()))
        for v, d in zip(b.values, types, strict=True)
    ]
    y = b.add(op("matmul"), *factors)
    narrow = TensorType(DType.I8, (2, 4, 4))
    b.values.append(b.add(op("quantize_linear"), y, b.weight(()), types=(narrow,)))
    return b


@pytest.mark.parametrize("left", INTEGERS, ids=str)
def test_a_product_of_integers_has_the_type_of_the_wider(left: DType) -> None:
    for right in INTEGERS:
        b = quantised(left, right)
        grouped = kernels(runtime("ort"), b, b.values[-1], inputs=2)[-1]
        assert grouped.work.dtype in (left, right)
        assert grouped.work.dtype.bits == max(left.bits, right.bits)
        plain = kernels(replace(runtime("ort"), patterns=()), b, b.values[-1], inputs=2)
        (dense,) = (k for k in plain if k.work.mac)
        assert dense.work.dtype is None, "no runtime multiplies integers that does not say so"


@pytest.mark.parametrize("types", [(DType.I8, None), (None, DType.I8), (None, None)])
def test_a_product_with_a_float_is_one_of_floats(types: tuple[DType | None, ...]) -> None:
    b = quantised(*types)
    grouped = kernels(runtime("ort"), b, b.values[-1], inputs=2)
    (dense,) = (k for k in grouped if k.anchor.op.kind is Kind.MATMUL)
    assert dense.work.dtype is None


@pytest.mark.parametrize(
    ("readers", "is_shared"),
    [(("q",), True), (("q", "q"), True), (("q", "f"), False), (("f", "q"), False), (("f",), False)],
    ids=str,
)
@pytest.mark.parametrize("by_all", [False, True])
def test_a_dequantisation_is_copied_where_every_reader_multiplies_integers(
    readers: Sequence[str], is_shared: bool, by_all: bool
) -> None:
    b = Builder(2, [Value("x", TensorType(DType.I8, (2, 4, 4)))])
    x = b.add(op("dequantize_linear"), b.values[0], b.weight(()))
    narrow = TensorType(DType.I8, (2, 4, 4))
    outputs = []
    for reader in readers:
        if reader == "f":
            outputs.append(b.add(op("softmax"), x))
            continue
        w = b.add(op("dequantize_linear"), b.weight((4, 4)), b.weight(()))
        y = b.add(op("matmul"), x, w)
        outputs.append(b.add(op("quantize_linear"), y, b.weight(()), types=(narrow,)))
    table = runtime("ort")
    if by_all:
        absorbed = {Kind.MATMUL: frozenset({Kind.QUANTIZE})}
        table = replace(table, epilogue={**table.epilogue, **absorbed})
    grouped = kernels(table, b, *outputs)
    unshared = [
        k for k in grouped if k.anchor.op.mnemonic == "dequantize_linear" and x in k.anchor.results
    ]
    assert bool(unshared) is not (is_shared or by_all)
    reading = [k for k in grouped if b.values[0] in k.reads]
    assert len(reading) == (len(readers) if is_shared or by_all else 1)


def test_a_product_of_integers_that_were_cast_is_one_of_floats() -> None:
    b = Builder(2, [Value(f"q{i}", TensorType(DType.I8, (2, 4, 4))) for i in range(2)])
    y = b.add(op("matmul"), *(b.add(op("cast", to=DType.F32), v) for v in b.values))
    (dense,) = (k for k in kernels(runtime("ort"), b, y, inputs=2) if k.work.mac)
    assert dense.work.dtype is None


@pytest.mark.parametrize("by_all", [False, True])
@pytest.mark.parametrize("reader", ["output", "gelu"])
def test_a_dequantisation_that_no_product_reads_is_a_kernel(reader: str, by_all: bool) -> None:
    b = Builder(2, [Value("x", TensorType(DType.I8, (2, 4, 4)))])
    x = b.add(op("dequantize_linear"), b.values[0], b.weight(()))
    if reader == "gelu":
        inner = b.add(op("erf"), b.add(op("div"), x, b.weight(())))
        half = b.add(op("mul"), x, b.add(op("add"), inner, b.weight(())))
        out = b.add(op("mul"), half, b.weight(()))
    absorbed = {Kind.MATMUL: frozenset({Kind.QUANTIZE})} if by_all else {}
    grouped = kernels(replace(runtime("ort"), epilogue=absorbed), b, out if reader == "gelu" else x)
    assert x in grouped[0].writes or (by_all and reader == "gelu")


@pytest.mark.parametrize("keeps_shared", [False, True])
@pytest.mark.parametrize("joins", [1, 2])
def test_a_value_that_others_read_ends_a_kernel_that_does_not_keep_it(
    joins: int, keeps_shared: bool
) -> None:
    b = begun()
    ends = [chained(b, b.values[0], 1) for _ in range(joins)]
    last = b.add(op("add"), *ends) if joins == 2 else b.add(op("tanh"), *ends)
    other = b.add(op("softmax"), ends[-1])
    grouped = kernels(replace(LOOSE, keeps_shared=keeps_shared), b, last, other)
    names = sorted(tuple(n.op.mnemonic for n in k.nodes) for k in grouped)
    end = ("add" if joins == 2 else "tanh",)
    first = ("relu",) * (joins - 1)
    whole = [(*first, "relu", *end)] if keeps_shared else [("relu",), (*first, *end)]
    assert names == sorted([*whole, ("softmax",)])


def test_kernels_are_in_an_order_that_can_run() -> None:
    b = begun()
    ends = [chained(b, b.values[0], 2) for _ in range(3)]
    last = b.add(op("add"), b.add(op("add"), *ends[:2]), ends[2])
    grouped = kernels(replace(LOOSE, max_nodes=2), b, last)
    made = {v: i for i, k in enumerate(grouped) for n in k.nodes for v in n.results}
    for i, k in enumerate(grouped):
        assert all(made.get(v, -1) < i for v in k.reads)
    assert all(a.nodes != c.nodes for a, c in pairwise(grouped))
