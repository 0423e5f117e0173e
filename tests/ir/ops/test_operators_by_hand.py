"""Numbers of operators that other operators share little with, reckoned by hand."""

from __future__ import annotations

from typing import Any

import pytest

from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops import load_all
from perfc.ir.ops.movement.gather import GatherND
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.syntax.parse import parse
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, SequenceType, Shape, TensorType, Type
from tests.canonical import digest

N = symbol("N")


def op(mnemonic: str, **attributes: Any) -> Op:
    return load_all()[mnemonic](**attributes)


def x(*shape: Dim, dtype: DType = DType.F32) -> Value:
    return Value("x", TensorType(dtype, shape))


UNRANKED = Value("u", TensorType(DType.F32, None))


def shape_of(o: Op, *ins: Value | None) -> Shape | None:
    (type_, *_) = o.infer(ins)
    assert isinstance(type_, TensorType)
    return type_.shape


@pytest.mark.parametrize(
    ("beta", "alpha", "activation", "each", "special"),
    [
        (1.0, 1.0, "", 1, 0),
        (0.5, 1.0, "", 2, 0),
        (0.0, 1.0, "", 0, 0),
        (1.0, 2.0, "", 2, 0),
        (0.5, 2.0, "", 3, 0),
        (1.0, 1.0, "Relu", 2, 0),
    ],
)
def test_a_product_scales_adds_and_activates_each_element(
    beta: float, alpha: float, activation: str, each: int, special: int
) -> None:
    fused = op("fused_gemm", beta=beta, alpha=alpha, activation=activation)
    ins = (x(4, 8), x(8, 6), x(6))
    work = fused.work(ins, fused.infer(ins))
    assert work is not None
    assert (work.mac, work.alu, work.sfu) == (4 * 8 * 6, each * 24, special)
    if not activation:
        plain = op("gemm", beta=beta, alpha=alpha)
        assert plain.work(ins, plain.infer(ins)) == work
    bare = fused.work(ins[:2], fused.infer(ins[:2]))
    assert bare is not None
    assert bare.alu == 24 * ((alpha != 1.0) + bool(activation)), "nothing is added"


@pytest.mark.parametrize("name", ["flex_attention"])
def test_attention_by_parts_reads_batch_heads_and_lengths(name: str) -> None:
    o = op(name)
    q, k, v = x(2, 8, 5, 16), x(2, 4, 9, 16), x(2, 4, 9, 32)
    assert shape_of(o, q, k, v) == (2, 8, 5, 32)
    work = o.work((q, k, v), o.infer((q, k, v)))
    assert work is not None
    assert work.mac == 2 * 8 * 5 * 9 * (16 + 32)
    other = x(symbol("b"), 8, 5, 16)
    assert shape_of(o, other, k, v) == (2, 8, 5, 32), "a number tells more than a symbol"
    assert shape_of(o, UNRANKED, k, v)[0] == 2  # type: ignore[index]
    assert o.work((UNRANKED, k, v), o.infer((UNRANKED, k, v))) is None


@pytest.mark.parametrize(
    ("shape", "pooled"), [((2, 3, 5, 7), (2, 3, 1, 1)), ((2, 3), (2, 3)), ((2, 3, 9), (2, 3, 1))]
)
def test_a_global_pool_leaves_one_of_each_channel(shape: Shape, pooled: Shape) -> None:
    assert shape_of(op("global_average_pool"), x(*shape)) == pooled
    assert shape_of(op("global_max_pool"), x(*shape)) == pooled
    assert shape_of(op("global_average_pool"), x(4)) == (4,)


def test_index_vectors_of_unknown_length_tell_nothing() -> None:
    data, index = x(4, 5), x(3, N, dtype=DType.I64)
    assert shape_of(GatherND(), data, index) is None
    assert shape_of(GatherND(), UNRANKED, index) is None
    assert shape_of(GatherND(), data, UNRANKED) is None
    assert shape_of(GatherND(), data, x(3, 1, dtype=DType.I64)) == (3, 5)


