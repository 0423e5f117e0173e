"""Graphs of reports for networkx."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

import perfc
from perfc.errors import MissingExtraError
from perfc.view.graph_form import GraphForm, executed_graph

RESNET = str(Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz")


@pytest.fixture(scope="module")
def report() -> perfc.Report:
    return perfc.analyze(RESNET, "a100", predictor="kernels")


@pytest.fixture(scope="module")
def form(report: perfc.Report) -> GraphForm:
    return executed_graph(report)


def test_the_graph_has_every_node_and_the_numbers_of_the_run(
    report: perfc.Report, form: GraphForm
) -> None:
    operators = [n for n in form.nodes if n.attributes["operator"] not in ("input", "output")]
    assert len(operators) == len(report.module.graph.nodes)
    assert len({n.key for n in form.nodes}) == len(form.nodes)
    floors = [float(n.attributes.get("floor_s", 0.0)) for n in operators]
    assert math.fsum(floors) == pytest.approx(math.fsum(k.floor_s for k in report.roofline.kernels))
    reads = [v for n in report.module.graph.nodes for v in n.inputs if v and v.weight is None]
    assert len(form.edges) == len(reads) + len(report.module.graph.outputs)
    assert form.edges[0].attributes["shape"] == "1, 3, 224, 224"
    assert form.edges[0].attributes["bytes"] == 4 * 3 * 224 * 224


def test_networkx_writes_the_graph_as_graphml(report: perfc.Report, tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx")
    graph = report.to_networkx()
    assert networkx.is_directed_acyclic_graph(graph)
    networkx.write_graphml(graph, path := tmp_path / "model.graphml")
    again = networkx.read_graphml(path, force_multigraph=True)
    assert dict(again.nodes(data=True)) == dict(graph.nodes(data=True))
    assert sorted(map(str, again.edges(data=True))) == sorted(map(str, graph.edges(data=True)))


def test_without_networkx_the_error_says_what_to_install(
    report: perfc.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtraError, match="pip install networkx"):
        report.to_networkx()
