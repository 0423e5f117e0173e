"""Strides of results by hand: what keeps the order of its operand, and what does not."""

from __future__ import annotations

import pytest

from perfc.ir.syntax.parse import parse
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.inference.shapes import Shapes
from perfc.passes.inference.stride_walk import windowed
from perfc.passes.inference.strides import PROBE, Strides, StrideTable
from perfc.passes.manager import Analyses

TEXT = """perfir 1
module @m
dim n in 1.. = 2
graph @main(%x: f32[2, 3, 4], %y: f32[4, 2, 3], %z: f32[1, 3], %q: f32[5, 7], %s: f32[n, 3, 4]) {
  %one = weight {bytes=4} : f32[] = 1.0
  %wide = weight {bytes=8} : i64[2] = [2, 3]
  %t = transpose(%x) {perm=[2, 0, 1]} : ?
  %r = relu(%t) : ?
  %a = add(%r, %y) : ?
  %b = add(%y, %r) : ?
  %c = cast(%r) {to="f16"} : ?
  %m = mul(%one, %r) : ?
  %back = transpose(%r) {perm=[1, 2, 0]} : ?
  %e = expand(%z, %wide) : ?
  %f = relu(%e) : ?
  %p = transpose(%q) : ?
  %g = sigmoid(%p) : ?
  %soft = softmax(%r) : ?
  %first, %second = split(%r) {axis=0, num_outputs=2} : ?, ?
  %u = transpose(%s) {perm=[0, 2, 1]} : ?
  %v = relu(%u) : ?
  %cat = concat(%t, %t) {axis=0} : ?
  return %a, %b, %c, %m, %back, %f, %g, %soft, %first, %second, %v, %cat
}
"""


@pytest.fixture(scope="module")
def table() -> StrideTable:
    am = Analyses()
    return am.get(Strides(), am.apply(Shapes(), parse(TEXT).module))


def of(table: StrideTable, name: str) -> tuple[int, ...]:
    (value,) = (v for v in table.shapes if v.name == name)
    return table.of(value)


@pytest.mark.parametrize(
    ("name", "strides"),
    [
        ("x", (12, 4, 1)),
        ("t", (1, 12, 4)),
        # elementwise results lie as their first operand of the same shape does
        ("r", (1, 12, 4)),
        ("a", (1, 12, 4)),
        ("b", (6, 3, 1)),
        ("c", (1, 12, 4)),
        ("m", (1, 12, 4)),
        ("back", (12, 4, 1)),
        # what is expanded has no order to keep
        ("e", (0, 1)),
        ("f", (3, 1)),
        # of two axes, too
        ("p", (1, 7)),
        ("g", (1, 7)),
        # everything else writes what is dense
        ("soft", (6, 3, 1)),
        ("cat", (6, 3, 1)),
        # a part of a tensor lies as the whole does
        ("first", (1, 12, 4)),
        ("second", (1, 12, 4)),
        # a symbol counts as if it were large
        ("u", (12, 1, 4)),
        ("v", (12, 1, 4)),
    ],
)
def test_results_lie_as_pytorch_lays_them(
    table: StrideTable, name: str, strides: tuple[int, ...]
) -> None:
    assert of(table, name) == strides


def test_symbols_stand_at_a_probe(table: StrideTable) -> None:
    shapes = {v.name: s for v, s in table.shapes.items()}
    assert shapes["s"] == (PROBE, 3, 4)
    assert table.copies == {}


def test_the_share_of_permuted_reads_is_of_elements() -> None:
    text = """perfir 1
module @m
graph @main(%x: f32[2, 3, 4], %y: f32[4, 2, 3], %v: f32[6]) {
  %t = transpose(%x) {perm=[2, 0, 1]} : ?
  %a = relu(%t) : ?
  %s = softmax(%a) : ?
  %b = sub(%a, %y) : ?
  %w = sigmoid(%v) : ?
  return %s, %b, %w
}
"""
    am = Analyses()
    module = am.apply(Shapes(), parse(text).module)
    found = am.get(Strides(), module)
    shares = {
        k.anchor.op.mnemonic: found.permuted_share(k) for k in am.get(Fuse("eager"), module).kernels
    }
    # a difference of 24 permuted elements and as many dense ones
    assert shares["sub"] == pytest.approx(0.5)
    assert shares["softmax"] == 1.0
    assert shares["sigmoid"] == 0.0


def test_windows_stand_in_the_place_of_their_axis() -> None:
    assert windowed((12, 4, 1), 1, (2, 1)) == (12, 8, 4, 1)
    assert windowed((12, 4, 1), -1, (2, 3)) == (12, 4, 2, 3)
    assert windowed((12, 4, 1), 0, (1, 2)) == (12, 24, 4, 1)