def test_exchanges_are_of_the_whole_tensor() -> None:
    sizes = {}
    for name, width in (("all_reduce", 8), ("all_gather", 32), ("reduce_scatter", 2)):
        o = op(name, ranks=4)
        ins = (x(6, 8),)
        outs = o.infer(ins)
        assert shape_of(o, *ins) == (6, width)
        problem: Any = o.problem(ins, outs)
        sizes[name] = problem.nbytes
        assert o.problem((UNRANKED,), o.infer((UNRANKED,))) is None
        assert o.problem(ins, ()) is None
        assert o.problem(ins, (UNRANKED.type,)) is None
        assert o.problem((UNRANKED,), outs) is None
    # what is summed, what a gather ends with, and what is scattered: 4 bytes an element
    assert sizes == {"all_reduce": 192, "all_gather": 768, "reduce_scatter": 192}


def held(*items: Type, contents: tuple[Any, ...] = ()) -> Value:
    known = Known((len(contents),), contents) if contents else None
    alike = len(set(items)) == 1
    elem = items[0] if alike else TensorType(DType.F32, None)
    return Value("s", SequenceType(elem, len(items), None if alike else items), known)


def at(position: int | None) -> Value:
    known = None if position is None else Known((), (position,))
    return Value("p", TensorType(DType.I64, ()), known)


def test_an_element_is_erased_where_it_stands_or_at_the_end() -> None:
    a, b, c = (x(n).type for n in (1, 2, 3))
    erase = op("sequence_erase")
    sequence = held(a, b, c, contents=(Known((1,), (1,)), None, Known((3,), (7, 8, 9))))
    cases = {0: (b, c), 1: (a, c), 2: (a, b), -1: (a, b), -3: (b, c)}
    for position, left in cases.items():
        (found,) = erase.infer((sequence, at(position)))
        assert isinstance(found, SequenceType)
        assert (found.length, found.items) == (2, left), position
    (last,) = erase.infer((sequence,))
    assert isinstance(last, SequenceType)
    assert last.items == (a, b)
    kept = erase.fold((sequence,), erase.infer((sequence,)))
    assert kept == (Known((2,), (Known((1,), (1,)), None)),)
    first = erase.fold((sequence, at(0)), erase.infer((sequence, at(0))))
    assert first == (Known((2,), (None, Known((3,), (7, 8, 9)))),)
    assert erase.fold((sequence, at(None)), erase.infer((sequence, at(None)))) == ()


UNUSED = """perfir 1
module @m
graph @main(%x: f32[4]) {{
  {lines}
  return %y
}}
"""


def test_a_digest_is_blind_to_names_and_order_also_of_what_nobody_reads() -> None:
    lines = [
        "%a = relu(%x) : f32[4]",
        "%b = exp(%x) : f32[4]",
        "%c = neg(%a) : f32[4]",
        "%y = sqrt(%x) : f32[4]",
    ]
    orders = [lines, [lines[1], lines[0], *lines[2:]], [lines[3], lines[0], lines[2], lines[1]]]
    found = {digest(parse(UNUSED.format(lines="\n  ".join(o))).module) for o in orders}
    assert len(found) == 1
    renamed = [line.replace("%c", "%first").replace("%b", "%z9") for line in lines]
    assert digest(parse(UNUSED.format(lines="\n  ".join(renamed))).module) in found
    other = [line.replace("neg", "abs") for line in lines]
    assert digest(parse(UNUSED.format(lines="\n  ".join(other))).module) not in found
    two = [
        *lines[:2],
        "%c, %d = split(%a) {axis=0, num_outputs=2} : f32[2], f32[2]",
        "%e = neg(%d) : f32[2]",
        lines[3],
    ]
    turned = [two[1], two[0], *two[2:]]
    both = {digest(parse(UNUSED.format(lines="\n  ".join(o))).module) for o in (two, turned)}
    assert len(both) == 1, "one of its results is read: it is no root"
