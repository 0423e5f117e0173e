"""Models are run for real: missing weights, attribution, memory, limits."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result

from perfc.api import analyze, typed
from perfc.commands.measurement import measure as command
from perfc.errors import MissingExtraError, ParseError, PassError
from perfc.measuring.measure import process
from perfc.measuring.measure.process import MeasurementProtocol
from perfc.measuring.measure.session import measure
from perfc.measuring.measure.tables.feeds import contents, inputs_of
from perfc.measuring.measure.tables.weights import runnable
from perfc.passes.runtimes import Framework

pytest.importorskip("onnxruntime")
QUICK = MeasurementProtocol(threads=1, repeat=3, min_time_s=0.0, limit_s=60)


def invoke(*args: str) -> Result:
    return CliRunner().invoke(command.command, args, catch_exceptions=False)


def records(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt") as stream:
        return list(csv.DictReader(stream))


def test_measured_time_is_traced_to_nodes_and_kernels(residual: str) -> None:
    m = measure(residual, dims={"batch": 2}, protocol=QUICK)
    assert m.attribution.share >= 0.98
    assert m.report.env["batch"] == 2
    assert not m.attribution.lost
    fused = next(c for c in m.rows if "add" in c.part.nodes)
    assert {"conv_b", "bn_b", "add", "relu_b"} <= set(fused.part.nodes)
    assert len(fused.bounds) == 1
    assert m.peak_rss_bytes > m.base_rss_bytes > 0
    assert m.total_s > m.floor_s > 0
    assert any("random" in n for n in m.notes)


def test_weights_that_are_missing_are_sane_numbers(residual: str, tmp_path: Path) -> None:
    made = runnable(residual, tmp_path)
    model = onnx.load(made.path)
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    assert made.is_random
    assert stored["wa"].std() == pytest.approx((16 * 9) ** -0.5, rel=0.1)
    assert (stored["va"] > 0).all()
    assert all(np.isfinite(a).all() for a in stored.values())
    again = runnable(residual, tmp_path)
    assert (again.path.parent / "weights.bin").read_bytes() == (
        tmp_path / "weights.bin"
    ).read_bytes()


def test_a_whole_model_is_used_where_it_is(tmp_path: Path) -> None:
    node = onnx.helper.make_node("Relu", ["x"], ["y"], name="r")
    info = [onnx.helper.make_tensor_value_info(n, 1, [2]) for n in "xy"]
    graph = onnx.helper.make_graph([node], "g", info[:1], info[1:])
    path = tmp_path / "whole.onnx"
    onnx.save(onnx.helper.make_model(graph), path)
    made = runnable(path, tmp_path)
    assert made.path == path.resolve()
    assert not made.is_random


def test_external_files_outside_the_folder_are_never_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret.bin"
    secret.write_bytes(b"\x01" * 4096)
    inside = tmp_path / "inside"
    inside.mkdir()
    tensor = onnx.TensorProto(name="w", dims=[1024], data_type=1, data_location=1)
    tensor.external_data.add(key="location", value="../secret.bin")
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"], name="a")
    info = [onnx.helper.make_tensor_value_info(n, 1, [1024]) for n in "xy"]
    graph = onnx.helper.make_graph([node], "g", info[:1], info[1:], [tensor])
    onnx.save(onnx.helper.make_model(graph), inside / "m.onnx")
    assert runnable(inside / "m.onnx", tmp_path).is_random


def test_ids_stay_below_the_vocabulary_and_masks_are_ones(embedding: str) -> None:
    module = typed(embedding, {"batch": 3, "seq": 50})
    inputs = inputs_of(module, module.defaults())
    assert {i.name: i.limit for i in inputs} == {"ids": 40, "mask": None}
    made = contents(inputs, 0)
    assert made["ids"].shape == (3, 50)
    assert 0 <= made["ids"].min() <= made["ids"].max() < 40
    assert (made["mask"] == 1).all()
    assert measure(embedding, protocol=QUICK).attribution.share >= 0.98


def test_one_process_measures_several_bindings(residual: str, tmp_path: Path) -> None:
    from perfc.measuring.measure.session import measure_cases

    bindings = [{"batch": 1}, {"batch": 3}]
    result = measure_cases(residual, "", bindings, QUICK)
    assert [m.report.env["batch"] for m in result] == [1, 3]
    assert all(m.attribution.share >= 0.98 for m in result)
    assert all(c.bounds for c in result[1].rows)


def test_a_model_that_takes_too_long_is_killed(residual: str) -> None:
    slow = MeasurementProtocol(threads=1, repeat=100_000, min_time_s=50, max_time_s=60, limit_s=1)
    with pytest.raises(PassError, match="took longer than 1 s"):
        measure(residual, protocol=slow)


def test_a_runtime_that_fails_gives_its_last_line(tmp_path: Path) -> None:
    node = onnx.helper.make_node("NoSuchOperator", ["x"], ["y"], domain="nobody")
    info = [onnx.helper.make_tensor_value_info(n, 1, [2]) for n in "xy"]
    graph = onnx.helper.make_graph([node], "g", info[:1], info[1:])
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("nobody", 1)]
    path = tmp_path / "odd.onnx"
    onnx.save(onnx.helper.make_model(graph, ir_version=9, opset_imports=opsets), path)
    with pytest.raises(PassError, match=r"cannot run the model: .*NoSuchOperator"):
        measure(str(path), protocol=QUICK)


def test_missing_runtime_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'onnxruntime>="):
        process.check_installed(Framework.ORT)


def test_command_prints_and_appends_rows(residual: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv.gz"
    args = (residual, "--threads", "1", "--repeat", "3", "--min-time", "0", "--append", str(rows))
    done = invoke(*args, "--output-format", "json")
    content = json.loads(done.output)
    assert content["attributed"] >= 0.98
    assert content["schema"] == "perfc-measure/1"
    assert {"floor_s", "prediction_s", "time_s", "residual_s", "badge"} <= content.keys()
    assert {"floor_s", "prediction_s", "time_s", "residual_s", "badge"} <= (
        content["kernels"][0].keys()
    )
    first = records(rows)
    assert invoke(*args).output.startswith("perfc: measured ")
    both = records(rows)
    assert len(both) == 2 * len(first) > 0
    runs = records(tmp_path / "rows-models.csv.gz")
    assert [(r["table"], r["precision"]) for r in runs] == 2 * [("ort-cpu-blocked", "")]


@pytest.mark.parametrize(("shares", "is_noted"), [((0.0, 0.9), True), ((0.0, 0.0), False)])
def test_load_of_other_programs_is_noted(
    shares: tuple[float, float], is_noted: bool, residual: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = iter(shares)
    monkeypatch.setattr("perfc.kernels.backends.host.Others.share", lambda self: next(watched))
    text = invoke(residual, *SHORT).output
    assert ("other programs used " in " ".join(text.split())) is is_noted


def test_runs_of_an_earlier_table_are_added_to(residual: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    invoke(residual, *SHORT, "--append", str(rows))
    models = tmp_path / "rows-models.csv"
    lines = models.read_text().splitlines()
    models.write_text("".join(line.rpartition(",")[0].rpartition(",")[0] + "\n" for line in lines))
    assert models.read_text().splitlines()[0].endswith(",date")
    invoke(residual, *SHORT, "--append", str(rows))
    head, earlier, later = models.read_text().splitlines()
    assert head.endswith(",date,table,precision")
    assert earlier.endswith(",,")
    assert later.endswith(",ort-cpu-blocked,")


SHORT = ("--threads", "1", "--repeat", "3", "--min-time", "0")


def test_without_any_target_nothing_is_compared_and_the_reader_is_told(
    residual: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFC_HOST", "no/such.toml")
    text = invoke(residual, *SHORT).output
    assert "perfc calibrate -o my.toml" in text
    for word in ("lower bound ", "predicted", "residual  ", "generic", "badge"):
        assert word not in text
    content = json.loads(invoke(residual, *SHORT, "--output-format", "json").stdout)
    for entry in (content, content["kernels"][0]):
        assert entry["floor_s"] is entry["prediction_s"] is entry["residual_s"] is None
        assert entry["time_s"] > 0
    assert content["target"] is None
    assert any("perfc calibrate" in note for note in content["notes"])
    rows = invoke(residual, *SHORT, "--output-format", "csv")
    assert "perfc calibrate" in rows.stderr
    assert "perfc calibrate" not in rows.stdout


def test_a_machine_that_nobody_built_is_called_so(residual: str) -> None:
    text = " ".join(invoke(residual, *SHORT, "--target", "cpu").output.split())
    assert "predicted" in text
    assert "the lower bound is of generic-x86-64/1t, which is hypothetical" in text


def test_predictions_are_those_of_the_analysis(residual: str) -> None:
    result = measure(residual, "generic-x86-64", protocol=QUICK)
    whole = analyze(residual, "generic-x86-64", runtime="ort-cpu-blocked").prediction
    assert result.prediction_s == whole.total.time_s
    for row in result.rows:
        times = [whole.kernels[i].time_s for i in row.part.kernels]
        assert row.prediction_s == pytest.approx(sum(times))


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("--threads", "many"), "neither a number of threads nor 'all'"),
        (("--device", "tpu"), "no device 'tpu'"),
        (("--append", "rows.txt"), "written as .csv"),
        (("--append", "/nowhere/rows.csv"), "no such folder"),
        (("--profile", "a", "--profile", "b", "--profile", "c"), "3 files"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    residual: str, args: tuple[str, ...], text: str
) -> None:
    with pytest.raises(ParseError, match=text):
        invoke(residual, *args)


def test_kernel_faster_than_its_floor_is_always_shown(residual: str) -> None:
    from dataclasses import replace

    from perfc.measuring.measure.matching.compare import FASTER
    from perfc.view.result import content

    m = measure(residual, "cpu", protocol=QUICK)
    last = replace(m.rows[-1], part=replace(m.rows[-1].part, time_s=1e-12, iqr_s=0.0))
    m = replace(m, rows=(*m.rows[:-1], last))
    assert last.badge == FASTER
    assert FASTER in str(content(m, "text", 200, 1))
    assert m.to_dict()["kernels"][-1]["badge"] == FASTER


def test_analysis_at_the_same_values_is_what_is_compared(residual: str) -> None:
    m = measure(residual, dims={"batch": 3}, protocol=QUICK)
    again = analyze(residual, "generic-x86-64", dims={"batch": 3}, runtime="ort-cpu-blocked")
    assert m.floor_s == again.roofline.floor_s


NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, width, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(width)
        self.head = torch.nn.Linear(width, 4)

    def forward(self, x):
        x = self.norm(self.stem(x)).relu()
        return self.head(x.mean((2, 3)) + torch.arange(x.shape[1]))
"""


def test_a_module_by_name_is_run_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(NET)
    args = ("net.py:Net", "--input", "2x3x16x16", "--kwargs", '{"width": 6}', "--runtime", "eager")
    brief = ("--threads", "1", "--repeat", "3", "--min-time", "0")
    content = json.loads(invoke(*args, *brief, "--output-format", "json").output)
    assert (content["model"], content["lost"], content["attributed"]) == ("net.py:Net", [], 1.0)
    ran = {k["nodes"][0]: [r["op"] for r in k["runtime"]] for k in content["kernels"]}
    assert ran["stem/conv2d"] == ["conv2d"]
    assert ran["norm/batch_norm"] == ["batch_norm"]
    assert ran["head/linear"] == ["linear"]
    assert "with these weights results are not finite" not in content["notes"]
    with pytest.raises(ParseError, match=r"^net\.py:Net: PyTorch alone runs a module \(--runtime"):
        invoke(*args[:-2])
