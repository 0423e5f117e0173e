"""What an explanation says of symbols, of nodes that take no time, and of sums of bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import TensorProto, helper

import perfc
from perfc.api import Report, analyze
from perfc.ir.facts import Origin
from perfc.study.explain import explain
from perfc.study.explain.explanation import SymbolUsed
from perfc.study.explain.text import render_text

GOLDEN = Path(__file__).parents[1] / "golden"


def report_of(
    *nodes: object, shape: tuple[object, ...] = ("n", "s", 4), **options: object
) -> Report:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(list(nodes), "g", [x], [y])  # type: ignore[arg-type]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("acme", 1)]
    return analyze(helper.make_model(graph, opset_imports=opsets), "a100", **options)  # type: ignore[arg-type]


def test_symbols_of_types_alone_are_told_too() -> None:
    """A view moves nothing: its symbols stand in its types."""
    report = report_of(helper.make_node("Flatten", ["x"], ["y"], name="view"), dims={"n": 3})
    told = explain(report, "view")
    assert told.symbols == {
        "n": SymbolUsed(3, "given", "batch n"),
        "s": SymbolUsed(128, "assumed", "sequence s"),
    }
    assert told.counts == ()


def test_an_extent_that_depends_on_the_data_is_a_bound_and_not_nothing() -> None:
    find = helper.make_node("NonZero", ["x"], ["found"], name="find")
    cast = helper.make_node("Cast", ["found"], ["y"], to=TensorProto.FLOAT, name="cast")
    told = explain(report_of(find, cast, dims={"n": 3, "s": 2}), "cast")
    assert told.symbols["u1"] == SymbolUsed(0, str(Origin.BOUND), "u1")
    counts = {c.name: (c.value, c.symbolic, c.origin) for c in told.counts}
    assert counts["read_bytes"] == (0, "24*u1", Origin.BOUND)
    assert counts["write_bytes"] == (0, "12*u1", Origin.BOUND)
    assert "it computes and moves nothing" not in render_text(told)


@pytest.mark.parametrize(
    ("op", "note"),
    [
        ("Flatten", "a view: moves no data and takes no time"),
        ("Relu", ""),
        ("Mystery", "coverage: "),
    ],
)
def test_a_note_says_why_a_node_takes_no_time(op: str, note: str) -> None:
    domain = "acme" if op == "Mystery" else ""
    node = helper.make_node(op, ["x"], ["y"], name="node", domain=domain)
    told = explain(report_of(node, dims={"n": 3, "s": 2}), "node")
    assert told.note.startswith(note)
    assert bool(told.note) is bool(note)
    assert (told.index, told.total, told.repeat) == (0, 1, 1)


def test_what_nobody_reads_does_not_run() -> None:
    nodes = [
        helper.make_node("Exp", ["x"], ["lost"], name="lost"),
        helper.make_node("Relu", ["x"], ["y"], name="kept"),
    ]
    told = explain(report_of(*nodes, dims={"n": 3, "s": 2}), "lost")
    if told.tier is None:
        assert told.note.startswith("does not run: ")
        assert (told.kernel, told.prediction, told.counts) == (None, None, ())


def test_bytes_are_a_sum_of_distinct_operands() -> None:
    twice = helper.make_node("Mul", ["x", "x"], ["y"], name="square")
    told = explain(report_of(twice, dims={"n": 3, "s": 2}), "square")
    reads = next(c for c in told.counts if c.name == "read_bytes")
    assert (reads.value, reads.filled) == (96, "96")
    assert reads.symbolic == "16*n*s"
    assert [t.nbytes for t in told.operands] == [96, 96]
    assert [t.is_stored for t in told.operands] == [False, False]


@pytest.fixture(scope="module")
def windows() -> perfc.Report:
    path = GOLDEN / "estimates" / "windows.onnxtxt"
    return perfc.analyze(path, "a100", dims={"batch": 16})


def test_every_kernel_is_explained_by_its_own_ceilings(windows: perfc.Report) -> None:
    for i, bound in enumerate(windows.roofline.kernels):
        part = explain(windows, f"kernel:{i}").kernel
        assert part is not None
        assert (part.index, part.total) == (i, len(windows.roofline.kernels))
        assert part.share == pytest.approx(bound.time_s / windows.roofline.time_s)
        assert part.launch_gap_s == bound.launch_gap_s
        for line, times in (("floor", bound.floor), ("sustained", bound.sustained)):
            told = {t.ceiling: t for t in part.ceilings if t.line == line}
            assert set(told) == {c.value for c in times}
            longest = max(times.values())
            for ceiling, time_s in times.items():
                is_binding = time_s == longest and (line == "floor" or not bound.launch_gap_s)
                assert told[ceiling.value].binds is is_binding, (i, line, ceiling)
        waits = [t for t in part.ceilings if t.line == "launch"]
        assert len(waits) == bool(bound.launch_gap_s)
        assert {t.amount for t in waits} <= {bound.launches}
