"""Whole runs by the weights that come with perfc: in reports, from Python, on the command line."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

import perfc
from perfc import cli
from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.graph.weights import read_card
from perfc.analyzers.runs.run_table import stored_element
from perfc.analyzers.steps.setting import Precision, Setting, precision_of
from perfc.analyzers.whole_runs import shipped
from perfc.commands.analysis.analyze import command as analyze_command
from perfc.errors import PerfcError
from perfc.frontend import load
from perfc.view.report import Format, render

ROOT = Path(__file__).resolve().parents[2]
RESNET = str(ROOT / "examples" / "models" / "resnet50.onnx.gz")
GPT = str(ROOT / "examples" / "models" / "gpt2.onnx.gz")
OURS = "physics-residual"
HOW = ("--runtime", "eager", "--dtype", "amp-f16")
EAGER: dict[str, Any] = {"runtime": "eager", "dtype": "amp-f16"}


def run(command: Any, *arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(command, list(arguments))
    if isinstance(done.exception, PerfcError):
        return 2, str(done.exception)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def whole(target: str = "rtx4090", **more: Any) -> perfc.Report:
    return perfc.analyze(RESNET, target, dims={"batch": 256}, **more)


def test_weights_that_come_with_perfc_are_small_and_name_their_rows() -> None:
    files = [p for p in shipped.FOLDER.parent.rglob("*") if p.is_file()]
    assert sum(p.stat().st_size for p in files) <= 20e6
    for path, card in shipped.cards():
        assert card.rows > 1000
        assert card.runs
        assert card.data
        assert path.with_suffix(".npz").is_file()


def test_a_run_like_those_measured_is_predicted_as_a_whole() -> None:
    result = whole(runtime="eager", dtype="f16")
    table = result.prediction
    total = table.total
    assert total.predictor == OURS
    assert total.floor_s <= total.low_s <= total.time_s <= total.high_s
    assert 0.3 < table.run_factor < 1.7
    # timm: 1,024 images in 238 ms on this GPU, eager, PyTorch 2.9
    assert total.time_s == pytest.approx(0.238 * 256 / 1024, rel=0.1)
    text = " ".join(render(result).split())
    assert "physics-residual predictor, trained on" in text
    views = json.loads(render(result, Format.JSON))
    assert views["prediction"]["predictor"] == OURS
    shares = [k["predicted"]["share"] for k in views["kernels"]]
    assert sum(shares) == pytest.approx(table.kernels_s / total.time_s, abs=1e-6)


@pytest.mark.parametrize(
    ("target", "more"),
    [
        ("rtx4090", {"predictor": "kernels"}),
        ("rtx4090", {"runtime": "inductor-cudagraph"}),
        ("rtx4090", {"runtime": "eager", "dtype": "f16", "predictor": "kernels"}),
    ],
)
def test_other_runs_are_the_sum_of_their_kernels(target: str, more: dict[str, str]) -> None:
    table = whole(target, **more).prediction
    assert table.total.predictor == ""
    assert (table.run_factor, table.timeline) == (1.0, table.total)


def test_eager_runs_on_a_machine_that_nobody_measured_are_left_to_kernels_and_host() -> None:
    table = whole("h100", runtime="eager", dtype="f16").prediction
    assert table.total.predictor != OURS
    (other,) = (run for run in table.others if run.predictor == OURS)
    assert other.withheld == "no measured run of this kind on this machine"


def test_a_predictor_asked_for_says_that_it_extrapolates() -> None:
    near = whole(runtime="eager", dtype="f16").prediction.total
    table = whole("a100", runtime="eager", dtype="f16", predictor=OURS).prediction
    assert any("no measured whole run on a100" in note for note in table.notes)
    assert table.total.high_s / table.total.time_s > near.high_s / near.time_s


def drawn() -> Iterator[tuple[str, dict[str, Any]]]:
    """Files of models and how they are run: every runtime three times, then steps and names."""
    generator = random.Random(20)
    files = sorted((ROOT / "examples" / "models").glob("*.onnx.gz"))
    for runtime in 3 * ("ort", "eager", "tensorrt", "inductor"):
        how = {
            "target": generator.choice(("rtx4090", "rtx3090", "a100", "h100", "t4", "mi300x")),
            "dtype": generator.choice(("", "f32", "f16", "amp-f16", "amp-bf16")),
            "batch": generator.choice((1, 8, 64)),
        }
        yield str(generator.choice(files)), {"runtime": runtime, **how}
    for more in ({"train": "adamw"}, {"predictor": OURS}, {"predictor": "kernels"}):
        yield RESNET, {"target": "a100", "runtime": "eager", "dtype": "f16", **more}


@pytest.mark.parametrize(("path", "how"), [*drawn()])
def test_a_prediction_has_every_digit_of_the_analysis(path: str, how: dict[str, Any]) -> None:
    run, total = perfc.predict(path, **how), perfc.analyze(path, **how).prediction.total
    assert (run.value, run.low, run.high) == (total.time_s, total.low_s, total.high_s)
    assert (run.floor_s, run.predictor) == (total.floor_s, total.predictor)


def test_a_step_without_optimizer_is_one_with_sgd() -> None:
    run = perfc.predict(RESNET, "rtx3090", batch=8, mode="training", dtype="amp-f16")
    assert (
        run.value == perfc.predict(RESNET, "rtx3090", batch=8, train="sgd", dtype="amp-f16").value
    )
    assert run.how == "rtx3090, batch 8, amp f16, eager, training with sgd"


@pytest.mark.parametrize(("batch", "target"), [(8, "rtx4090"), (256, "a100")])
def test_a_run_has_one_time_and_floor_whichever_command_states_it(
    batch: int, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--batch", str(batch), "-t", target, "--output-format", "json"]
    assert cli.run(["analyze", "-q", RESNET, *asked]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert cli.run(["analyze", RESNET, *asked]) == 0
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert whole["floor_s"] == pytest.approx(verdict["floor_s"])
    total = perfc.analyze(RESNET, target, batch=batch).prediction.total
    answer = (whole["low"], whole["value"], whole["high"])
    assert answer == (total.low_s, total.time_s, total.high_s)
    assert whole["floor_s"] <= whole["low"] <= whole["value"] <= whole["high"]


def test_a_training_step_is_no_shorter_than_its_forward_pass() -> None:
    step = perfc.predict(RESNET, "rtx4090", batch=256, mode="training", dtype="amp-f16")
    assert step.floor_s >= perfc.predict(RESNET, "rtx4090", batch=256, **EAGER).floor_s


def test_a_runtime_that_nobody_measured_whole_runs_under_is_refused() -> None:
    with pytest.raises(PerfcError, match="no whole runs under ort were measured"):
        _ = whole(predictor=OURS, runtime="ort").prediction
    assert whole(predictor=OURS).deployment.runtime == "eager", "of runs in PyTorch"
    assert run(analyze_command, RESNET, "-t", "rtx4090", "--predictor", "x")[0] == 2


def test_operators_that_no_graph_had_are_named() -> None:
    result = perfc.predict(GPT, target="rtx4090", dims={"seq": 64}, predictor=OURS, **EAGER)
    assert any("operators absent from" in reason for reason in result.outside)


def test_python_predicts_in_one_call() -> None:
    small, large = (
        perfc.predict(RESNET, "rtx4090", (3, 224, 224), batch=b, **EAGER) for b in (8, 256)
    )
    assert small.quantity is Quantity.TIME
    assert 0 < small.floor_s <= small.low <= small.value <= small.high < large.value
    assert (large.batch, large.precision, large.predictor) == (256, "amp f16", OURS)
    with pytest.raises(PerfcError, match=r"its input is \(3, 224, 224\)"):
        perfc.predict(RESNET, input=(3, 32, 32))
    with pytest.raises(PerfcError, match="no precision 'x'"):
        perfc.predict(RESNET, dtype="x")
    with pytest.raises(PerfcError, match="no weights of 'x'"):
        perfc.predict(RESNET, predictor="x", **EAGER)


def test_a_batch_is_not_negative() -> None:
    with pytest.raises(PerfcError, match="no extent"):
        perfc.predict(RESNET, target="rtx4090", dims={"batch": -4})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("fp16", Precision.F16),
        ("amp", Precision.AMP_F16),
        ("amp_fp16", Precision.AMP_F16),
        ("AMP bfloat16", Precision.AMP_BF16),
        ("float32", Precision.F32),
        ("tf32", Precision.TF32),
    ],
)
def test_precisions_are_known_by_what_frameworks_call_them(name: str, meant: Precision) -> None:
    assert precision_of(name, "precision") is meant


def test_a_pytorch_module_is_predicted() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    layers = (torch.nn.Conv2d(3, 32, 3, 2), torch.nn.ReLU(), torch.nn.Flatten())
    model = torch.nn.Sequential(*layers).train()
    result = perfc.predict(model, "4090", dims={"batch": 64}, input=(3, 64, 64))
    assert result.batch == 64
    assert result.low <= result.value <= result.high
    assert model.training
    with pytest.raises(PerfcError, match="nothing of its input"):
        perfc.predict(model)


def test_a_module_of_tokens_is_predicted_and_left_as_it_was() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    model = torch.nn.Sequential(torch.nn.Embedding(1000, 64), torch.nn.Linear(64, 64))
    model.config = SimpleNamespace(use_cache=True)
    model.train()
    result = perfc.predict(model, "rtx4090", dims={"batch": 4}, input=(128,))
    assert 0 < result.floor_s <= result.low <= result.value <= result.high
    assert model.training
    assert model.config.use_cache


def test_why_a_module_is_not_exported_is_said_plainly() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")

    class Broken(torch.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return x.no_such_method()

    with pytest.raises(PerfcError, match="no_such_method") as raised:
        perfc.predict(Broken(), input=(3,), target="rtx4090")
    assert "\x1b" not in str(raised.value)


def test_the_command_needs_neither_weights_nor_torch() -> None:
    code = (
        "import sys; from perfc import cli\n"
        f"cli.run(['analyze', '-q', {RESNET!r}, '-t', 'rtx4090', '--batch', '8', *{HOW!r}])\n"
        "assert not {'torch', 'xgboost', 'onnx', 'pandas'} & set(sys.modules), sorted(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "ms per run (" in done.stdout


def copy_of_ours(folder: Path, **changed: object) -> Path:
    path = shipped.named(OURS)
    shutil.copy(path.with_suffix(".npz"), folder / path.with_suffix(".npz").name)
    content = json.loads(path.read_text(encoding="utf-8")) | changed
    (folder / path.name).write_text(json.dumps(content), encoding="utf-8")
    return folder / path.name


def test_weights_of_another_schema_are_one_line(tmp_path: Path) -> None:
    meta = read_card(shipped.named(OURS)).meta
    card = copy_of_ours(tmp_path, meta={**meta, "schema": "another"})
    code, text = run(analyze_command, "-q", RESNET, "-t", "rtx4090", *HOW, "--weights", str(card))
    assert code == 2
    assert "read other features" in text
    assert len(text.splitlines()) <= 2


def test_a_card_of_energy_is_no_time(tmp_path: Path) -> None:
    card = copy_of_ours(tmp_path, quantity="energy_j")
    with pytest.raises(PerfcError, match="predicts energy_j, not time"):
        _ = whole(runtime="eager", dtype="f16", predictor=str(card)).prediction


def test_a_larger_graph_than_any_is_said_and_widens(tmp_path: Path) -> None:
    plain = perfc.predict(RESNET, "rtx4090", batch=64, **EAGER)
    card = str(copy_of_ours(tmp_path, most_operators=9))
    result = perfc.predict(RESNET, "rtx4090", batch=64, predictor=card, **EAGER)
    assert any("the largest graph in training 9" in reason for reason in result.outside)
    assert result.value == pytest.approx(plain.value)
    assert result.high > plain.high


def test_a_card_covers_what_its_rows_are_of() -> None:
    card = read_card(shipped.named(OURS))
    assert card.covers("rtx4090", Setting(compiled=True))
    assert not card.covers("rtx3090", Setting(compiled=True))
    assert not card.covers("rtx4090", Setting(Precision.F32))
    # autocast to f16 was measured there, not f16 alone
    assert card.covers("rtx4090", Setting(Precision.F16))
    assert not card.covers("rtx4090", Setting(Precision.BF16))
    assert shipped.newest(None, "rtx3090", Setting()).version == (2, 4)
    assert shipped.covering("a100-sxm4-80gb", Setting()) is None
    assert shipped.known_name("4090") == "rtx4090"


@pytest.mark.parametrize("broken", [{"known": [["a", "b", "c"]]}, {"bands": 3}, {"unit": "x"}])
def test_a_card_that_says_anything_is_one_line(tmp_path: Path, broken: dict[str, object]) -> None:
    meta = read_card(shipped.named(OURS)).meta
    card = copy_of_ours(tmp_path, meta={**meta, **broken})
    with pytest.raises(PerfcError, match=r"another (schema|shape)"):
        perfc.predict(RESNET, "rtx4090", predictor=str(card), **EAGER)


@pytest.mark.parametrize(
    ("weights", "dtype"),
    [
        ("float16[64, 4] a, float[4] b", "f16"),
        ("float[4] a, float16[64, 4] b", "f16"),
        ("float[64, 4] a, float16[4] b, int64[100] c", "f32"),
        ("int64[100] a", ""),
    ],
)
def test_a_model_computes_in_the_type_of_its_largest_tensor_of_floats(
    weights: str, dtype: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.onnxtxt"
    parts = [f'{part} = ["location": "w.bin"]' for part in split_outside(weights)]
    path.write_text(
        f'<ir_version: 10, opset_import: ["" : 21]>\n'
        f"net (float[n] x) => (float[n] y) <{', '.join(parts)}> {{ y = Relu (x) }}"
    )
    assert stored_element(load(path)) == dtype


def split_outside(text: str) -> list[str]:
    """Parts between commas that stand outside of brackets."""
    return re.split(r",\s*(?![^\[]*\])", text)


def test_runs_in_the_other_half_precision_are_named_with_the_one_of_the_run() -> None:
    run = perfc.predict(RESNET, "rtx4090", batch=256, runtime="eager", dtype="amp-bf16")
    assert "amp bf16" in run.how
    assert "amp f16" in run.basis


def test_other_quantities_need_weights() -> None:
    with pytest.raises(PerfcError, match="no weights of 'memory_bytes'"):
        perfc.predict(RESNET, quantity="memory_bytes")


def test_a_card_tells_its_quantity(tmp_path: Path) -> None:
    run = perfc.predict(RESNET, predictor=str(copy_of_ours(tmp_path, quantity="energy_j")), **EAGER)
    assert run.quantity is Quantity.ENERGY
    assert "mJ" in run.answer
