"""The page is one file, says what the other formats say, and no name leaves its place."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import perfc
from perfc import cli
from tests.commands.invocations import write_model

from .conftest import HOSTILE, MODELS, page_of

ROOT = Path(__file__).parents[3]


class Reader(HTMLParser):
    """Elements, attributes and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.is_script = False
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.is_script = tag == "script"
        if self.is_script:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.is_script = self.is_script and tag != "script"

    def handle_data(self, data: str) -> None:
        if self.is_script:
            self.scripts[-1] += data
        else:
            self.words.append(data)


def payload_of(text: str) -> dict[str, object]:
    found = json.loads(Reader(text).scripts[0])
    assert isinstance(found, dict)
    return found


def shown(text: str) -> dict[str, object]:
    reports = payload_of(text)["reports"]
    assert isinstance(reports, list)
    return reports[0]


def test_page_refers_to_nothing_outside(resnet_page: str) -> None:
    for tag, attributes in Reader(resnet_page).tags:
        for name in ("src", "href", "action", "data"):
            value = attributes.get(name)
            assert value is None or value.startswith("#"), (tag, name)
    styles = resnet_page.partition("<style>")[2].partition("</style>")[0]
    assert styles
    assert "@import" not in styles
    assert "url(" not in styles


def test_policy_allows_the_scripts_of_the_page_and_no_other(resnet_page: str) -> None:
    found = Reader(resnet_page)
    policies = [a["content"] for t, a in found.tags if t == "meta" and "http-equiv" in a]
    assert policies[0] is not None
    assert policies[0].startswith("default-src 'none'")
    assert "unsafe-eval" not in policies[0]
    for script in found.scripts[1:]:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policies[0]


def test_no_name_becomes_markup(hostile: perfc.Report, tmp_path: Path) -> None:
    text = page_of(hostile, tmp_path)
    found = Reader(text)
    assert len(found.scripts) == 3
    assert "img" not in {tag for tag, _ in found.tags}
    assert not any(a.startswith("on") for _, attributes in found.tags for a in attributes)
    names = json.dumps(payload_of(text), ensure_ascii=False)
    assert "onerror" in names
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "7 * 7" in text


