"""Types through nodes with regions."""

from __future__ import annotations

from perfc.ir.graph import Value
from perfc.ir.parse import parse_module
from perfc.ir.types import SequenceType
from perfc.passes.manager import Analyses
from perfc.passes.shapes import Shapes

MAP = """\
perfir 1
module @m
dim N in 1.. = 1

graph @main(%a: f32[2], %b: f32[5, N], %c: f32[3]) {
  %s = sequence_construct(%a, %b) : ?
  %r = sequence_map(%s, %c) : ?, ? {
    graph @body(%x: f32[*], %y: f32[*]) {
      %u = relu(%x) : ?
      %v = relu(%y) : ?
      return %u, %v
    }
  }
  return %r
}
"""

LOOP = """\
perfir 1
module @m

graph @main(%n: i64[], %go: b1[] = true, %a: f32[2, 3]) {
  %s = sequence_empty() : ?
  %r = loop(%n, %go, %s) : ? {
    graph @body(%i: i64[], %c: b1[], %l: ?) {
      %m = sequence_insert(%l, %a) : ?
      return %c, %m
    }
  }
  return %r
}
"""


def results(text: str) -> tuple[Value, ...]:
    return Analyses().apply(Shapes(), parse_module(text)).graph.nodes[-1].results


def test_a_map_over_elements_of_different_types_tells_its_results_apart() -> None:
    mapped, fixed = results(MAP.replace("%r = ", "%r, %q = "))
    assert isinstance(mapped.type, SequenceType)
    assert [str(t) for t in mapped.type.items or ()] == ["f32[2]", "f32[5, N]"]
    assert str(fixed.type) == "seq<f32[3]; 2>"


def test_a_loop_that_fills_a_sequence_any_number_of_times_knows_its_elements() -> None:
    (filled,) = results(LOOP)
    assert str(filled.type) == "seq<f32[2, 3]>"


def test_a_loop_that_fills_a_sequence_twice_knows_its_length() -> None:
    (filled,) = results(LOOP.replace("%n: i64[],", "%n: i64[] = 2,"))
    assert str(filled.type) == "seq<f32[2, 3]; 2>"
