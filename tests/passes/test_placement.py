"""Reads of one tensor through several views are the union of what they show."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfc.ir.graph import Value
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.syntax.parse import parse
from perfc.ir.tensors.types import DType, TensorType
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.inference.placement import Unions
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses
from tests.passes.random_graphs import Builder, op

Array = np.ndarray[Any, Any]


def extended(draw: Any, b: Builder, v: Value, shown: Array) -> tuple[Value, Array]:
    """Append a random view of a value, and execute it."""
    axis = draw(st.integers(0, shown.ndim - 1))
    size = shown.shape[axis]
    match draw(st.sampled_from(["slice", "split", "gather", "transpose", "expand", "reshape"])):
        case "slice":
            step = draw(st.sampled_from([1, 2, -1]))
            first, last = sorted(draw(st.tuples(*[st.integers(0, size - 1)] * 2)))
            first, last = (first, last + 1) if step > 0 else (last, first - 1 - size)
            ends = [b.ints(n) for n in (first, last, axis, step)]
            stop = None if last < -size else last
            made, node = shown[(slice(None),) * axis + (slice(first, stop, step),)], op("slice")
            inputs = [v, *ends]
        case "split":
            at = draw(st.integers(0, size))
            parts = np.split(shown, [at], axis)
            types = tuple(TensorType(DType.F32, p.shape) for p in parts)
            b.add(op("split", axis=axis), v, b.ints(at, size - at), types=types)
            chosen = draw(st.integers(0, 1))
            return b.nodes[-1].results[chosen], parts[chosen]
        case "gather":
            index = draw(st.lists(st.integers(-size, size - 1), min_size=1, max_size=4))
            made, node = shown.take(index, axis), op("gather", axis=axis)
            inputs = [v, b.ints(*index)]
        case "expand":
            made, node = shown[None].repeat(3, 0), op("expand")
            inputs = [v, b.ints(3, *[1] * shown.ndim)]
        case "reshape":
            made, node = shown.reshape(shown.shape[0], -1), op("reshape")
            inputs = [v, b.ints(*made.shape)]
        case _:
            perm = tuple(draw(st.permutations(range(shown.ndim))))
            made, node, inputs = shown.transpose(perm), op("transpose", perm=perm), [v]
    return b.add(node, *inputs, types=(TensorType(DType.F32, made.shape),)), made


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_share_of_random_views_is_that_of_their_elements(data: st.DataObject) -> None:
    b, root = Builder(4), Value("x", TensorType(DType.F32, (4, 3, 4)))
    views: list[Value] = []
    elements = set[int]()
    for _ in range(data.draw(st.integers(1, 3))):
        v, shown = root, np.arange(48).reshape(4, 3, 4)
        for _ in range(data.draw(st.integers(1, 4))):
            if shown.size:
                v, shown = extended(data.draw, b, v, shown)
        views.append(v)
        elements.update(shown.flat)
    share = Unions({v: n for n in b.nodes for v in n.results}).share(root, views)
    names = {n.op.mnemonic for n in b.nodes}
    if share is None:
        assert "reshape" in names, names
    else:
        assert share == Fraction(len(elements), 48)


BODY = """perfir 1
module @m
dim n in 1.. = 64
graph @main(%x: f16[n, 128]) {{
  %0 = weight : i64[1] = [0]
  %1 = weight : i64[1] = [1]
  %2 = weight : i64[1] = [2]
  %32 = weight : i64[1] = [32]
  %64 = weight : i64[1] = [64]
  %96 = weight : i64[1] = [96]
  %128 = weight : i64[1] = [128]
  %odd = weight : i64[3] = [1, 3, 7]
  %halves = weight : i64[3] = [0, 2, 64]
  %wide = weight : i64[3] = [5, 1, 1]
  %flat = weight : i64[2] = [-1, 64]
{body}
  %s = sigmoid(%a) : ?
  %y = mul(%s, %b) : ?
  return %y
}}
"""
FIRST = "%a = slice(%x, %0, %64, %1) : ?\n"
FORMS = {
    "split": ("%a, %b = split(%x) {axis=1, num_outputs=2} : ?, ?", 128),
    "two slices": (FIRST + "%b = slice(%x, %64, %128, %1) : ?", 128),
    "overlapping slices": (FIRST + "%b = slice(%x, %32, %96, %1) : ?", 96),
    "the same slice twice": (FIRST + "%b = slice(%x, %0, %64, %1) : ?", 64),
    "even and odd columns": (
        "%a = slice(%x, %0, %128, %1, %2) : ?\n%b = slice(%x, %1, %128, %1, %2) : ?",
        128,
    ),
    "a slice and every second": (FIRST + "%b = slice(%x, %0, %128, %1, %2) : ?", 96),
    "parts of a reshape": (
        "%r = reshape(%x, %halves) {allowzero=0} : ?\n%a, %b = split(%r) {axis=1, num_outputs=2}"
        " : ?, ?",
        128,
    ),
    "a part and its transpose": (
        "%t = transpose(%x) {perm=[1, 0]} : ?\n%c = slice(%t, %0, %64, %0) : ?\n"
        "%a = transpose(%c) {perm=[1, 0]} : ?\n" + FIRST.replace("%a", "%b"),
        64,
    ),
    "a repeated part": (FIRST + "%b = expand(%a, %wide) : ?", 64),
    "a repeated column": ("%a = slice(%x, %0, %1, %1) : ?\n%b = slice(%x, %64, %128, %1) : ?", 65),
    "the whole and a part": (
        "%p, %q = split(%x) {axis=1, num_outputs=2} : ?, ?\n"
        "%a = add(%p, %q) : ?\n%f = reshape(%x, %flat) : ?\n"
        "%b = slice(%f, %0, %1, %0) : ?",
        128,
    ),
}


@pytest.mark.parametrize("runtime", ["tensorrt", "inductor"])
@pytest.mark.parametrize("form", FORMS)
def test_fused_kernel_reads_the_union_of_its_views(form: str, runtime: str) -> None:
    body, columns = FORMS[form]
    am = Analyses()
    module = am.apply(Shapes(), parse(BODY.format(body=body)).module)
    (kernel,) = am.get(Fuse(runtime), module).kernels
    read = dict(zip([v.name for v in kernel.reads], kernel.read_parts, strict=True))
    for n in (64, 96):
        assert evaluate(read["x"], {"n": n}) == 2 * n * columns


def test_selections_inside_a_kernel_read_what_they_select() -> None:
    body = "%a = gather(%x, %odd) {axis=1} : ?\n%b = gather(%x, %halves) {axis=1} : ?"
    am = Analyses()
    module = am.apply(Shapes(), parse(BODY.format(body=body)).module)
    (kernel,) = am.get(Fuse("inductor"), module).kernels
    read = dict(zip([v.name for v in kernel.reads], kernel.read_parts, strict=True))
    assert evaluate(read["x"], {"n": 10}) == 2 * 10 * 6


def test_parts_whose_overlap_depends_on_extents_count_at_least_the_largest() -> None:
    body = FIRST.replace("%64, %1)", "%64, %0)") + "%b = slice(%x, %1, %128, %0) : ?"
    am = Analyses()
    module = am.apply(Shapes(), parse(BODY.format(body=body)).module)
    (kernel,) = am.get(Fuse("tensorrt"), module).kernels
    for n in (65, 100):
        assert evaluate(kernel.read_parts[0], {"n": n}) <= 2 * 128 * min(n, 128)
