"""The text form: what is printed parses back, what does not parse says where."""

from __future__ import annotations

import contextlib
import math
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfc.errors import ParseError
from perfc.ir import DType, Graph, Known, Module, Node, Op, TensorType, Value, Weight, walk
from perfc.ir.graphs.verify import verify
from perfc.ir.ops import load_all, operator
from perfc.ir.syntax.parse import parse, parse_module
from perfc.ir.syntax.text import print_module
from tests.canonical import canonical, digest
from tests.strategies import N, fields_of, modules, shuffled

SLOW = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
HEAD = "perfir 1\nmodule @m\ndim N in 1..256 = 8\n\n"

EXAMPLE = """\
perfir 1
module @resnet18 {source="resnet18.onnx", producer="pytorch", ir_version=8, opset=17}
dim N in 1..256 = 8
dim `a b` in 0.. = 1
dim M in 1..2*N = 2
extent u1 in 0..4*N

graph @main(%x: f16[N, 3, 224, 224], %"a/b c": i64[3] = [1, N, 768], %c: b1[]) {
  %w0 = weight {bytes=18816, digest="ab12", location="w.bin", constant=true} : f16[3, 224]
  %w1 = weight : i64[0, 3] = []
  %1 = relu(%x) : f16[N, 3, 224, 224] loc("/conv1/Conv", "Conv", at "pkg/net.py:42")
  %2, _ = opaque(%1, _, %w0) {name="com.x::Foo", num_outputs=2} : ?, _ loc("", "Foo", expanded)
  %3 = if(%c) : f32[*] {
    graph @then() {
      %4 = identity(%1) : seq<opt<f32[2]>; N + 1>
      %5 = identity(%1) : seq<f32[u1]; 2; f32[N], f32[4]>
      %6 = identity(%1) : seq<f32[*]; ?; f32[]>
      return %4
    }
    graph @"else branch"() {
      %4 = identity(%2) : map<i64, ?[min(N, `a b`), (N//2), u1]>
      return %4
    }
  }
  return %1, %3
}
"""


def in_graph(body: str) -> str:
    return f"{HEAD}graph @main(%x: f32[N, 4]) {{\n  {body}\n  return\n}}\n"


def with_op(op: Op) -> Module:
    graph = Graph("g", (), (), (Node(op, (), ()),))
    return Module(graph)


def test_every_construct_prints_as_it_was_written() -> None:
    assert print_module(parse_module(EXAMPLE)) == EXAMPLE


@SLOW
@given(modules())
def test_random_modules_verify_and_survive_the_text(module: Module) -> None:
    verify(module)
    text = print_module(module)
    again = parse_module(text)
    verify(again)
    assert print_module(again) == text


@SLOW
@given(st.data())
def test_digest_ignores_names_and_the_order_of_independent_nodes(data: st.DataObject) -> None:
    module = data.draw(modules())
    other = shuffled(data.draw, module)
    verify(other)
    assert digest(other) == digest(module)
    assert digest(parse_module(print_module(module))) == digest(module)


@SLOW
@given(modules())
def test_the_canonical_module_verifies_and_is_its_own_canonical_form(module: Module) -> None:
    once = canonical(module)
    verify(once)
    assert print_module(canonical(once)) == print_module(once)
    assert len(list(walk(once.graph))) == len(list(walk(module.graph)))


def test_nodes_that_no_output_needs_have_an_order_too() -> None:
    lines = ["%a = relu(%x) : ?", "%b = exp(%x) : ?", "%c = tanh(%x) : ?", "%d = neg(%x) : ?"]
    digests = set()
    for first in range(len(lines)):
        body = "\n  ".join([*lines[first:], *lines[:first]])
        text = f"perfir 1\nmodule @m\ngraph @main(%x: f32[2]) {{\n  {body}\n  return %x\n}}\n"
        digests.add(digest(parse_module(text)))
    assert len(digests) == 1


def test_digest_tells_attributes_types_and_wiring_apart() -> None:
    def module(body: str, result: str = "%2") -> Module:
        text = f"{HEAD}graph @main(%x: f32[N, 4]) {{\n{body}\n  return {result}\n}}\n"
        return parse_module(text)

    first = "%1 = relu(%x) : f32[N, 4]\n"
    variants = [
        module(first + "%2 = add(%1, %x) : f32[N, 4]"),
        module(first + "%2 = add(%x, %1) : f32[N, 4]"),
        module(first + "%2 = add(%1, %x) : f32[*]"),
        module(first + "%2 = add(%1, %x) : f32[N, 4]", "%1"),
        module(first + "%2 = leaky_relu(%1) : f32[N, 4]"),
        module(first + "%2 = leaky_relu(%1) {alpha=0.5} : f32[N, 4]"),
    ]
    assert len({digest(m) for m in variants}) == len(variants)


@pytest.mark.parametrize("mnemonic", sorted(load_all()))
def test_fields_of_every_operator_survive_the_text(mnemonic: str) -> None:
    cls = operator(mnemonic)

    @settings(max_examples=5, deadline=None, database=None)
    @given(fields_of(cls))
    def check(op: Op) -> None:
        text = print_module(with_op(op)).replace("\n\ngraph", "\ndim N in 1..256 = 8\n\ngraph", 1)
        text = text.replace("extent N in 1..256\n", "")
        again = parse_module(text)
        assert repr(again.graph.nodes[0].op) == repr(op)

    check()


