"""A report in Python: echoed in a notebook, as numbers, saved, and errors of one kind."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import perfc
from perfc import cli
from perfc.errors import MissingExtraError
from tests.commands.invocations import write_model

ROOT = Path(__file__).resolve().parents[2]
RESNET = ROOT / "examples" / "models" / "resnet50.onnx.gz"
HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(1)>&\x1b[31m"


@pytest.fixture(scope="module")
def resnet() -> perfc.Report:
    return perfc.analyze(RESNET, "a100", batch=8)


def shown(time_s: float) -> str:
    """A time in three digits."""
    number, unit = (1e3 * time_s, "ms") if time_s >= 1e-3 else (1e6 * time_s, "µs")
    return f"{f'{number:#.3g}'.rstrip('.')} {unit}"


def hostile() -> perfc.Report:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 4])
    nodes = [
        helper.make_node("MatMul", ["x", "x"], ["h"], name=f"/{HOSTILE}/a"),
        helper.make_node(HOSTILE, ["h"], ["y"], name=HOSTILE, domain=HOSTILE),
    ]
    graph = helper.make_graph(nodes, HOSTILE, [x], [y])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(HOSTILE, 1)]
    return perfc.analyze(helper.make_model(graph, opset_imports=opsets, ir_version=9))


def test_an_echo_is_three_lines_with_the_answer(resnet: perfc.Report) -> None:
    title, takes, could = repr(resnet).splitlines()
    verdict = resnet.views.verdict
    assert title.startswith("resnet50.onnx.gz on NVIDIA A100 SXM4 80 GB · batch 8")
    assert shown(verdict.expected.mid) in takes
    assert shown(verdict.expected.high) in takes
    assert verdict.confidence is not None
    assert f"confidence {verdict.confidence.grade.value}" in takes
    assert f"lower bound {shown(verdict.floor_s)}" in could
    assert max(map(len, (title, takes, could))) <= 120


def test_an_echo_of_anything_is_short_and_says_why_nothing_is_predicted() -> None:
    assert repr(hostile()).count("\n") == 2
    assert "\x1b" not in repr(hostile())
    assert repr(perfc.op("softmax", rows=8, columns=8)).count("\n") == 2
    unknown = perfc.analyze(RESNET, "rtx4090", runtime="eager", dtype="f16", predictor="nobody")
    assert "no weights of 'nobody'" in repr(unknown)
    assert unknown._repr_html_() is None
    with pytest.raises(perfc.PerfcError, match="nobody"):
        unknown.to_dict()


class Reader(HTMLParser):
    """Elements, their attributes and their text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "rect":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += f" {data} "


def read(html: str | None) -> Reader:
    assert html is not None
    reader = Reader()
    reader.feed(re.sub(r"(<rect[^>]*)/>", r"\1>", html))
    assert reader.open == []
    return reader


def test_a_notebook_shows_the_first_screen(
    resnet: perfc.Report, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["analyze", str(RESNET), "-t", "a100", "--dim", "batch=8"]) == 0
    words = " ".join(read(resnet._repr_html_()).text.split())
    for line in filter(None, capsys.readouterr().out.splitlines()[:11]):
        assert " ".join(line.split()[:3]) in words


@pytest.mark.parametrize("of", ["resnet", "hostile"])
def test_the_screen_of_a_notebook_needs_nothing_and_runs_nothing(
    of: str, resnet: perfc.Report
) -> None:
    html = (resnet if of == "resnet" else hostile())._repr_html_()
    result = read(html)
    assert not {"script", "img", "link", "iframe", "object"} & set(result.tags)
    assert not {"src", "href", "onerror", "onload"} & {name for name, _ in result.attributes}
    assert html is not None
    assert len(html) < 20_000
    assert "prefers-color-scheme: dark" in html
    assert not re.search(r"https?:|url\(|@import", html)
    assert "\x1b" not in html


def test_the_dict_is_the_json_document(resnet: perfc.Report, tmp_path: Path) -> None:
    resnet.save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == resnet.to_dict()
    assert resnet.to_dict()["schema"] == "perfc-report/1"