def test_a_name_of_a_megabyte_does_not_fill_the_page(resnet_page: str, tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    node = helper.make_node("Relu", ["x"], ["y"], name="/" + "n/" * 500_000)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    model = helper.make_model(helper.make_graph([node], "g", [x], [y]))
    assert len(page_of(perfc.analyze(model), tmp_path)) < len(resnet_page) + 4e6


def test_page_and_json_agree(resnet: perfc.Report, resnet_page: str) -> None:
    tree = json.loads(json.dumps(resnet.to_dict()))
    found = shown(resnet_page)
    kernels, graph, memory = (found[n] for n in ("kernels", "graph", "memory"))
    assert isinstance(kernels, dict)
    assert isinstance(graph, dict)
    assert isinstance(memory, dict)
    rows = tree["kernels"]
    assert [round(r["floor_s"], 12) for r in rows] == pytest.approx(kernels["floor_s"], rel=1e-5)
    predicted = [r["predicted"]["time_s"] for r in rows]
    assert predicted == pytest.approx(kernels["time_s"], rel=1e-5)
    assert memory["live_bytes"] == tree["memory"]["live_bytes"]
    assert found["time_s"] == tree["prediction"]["time_s"]["value"]
    shares = [r["predicted"]["share"] * found["time_s"] for r in rows]
    assert shares == pytest.approx(predicted, rel=1e-5)
    table = kernels["table"]
    assert len(table["rows"]) == len(rows)
    led = [k for k in graph["anchor"] if k >= 0]
    led += [k for k, _ in graph["helpers"]]
    assert sorted(led) == list(range(len(rows)))
    for r, names in zip(rows, named(graph, len(rows)), strict=True):
        assert sorted(r["nodes"]) == sorted(names)


def named(graph: dict[str, object], count: int) -> list[list[str]]:
    """Names of the nodes of each kernel."""
    names, kernels, helpers = graph["names"], graph["kernel"], graph["helpers"]
    assert isinstance(names, list)
    assert isinstance(kernels, list)
    assert isinstance(helpers, list)
    found: list[list[str]] = [[] for _ in range(count)]
    for name, k in zip(names, kernels, strict=True):
        if k >= 0:
            found[k].append(name)
    for k, node in helpers:
        found[k].append(names[node])
    return found


def test_every_format_tells_the_same_times(
    resnet: perfc.Report, resnet_page: str, tmp_path: Path
) -> None:
    words = ["analyze", str(MODELS / "resnet50.onnx.gz"), "-t", "a100", "--batch", "8"]

    def saved(name: str, *more: str) -> str:
        assert cli.run([*words, *more, "-o", str(tmp_path / name)]) == 0
        return (tmp_path / name).read_text(encoding="utf-8")

    tree = resnet.to_dict()
    lines = list(csv.DictReader(io.StringIO(saved("r.csv"))))
    trace = json.loads(saved("t.json", "--output-format", "trace"))
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    times = [r["predicted"]["time_s"] for r in tree["kernels"]]
    assert [float(line["predicted_s"]) for line in lines] == times
    assert [e["dur"] / 1e6 for e in slices if e["tid"] == 1] == pytest.approx(times, abs=1e-10)
    floors = [r["floor_s"] for r in tree["kernels"]]
    assert [e["dur"] / 1e6 for e in slices if e["tid"] == 2] == pytest.approx(floors, abs=1e-10)
    kernels = shown(resnet_page)["kernels"]
    assert isinstance(kernels, dict)
    assert kernels["time_s"] == pytest.approx(times, rel=1e-5)
    for name in ("r.txt", "r.md"):
        text = saved(name, "--view", "summary,prediction")
        assert str(resnet.views.summary.floor_s) in text
        assert str(resnet.views.prediction.time_s) in text
        assert str(resnet.views.prediction.time_s) in resnet_page


def test_points_stand_where_their_kernels_are(resnet: perfc.Report, resnet_page: str) -> None:
    found = shown(resnet_page)
    roofline, kernels = found["roofline"], found["kernels"]
    assert isinstance(roofline, dict)
    assert isinstance(kernels, dict)
    rows = resnet.views.kernels
    for kernel, level, intensity, rate, _, count, _ in roofline["points"]:
        row = rows[kernel]
        assert row.flop.value is not None
        assert row.predicted is not None
        moved = row.device_bytes if level == "device" else row.flop.value / intensity
        assert intensity == pytest.approx(row.flop.value / moved, rel=1e-4)
        assert rate <= row.flop.value / row.floor_s * 1.0001
        assert count == sum(r.alike == kernel for r in rows)
    assert roofline["x"][0] < min(p[2] for p in roofline["points"])


def test_two_analyses_make_one_page(resnet: perfc.Report, compared_page: str) -> None:
    data = payload_of(compared_page)
    comparison, reports = data["comparison"], data["reports"]
    assert isinstance(comparison, dict)
    assert isinstance(reports, list)
    after, before = (sum(page["kernels"]["time_s"]) for page in reports)
    assert before == pytest.approx(resnet.prediction.kernels_s, rel=1e-3)
    names = [c["name"] for c in comparison["table"]["columns"]]
    column, rows = names.index("delta_s"), comparison["table"]["rows"]
    total = sum(r[column] for r in rows)
    assert total == pytest.approx(after - before, rel=1e-3)
    # no kernel of the new run stands for one that it has not
    gone = sum(r[column] for r, k in zip(rows, comparison["kernels"], strict=True) if k is None)
    assert sum(comparison["delta_s"]) == pytest.approx(after - before - gone, rel=1e-3)
    assert all(r is not None for r in comparison["row_of"])


def test_a_comparison_begins_with_before_after_and_how_surely(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(MODELS / "resnet50.onnx.gz")
    page = tmp_path / "diff.html"
    asked = ["diff", model, "--dim", "batch=8", "--to", "batch=16"]
    assert cli.run([*asked, "-o", str(page)]) == 0
    capsys.readouterr()
    assert cli.run([*asked, "--output-format", "json"]) == 0
    time = next(r for r in json.loads(capsys.readouterr().out)["totals"] if r["metric"] == "time")
    text = page.read_text(encoding="utf-8").replace("\u00a0", " ")
    card = text[text.index('<section class="card" id="verdict">') : text.index('id="roofline"')]
    for key in ("old", "new", "delta", "delta_low", "delta_high"):
        assert f"{1e3 * abs(time[key]):.3g} ms" in card
    assert "limited by" in card
    assert text.count('id="verdict"') == 1


def test_page_of_a_model_without_kernels_can_be_made(tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    node = helper.make_node("Identity", ["x"], ["y"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    found = perfc.analyze(helper.make_model(helper.make_graph([node], "g", [x], [y])))
    assert "no kernel is launched" in page_of(found, tmp_path)


def test_command_writes_the_page_whole(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = str(MODELS / "bert-base.onnx.gz")
    out = tmp_path / "report.html"
    assert cli.run(["analyze", model, "--output-format", "html", "-o", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert text.rstrip().endswith("</html>")
    assert list(tmp_path.iterdir()) == [out]
    assert cli.run(["analyze", model, "--output-format", "html", "--no-predict"]) == 0
    printed = capfd.readouterr().out
    assert "<h2>prediction</h2>" not in printed
    assert len(printed) > 1e6


@pytest.mark.parametrize(
    ("name", "start"),
    [("r.html", "<!DOCTYPE"), ("r.json", "{"), ("r.md", "# "), ("r.txt", "model.onnx on")],
)
def test_name_of_the_file_says_the_format(tmp_path: Path, name: str, start: str) -> None:
    out = tmp_path / name
    write_model(tmp_path / "model.onnx")
    assert cli.run(["analyze", str(tmp_path / "model.onnx"), "-o", str(out)]) == 0
    assert out.read_text(encoding="utf-8").startswith(start)


def test_plotting_library_is_the_published_file() -> None:
    folder = ROOT / "perfc" / "view" / "html" / "echarts"
    digest = hashlib.sha256((folder / "echarts.min.js").read_bytes()).hexdigest()
    assert digest == "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"
    assert "Apache License" in (folder / "LICENSE").read_text(encoding="utf-8")
    assert "Apache Software Foundation" in (folder / "NOTICE").read_text(encoding="utf-8")


def test_the_same_analysis_makes_the_same_bytes(
    resnet: perfc.Report, resnet_page: str, tmp_path: Path
) -> None:
    assert page_of(resnet.at(batch=8), tmp_path) == resnet_page


def test_hostile_names_are_the_attack_they_claim_to_be() -> None:
    # were the escaping gone, the parser would see these elements
    assert [t for t, _ in Reader(f"<p>{HOSTILE}").tags] == ["p", "script", "img"]
    assert re.search(r"</script>", HOSTILE)