def test_facts_print_beneath_their_nodes_and_parse_back() -> None:
    body = """%1 = relu(%x) : f32[N, 4]
    ! cost {mac=0, alu=4*N, read_bytes=16*N, of="a100", lower_s=7.5e-06, tight=true, none=none}
    ! fuse {kernel=-3, worst=-inf, sizes=[1, 2*N]}
  %2 = relu(%1) : f32[N, 4]
    ! cost {}"""
    found = parse(in_graph(body))
    first, second = found.module.graph.nodes
    assert found.facts["cost"][first]["alu"] == N * 4
    assert found.facts["fuse"][first] == {"kernel": -3, "worst": -math.inf, "sizes": (1, N * 2)}
    assert found.facts["cost"][second] == {}
    assert print_module(found.module, facts=found.facts) == in_graph(body)


def test_comments_and_spacing_do_not_matter() -> None:
    text = in_graph("%1 = relu(%x) : f32[N, 4]")
    spaced = text.replace("(", " ( # (\n").replace(",", " ,\t")
    assert print_module(parse_module(spaced)) == text


def test_contents_of_empty_tensors_keep_their_shape() -> None:
    w = Value("w", TensorType(DType.I64, (0, 3)), Known((0, 3), ()), Weight())
    text = print_module(Module(Graph("g", (), (w,), (), (w,))))
    (again,) = parse_module(text).graph.weights
    assert again.known == w.known


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("perfir 2", "m.pir:1:8: text form 2 is not known (this is 1)"),
        ("perfir 1\nmodule @m\ngraph @f() {return}", "m.pir:3:1: the outermost graph is @main"),
        (in_graph("%1 = rleu(%x) : ?"), "m.pir:6:8: no operator rleu (did you mean relu?)"),
        (in_graph("%1 = relu(%y) : ?"), "m.pir:6:13: %y is used before it is defined"),
        (in_graph("%x = relu(%x) : ?"), "m.pir:6:3: %x is defined twice"),
        (in_graph("%1 = relu(%x) : f31[2]"), "m.pir:6:19: no type f31"),
        (in_graph("%1 = relu(%x) : f32[K]"), "m.pir:6:23: symbol K is not declared"),
        (in_graph("%1 = relu(%x) {a=1} : ?"), "m.pir:6:8: relu: no field a"),
        (
            in_graph('%1 = leaky_relu(%x) {alpha="x"} : ?'),
            "m.pir:6:8: leaky_relu: alpha is float, not 'x'",
        ),
        (in_graph("%1, %2 = relu(%x) : ?"), "m.pir:7:3: expected ',', found 'return'"),
        (in_graph("%w = weight : i64[2] = [[1], [2, 3]]"), "m.pir:6:26: rows differ in length"),
        (in_graph("! cost {a=1}"), "m.pir:6:3: facts stand below a node"),
        (in_graph("%1 = relu(%x) : ? §"), "m.pir:6:21: stray '§'"),
        (in_graph("%w = weight {size=1} : ?"), "m.pir:6:3: a weight has no size"),
        ("perfir 1\nmodule @m\ndim min in 1.. = 2", "m.pir:3:5: symbol min is written `min`"),
        ("perfir 1\nmodule @m {opset=[[1, 2]]}", "m.pir:2:11: module: opsets is"),
        ("", "m.pir:1:1: expected 'perfir', found the end"),
        (in_graph("%1 = relu(%x) : " + "opt<" * 300), "nested deeper than 100"),
        (in_graph("%1 = relu(%x) {a=" + "[" * 300), "nested deeper than 100"),
        (in_graph('%1 = relu(%x) : ? loc("\\q")'), "m.pir:6:25: bad escape in a string"),
    ],
)
def test_errors_name_file_line_and_column(text: str, message: str) -> None:
    with pytest.raises(ParseError) as error:
        parse_module(text, "m.pir")
    assert message in str(error.value)


def test_deeply_nested_regions_are_refused() -> None:
    text = in_graph("%c = if(%x) : ? {\n graph @g() {" * 200)
    with pytest.raises(ParseError, match="nested deeper"):
        parse_module(text)


def test_long_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfc.ir.syntax.parse.MAX_CHARS", 100)
    with pytest.raises(ParseError, match="longer than 100"):
        parse_module(EXAMPLE)


def test_a_bad_escape_in_a_symbol_is_an_error_with_its_position() -> None:
    with pytest.raises(ParseError, match=r"text:\d+:\d+.*bad escape in the symbol"):
        parse_module(HEAD + "dim `\\a b` in 0.. = 1\n" + "graph @main() {\n  return\n}\n")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_text_gives_a_module_or_nothing_but_a_parse_error(data: st.DataObject) -> None:
    text = list(EXAMPLE)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 4))] = data.draw(
            st.text(alphabet='%@{}[]()<>,;:=!?-+*/"\\`1N. \n_a', max_size=4)
        )
    with contextlib.suppress(ParseError):
        parse_module("".join(text))


def chain(count: int) -> Module:
    x = Value("x", TensorType(DType.F32, (N, 64, 56, 56)))
    values, nodes = [x], []
    for i in range(count):
        values.append(Value(f"/layer{i}/Relu_output_0", x.type))
        nodes.append(Node(operator("relu")(), (values[-2],), (values[-1],)))
    return Module(Graph("g", (x,), (values[-1],), tuple(nodes)))


def test_every_node_is_printed_on_a_line() -> None:
    assert print_module(chain(500)).count("\n") == 507


@pytest.mark.speed
def test_printing_five_thousand_nodes_is_not_slow() -> None:
    module = chain(5000)
    start = time.process_time()
    print_module(module)
    assert time.process_time() - start < 1.0