@pytest.mark.parametrize("suffix", [".txt", ".json", ".md", ".csv", ".html", ".JSON"])
def test_a_saved_file_is_what_the_command_line_writes(
    suffix: str, resnet: perfc.Report, tmp_path: Path
) -> None:
    mine, theirs = tmp_path / f"mine{suffix}", tmp_path / f"theirs{suffix}"
    report, line = resnet, ["analyze", str(RESNET), "-t", "a100", "--dim", "batch=8"]
    if suffix == ".html":  # its charts of other batches take as long as dozens of analyses
        write_model(tmp_path / "model.onnx")
        report = perfc.analyze(tmp_path / "model.onnx", "a100", dims={"n": 8})
        line = ["analyze", str(tmp_path / "model.onnx"), "-t", "a100", "--dim", "n=8"]
    report.save(mine)
    assert cli.run([*line, "-o", str(theirs)]) == 0
    assert mine.read_text(encoding="utf-8") == theirs.read_text(encoding="utf-8")
    assert mine.stat().st_size > 500


@pytest.mark.parametrize("name", ["report.pdf", "report.onnx", "nowhere/report.json"])
def test_a_file_that_cannot_be_written_is_an_error_of_perfc(
    name: str, resnet: perfc.Report, tmp_path: Path
) -> None:
    with pytest.raises(perfc.PerfcError):
        resnet.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_kernels_are_a_data_frame(resnet: perfc.Report, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = resnet.to_pandas()
    resnet.save(tmp_path / "kernels.csv")
    read_back = pandas.read_csv(tmp_path / "kernels.csv")
    assert list(frame.columns) == list(read_back.columns)
    assert len(frame) == len(resnet.views.kernels)
    assert frame["predicted_s"].sum() == pytest.approx(read_back["predicted_s"].sum())
    assert frame["predicted_s"].dtype == float


def test_without_pandas_the_error_names_it(
    resnet: perfc.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'pandas>="):
        resnet.to_pandas()
    with pytest.raises(MissingExtraError, match="pandas") as raised:
        perfc.compare(RESNET, ["a100"]).to_pandas()
    assert "xgboost" not in str(raised.value)


def test_a_comparison_echoes_its_table() -> None:
    result = perfc.compare(RESNET, ["t4", "a100"], batch=8)
    assert len(repr(result).splitlines()) < 14
    assert "a100-sxm4-80gb" in repr(result)
    pandas = pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["target"]) == ["a100-sxm4-80gb", "t4"]
    assert result.to_dict()["schema"] == "perfc-compare/1"


def test_the_page_of_the_api_shows_what_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:python)?\n(.*?)```", page, re.DOTALL)
    exec(blocks[0], {})
    assert capsys.readouterr().out == blocks[1]
    for name in re.findall(r"`perfc\.(\w+)\(", page):
        assert name in dir(perfc)
    for name in re.findall(r"`report\.(\w+)", page):
        assert hasattr(perfc.Report, name) or name in perfc.Report.__dataclass_fields__


def test_the_api_is_what_completion_shows() -> None:
    assert dir(perfc) == sorted(perfc.__all__)
    for name in dir(perfc):
        assert getattr(perfc, name) is not None
    assert {"analyze", "compare", "op", "predict", "Report", "PerfcError"} <= set(dir(perfc))


def test_a_message_is_analyzed_as_its_file_is(resnet: perfc.Report) -> None:
    import gzip

    message = onnx.load_model_from_string(gzip.decompress(RESNET.read_bytes()))
    result = perfc.analyze(message, "a100", batch=8)
    assert result.roofline.floor_s == resnet.roofline.floor_s
    assert result.prediction.total.time_s == resnet.prediction.total.time_s


WRONG: list[tuple[Any, dict[str, Any]]] = [
    (5, {}),
    (None, {}),
    (b"", {}),
    ("nope.onnx", {}),
    (RESNET, {"target": 5}),
    (RESNET, {"target": "nothing-such"}),
    (RESNET, {"batch": "x"}),
    (RESNET, {"dims": [1]}),
    (RESNET, {"dtype": 3}),
    (RESNET, {"nope": 1}),
    (RESNET, {"predictor": 5}),
    (RESNET, {"values": 5}),
    (RESNET, {"values": {"x": [[1], [2, 3]]}}),
    (RESNET, {"input": 5}),
    (RESNET, {"input": (3, 64)}),
]


@pytest.mark.parametrize(("model", "keywords"), WRONG, ids=str)
def test_what_is_wrong_is_an_error_of_perfc(model: Any, keywords: dict[str, Any]) -> None:
    with pytest.raises(perfc.PerfcError) as raised:
        perfc.analyze(model, **keywords)
    assert "\n" not in str(raised.value)


def test_a_module_of_pytorch_is_exported(capfd: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten()
    )
    with pytest.raises(perfc.PerfcError, match="says nothing of its input"):
        perfc.analyze(network)
    with pytest.raises(perfc.PerfcError, match="no extents"):
        perfc.analyze(network, input=5)  # type: ignore[arg-type]
    pytest.importorskip("onnxscript")
    capfd.readouterr()
    report = perfc.analyze(network, "a100", (3, 16, 16), batch=4)
    assert capfd.readouterr() == ("", "")
    assert repr(report).startswith("Sequential on NVIDIA A100 SXM4 80 GB · batch 4")
    assert report.path == ""
    assert str(report.cost.work.mac) == f"{8 * 3 * 9 * 256}*batch"
    assert report.at({"batch": 8}).given == {"batch": 8}
    with pytest.raises(perfc.PerfcError, match="cannot export"):
        perfc.analyze(network, input=(3,))
    compared = perfc.compare(network, ["a100", "t4"], (3, 16, 16), batch=4)
    assert len(compared.rows) == 2


def swept(model: Any) -> Any:
    return perfc.sweep(model, batch=[1, 2, 4])


@pytest.mark.parametrize("of", ["sweep", "prediction", "comparison"])
def test_other_answers_echo_shortly_and_as_a_table_without_scripts(of: str) -> None:
    result: Any
    match of:
        case "sweep":
            result = swept(RESNET)
            number = shown(result.points[-1].time_s)
        case "prediction":
            result = perfc.predict(RESNET, "rtx4090", batch=256)
            number = shown(result.value)
        case _:
            result = perfc.compare(RESNET, ["a100", "h100"])
            number = shown(result.rows[0].time_s)
    echo = repr(result)
    assert number in echo
    assert max(map(len, echo.splitlines())) <= 120
    if of != "comparison":
        assert echo.count("\n") == 2
    html = read(result._repr_html_())
    assert number in html.text
    assert "pre" in html.tags
    assert not {"script", "img", "link", "iframe", "object"} & set(html.tags)


def test_answers_of_language_models_and_plans_print_what_their_commands_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers = {
        "llm llama-3.2-1b -t h100": perfc.llm("llama-3.2-1b", "h100"),
        "plan llama-3.2-1b --gpus 2 -t h100": perfc.plan("llama-3.2-1b", 2, "h100"),
    }
    for line, answer in answers.items():
        assert cli.run(line.split()) == 0
        assert answer.to_dict()["schema"] == answer.laid_out().schema
        assert str(answer).splitlines()[:8] == capsys.readouterr().out.splitlines()[:8]
        assert "pre" in read(answer._repr_html_()).tags


def test_names_from_files_are_escaped_in_the_echo_of_a_sweep() -> None:
    result = replace(swept(RESNET), model=HOSTILE, labels={"batch": HOSTILE})
    html = read(result._repr_html_())
    assert not {"script", "img"} & set(html.tags)
    assert "\x1b" not in result._repr_html_() + repr(result)


def test_figures_of_the_first_screen_are_attributes(resnet: perfc.Report) -> None:
    verdict = resnet.views.verdict
    assert resnet.verdict == verdict
    assert resnet.time_s == verdict.time_s == resnet.prediction.total.time_s
    assert resnet.bound_s == resnet.roofline.floor_s <= resnet.time_s
    assert resnet.throughput == pytest.approx(8 / resnet.time_s)
    assert resnet.memory_bytes == verdict.memory.total_bytes > resnet.weight_bytes
    assert verdict.energy is not None
    assert resnet.energy_j == verdict.energy.mid
    names = {"time_s", "bound_s", "throughput", "memory_bytes", "energy_j", "kernels"}
    names |= {"flops", "macs", "parameters"}
    assert names <= set(dir(resnet))


def test_work_and_parameters_are_whole_numbers(resnet: perfc.Report) -> None:
    summary, alone = resnet.views.summary, resnet.at(batch=1)
    counts = resnet.flops, resnet.macs, resnet.parameters
    assert counts == (summary.executed_flop.value, summary.mac.value, summary.parameters.value)
    assert {type(n) for n in counts} == {int}
    assert resnet.macs == 8 * alone.macs == 8 * 4_089_184_256
    assert resnet.parameters == alone.parameters
