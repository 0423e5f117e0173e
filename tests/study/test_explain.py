"""Explanations show the pass's own numbers, each with where it is from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from perfc.analyzers.whole_runs.whole_run import ANOTHER
from perfc.api import Report, analyze
from perfc.commands.analysis.explain import command
from perfc.ir.facts import Origin
from perfc.ir.graph import walk
from perfc.ir.graphs.locate import NodeError, find_node
from perfc.study.explain import Explanation, explain, filled
from perfc.study.explain.explanation import SymbolUsed
from perfc.study.explain.text import render_json, render_text
from perfc.view.report.formats.screen import next_lines
from perfc.view.report.sections.kernels import groups
from perfc.view.report.views import collect

MODELS = Path(__file__).parents[2] / "examples" / "models"
RESNET = str(MODELS / "resnet50.onnx.gz")


@pytest.fixture(scope="module")
def resnet() -> Report:
    return analyze(RESNET, "a100", dims={"batch": 8})


def count_of(e: Explanation, name: str) -> tuple[str, str, int]:
    return next((c.formula, c.filled, c.value) for c in e.counts if c.name == name)


def test_the_formula_of_a_convolution_is_filled_with_its_numbers(resnet: Report) -> None:
    e = explain(resnet, "/conv1/Conv")
    product = 8 * 64 * 112 * 112 * 3 * 7 * 7
    assert count_of(e, "mac") == ("n*k*p*q*(c//g)*r*s", "8*64*112*112*3*7*7", product)
    text = render_text(e)
    assert "mac = n*k*p*q*(c//g)*r*s = 8*64*112*112*3*7*7 = 944111616  (counted)" in text
    assert "118013952*batch" in text
    assert "arXiv:1603.07285" in text


def test_bytes_are_the_sum_of_the_operands_where_they_are(resnet: Report) -> None:
    e = explain(resnet, "/conv1/Conv")
    sizes = [t.nbytes or 0 for t in e.operands]
    _, text, value = count_of(e, "read_bytes")
    assert value == sum(sizes) == 8 * 3 * 224 * 224 * 4 + 64 * 3 * 7 * 7 * 4
    assert text == " + ".join(map(str, sizes))


def test_filling_works_out_quotients_of_numbers_only() -> None:
    assert filled("n*(c//g) + x//d", {"n": 2, "c": 12, "g": 3, "x": 7, "d": 2}) == "2*4 + 7//2"
    assert filled("n*(c//g)", {"n": 2}) == "2*(c//g)"


def test_filled_formulas_evaluate_to_the_counted_value() -> None:
    for name in ("resnet50", "gpt2"):
        report = analyze(MODELS / f"{name}.onnx.gz", dims={"batch": 3})
        for position in range(0, 60, 3):
            e = explain(report, f"#{position}")
            for c in e.counts:
                if c.filled:
                    assert eval(c.filled) == c.value, (e.name, c)


def test_every_ceiling_has_amount_over_rate_and_a_source(resnet: Report) -> None:
    kernel = explain(resnet, "/conv1/Conv").kernel
    assert kernel is not None
    for t in kernel.ceilings:
        assert t.amount / t.rate.value == pytest.approx(t.time_s) or t.line == "launch"
        assert t.rate.key
        assert t.rate.source
    bound = resnet.roofline.kernels[kernel.index]
    sustained = {t.ceiling: t.time_s for t in kernel.ceilings if t.line == "sustained"}
    assert sustained == {c.value: s for c, s in bound.sustained.items()}
    matrix = next(
        t for t in kernel.ceilings if (t.line, t.ceiling) == ("sustained", "matrix units")
    )
    assert matrix.amount == pytest.approx(2 * 944111616)
    assert matrix.rate.key.startswith("compute.matrix.tf32")
    assert matrix.origin is Origin.VENDOR


def test_the_binding_ceiling_is_the_one_the_report_names(resnet: Report) -> None:
    for k, bound in enumerate(resnet.roofline.kernels[:30]):
        kernel = explain(resnet, f"kernel:{k}").kernel
        assert kernel is not None
        assert kernel.index == k
        assert kernel.binding == bound.binding.value
        assert bound.binding.value in {t.ceiling for t in kernel.ceilings if t.binds}


def test_a_symbol_without_a_value_is_marked_assumed() -> None:
    report = analyze(MODELS / "bert-base.onnx.gz", dims={"batch": 2})
    matmul = next(n for n in walk(report.source.graph) if n.op.mnemonic == "matmul")
    symbols = explain(report, matmul.name).symbols
    assert symbols["batch"] == SymbolUsed(2, "given", "batch")
    assert symbols["seq"].origin == "assumed"


def test_a_node_that_never_runs_says_so() -> None:
    report = analyze(MODELS / "swin-t.onnx.gz")
    gone = next(n for n in walk(report.source.graph) if n not in report.cost.nodes)
    e = explain(report, gone.results[0].name)
    if e.tier is None:
        assert "does not run" in e.note
        assert e.kernel is None
    assert render_text(e)


def test_nodes_are_found_by_name_output_position_and_part(resnet: Report) -> None:
    graph = resnet.source.graph
    first = graph.nodes[0]
    for wanted in ("/conv1/Conv", first.results[0].name, "0", "#0"):
        assert find_node(graph, wanted) == (0, first)
    assert find_node(graph, "layer4.2/conv3")[1].name == "/layer4/2/conv3/Conv"


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("/conv1/Cnov", "did you mean /conv1/Conv"),
        ("conv99", "did you mean /conv1/Conv or "),
        ("conv1", "17 nodes match 'conv1'"),
        ("#999", "its 175 nodes are #0 to #174"),
    ],
)
def test_a_wrong_name_says_what_could_have_been_meant(
    resnet: Report, wanted: str, hint: str
) -> None:
    with pytest.raises(NodeError) as caught:
        find_node(resnet.source.graph, wanted)
    assert hint in str(caught.value)


def test_the_kernel_that_the_first_screen_names_is_explained(resnet: Report) -> None:
    views = collect(resnet)
    line = "".join(span.text for span in next(next_lines(views, 200)))
    wanted = line.partition("perfc explain MODEL ")[2].split()[0]
    slowest = max(groups(views.kernels), key=lambda g: g.predicted_s).first
    e = explain(resnet, wanted)
    assert e.kernel is not None
    assert (wanted, e.kernel.index) == (f"kernel:{slowest.index}", slowest.index)
    assert e.name in e.kernel.nodes
    head = render_text(e).splitlines()[:2]
    assert head[0].startswith(f"kernel {slowest.index} of {len(views.kernels)}: {slowest.label}")
    assert head[1].startswith(f"{e.name}: {e.op_type}, node ")


@pytest.mark.parametrize("how", [{}, {"train": "sgd"}], ids=["inference", "training"])
def test_every_kernel_is_explained_by_its_number(how: dict[str, str]) -> None:
    report = analyze(MODELS / "gpt2.onnx.gz", "a100", **how)
    for number in range(0, len(report.roofline.kernels), 7):
        e = explain(report, f"kernel:{number}")
        assert e.kernel is not None
        assert e.kernel.index == number
        assert f"node {e.index} of {e.total}" in render_text(e)


def test_a_kernel_that_is_not_there_is_refused(resnet: Report) -> None:
    count = len(resnet.kernels.kernels)
    with pytest.raises(NodeError, match=rf"no kernel {count} \(kernel:0 to kernel:{count - 1}\)"):
        explain(resnet, f"kernel:{count}")


def test_a_precision_is_explained_in_that_precision() -> None:
    report = analyze(RESNET, "a100", dims={"batch": 8}, dtype="f16")
    e = explain(report, "/conv1/Conv")
    assert e.operands[0].type.startswith("f16")
    assert e.kernel is not None
    assert e.kernel.dtype == "f16"


def test_the_json_holds_every_number_with_its_origin(resnet: Report) -> None:
    data = json.loads(render_json(explain(resnet, "/conv1/Conv")))
    assert data["schema"] == "perfc-explain/1"
    assert {c["origin"] for c in data["counts"]} == {"counted"}
    origins = {t["origin"] for t in data["kernel"]["ceilings"]}
    assert origins <= {"vendor", "measured", "assumed", "bound", "counted"}
    assert data["symbols"]["batch"] == {"value": 8, "origin": "given", "label": "batch"}


def test_the_command_prints_text_and_json() -> None:
    runner = CliRunner()
    text = runner.invoke(command, [RESNET, "/conv1/Conv", "--dim", "batch=8"])
    assert text.exit_code == 0, text.output
    assert "8*64*112*112*3*7*7" in text.output
    data = runner.invoke(command, [RESNET, "/conv1/Conv", "--output-format", "json"])
    assert json.loads(data.output)["op_type"] == "Conv"


def test_a_predictor_that_was_not_asked_for_says_so(resnet: Report) -> None:
    summed = analyze(RESNET, "a100", dims={"batch": 8}, predictor="kernels")
    assert [(r.predictor, r.withheld) for r in summed.other_runs] == [("runs", ANOTHER)]
    assert summed.other_runs[0].time_s == pytest.approx(resnet.prediction.total.time_s)
    assert resnet.other_runs == ()
    text = render_text(explain(resnet, "/conv1/Conv"))
    assert "by the runs predictor, trained on" in text
    assert "measured runs over their kernels alone" in text


def test_nodes_of_a_backward_pass_are_explained_too() -> None:
    report = analyze(RESNET, "a100", dims={"batch": 8}, train="sgd", runtime="eager")
    named = [n for n in walk(report.module.graph) if n.name.endswith("/conv1/Conv.grad")]
    asked = next(v.name for n in named for v in n.results)
    e = explain(report, asked)
    assert e.name.endswith("/conv1/Conv.grad")
    assert e.kernel is not None
    assert e.total == sum(1 for _ in walk(report.module.graph))
