"""Device memory of a run: parts by hand, what is divided, what a device holds."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import perfc
from perfc import cli
from perfc.api import Report

MODELS = Path(__file__).parents[3] / "examples" / "models"
RESNET = str(MODELS / "resnet50.onnx.gz")
B, A, H, Y = 64, 256, 512, 32
PARAMETERS = 4 * (A * H + H + H * Y + Y)


@pytest.fixture
def mlp(tmp_path: Path) -> str:
    """x[b, A] -> Gemm -> Relu -> Gemm."""
    rng = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> TensorProto:
        return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)

    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], transB=1),
            helper.make_node("Relu", ["h"], ["r"]),
            helper.make_node("Gemm", ["r", "w2", "b2"], ["y"], transB=1),
        ],
        "mlp",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", A])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", Y])],
        [weight("w1", H, A), weight("b1", H), weight("w2", Y, H), weight("b2", Y)],
    )
    path = tmp_path / "mlp.onnx"
    opsets = [helper.make_opsetid("", 20)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return str(path)


def trained(model: str, **how: object) -> Report:
    usual = {"runtime": "eager", "train": "adamw", "loss": "mean", "batch": B}
    return perfc.analyze(model, "a100", **{**usual, **how})  # type: ignore[arg-type]


def memory_of(report: Report) -> Any:
    return report.views.memory.device


def parts_of(report: Report) -> dict[str, int]:
    return {p.name: p.nbytes for p in memory_of(report).parts}


def test_a_step_holds_what_pytorch_would(mlp: str) -> None:
    report = trained(mlp)
    found, parts = memory_of(report), parts_of(report)
    assert parts["parameters"] == pytest.approx(PARAMETERS, abs=64)
    assert parts["optimizer"] == 2 * PARAMETERS
    assert parts["gradients"] == PARAMETERS, "gradients stay until the next step"
    assert parts["inputs"] == 4 * B * A, "the input is the caller's"
    assert parts["activations"] == PARAMETERS, "the list of temporaries of foreach"
    assert found.peak_phase == "optimizer"
    assert parts["workspace"] == 8519680
    assert sum(parts.values()) == found.total_bytes == found.reserved_bytes + parts["context"]
    assert found.live_bytes <= found.total_bytes - parts["context"] - parts["allocator"]
    assert found.allocator == "PyTorch's caching allocator"
    assert [p.phase for p in found.phases] == ["forward", "loss", "backward", "optimizer"]
    assert max(p.peak_bytes for p in found.phases) == found.live_bytes == max(found.line_bytes)
    assert found.fits
    # before the loss: parameters, states and the input, the result of ReLU, and the output
    last = found.line_bytes[found.phases[0].kernels - 1]
    forward = 3 * PARAMETERS + 4 * (B * A + B * H + B * Y)
    assert last - forward - parts["workspace"] == pytest.approx(0, abs=4 * B * H)


def test_gradients_of_transposed_matrices_stay_too(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.ones((Y, A), np.float32), "w")
    graph = helper.make_graph(
        [
            helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]),
            helper.make_node("MatMul", ["x", "t"], ["y"]),
        ],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", A])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", Y])],
        [weight],
    )
    path = tmp_path / "linear.onnx"
    opsets = [helper.make_opsetid("", 20)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    assert parts_of(trained(str(path)))["gradients"] == 4 * A * Y


def test_a_fused_update_has_no_temporaries_and_sgd_no_states(mlp: str) -> None:
    usual, fused = trained(mlp), trained(mlp, update="fused")
    assert memory_of(fused).live_bytes < memory_of(usual).live_bytes
    assert parts_of(fused).get("activations", 0) < PARAMETERS
    assert "optimizer" not in parts_of(trained(mlp, train="sgd"))


@pytest.mark.parametrize(("runtime", "has_more"), [("ort", True), ("eager", False)])
def test_a_processor_has_a_context_too(mlp: str, runtime: str, has_more: bool) -> None:
    report = perfc.analyze(mlp, "cpu", batch=4, runtime=runtime)
    parts = parts_of(report)
    assert sum(parts.values()) == memory_of(report).total_bytes
    assert parts["context"] > 0
    assert ("allocator" in parts) >= has_more


def test_the_curve_of_checkpointing_goes_from_nothing_kept_to_nothing_again(mlp: str) -> None:
    assert memory_of(trained(mlp, checkpointing="none")).checkpoints == ()
    curve = memory_of(trained(mlp, checkpointing="optimal")).checkpoints
    assert curve == memory_of(trained(mlp, checkpointing="optimal", keep=0.9)).checkpoints
    assert len(curve) >= 2
    assert curve[-1].keep == 1.0
    assert curve[-1].again_s == curve[-1].again_bytes == 0
    for less, more in pairwise(curve):
        assert less.kept_bytes < more.kept_bytes
        assert less.again_bytes > more.again_bytes
        assert less.again_s == pytest.approx(less.again_bytes / 2039e9, rel=0.1)


@pytest.mark.parametrize("form", ["text", "html", "markdown"])
def test_the_curve_is_in_every_form(mlp: str, form: str, tmp_path: Path) -> None:
    out = tmp_path / "report"
    call = ["analyze", mlp, "-t", "a100", "--runtime", "eager", "--train", "sgd", "--batch", "8"]
    call += ["--checkpointing", "optimal", "--view", "memory", "-o", str(out)]
    assert cli.run([*call, "--output-format", form]) == 0
    assert ("recomputation time, from" in " ".join(out.read_text().split())) is True


def fitted(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    call = ["fit", RESNET, "-t", "t4", "--train", "adamw", "--runtime", "eager", "--no-predict"]
    cli.run([*call, *words, "--output-format", "json"])
    return json.loads(capsys.readouterr().out)


def test_what_is_divided_leaves_room(capsys: pytest.CaptureFixture[str]) -> None:
    found = fitted(capsys, "--batch", "8", "--gpus", "8")
    by_title = {c["title"]: c for c in found["choices"]}
    memory = {title: c["memory"] for title, c in by_title.items()}
    parts = {t: {p["name"]: p["nbytes"] for p in m["parts"]} for t, m in memory.items()}
    states = [parts[title]["optimizer"] for title in ("as given", "ZeRO 1")]
    assert states[1] == pytest.approx(states[0] / 8, rel=0.01)
    live = [memory[title]["live_bytes"] for title in ("ZeRO 2", "ZeRO 1", "as given")]
    assert live == sorted(live)
    assert by_title["ZeRO 3"]["time_s"] >= by_title["as given"]["time_s"]
    assert parts["--dtype amp-f16"]["saved"] < 0.7 * parts["as given"]["saved"]
    assert found["fits"]
    largest = by_title["as given"]["largest"]
    # the largest batch is the last that the device holds
    for batch, fits in ((largest, True), (largest + 1, False)):
        how = {"train": "adamw", "runtime": "eager", "batch": batch}
        assert memory_of(perfc.analyze(RESNET, "t4", **how)).fits is fits  # type: ignore[arg-type]


def test_the_command_exits_with_one_where_it_does_not_fit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ["fit", RESNET, "-t", "t4", "--train", "adamw", "--runtime", "eager", "--no-predict"]
    assert cli.run([*call, "--batch", "4096", "--gpus", "1"]) == 1
    out = capsys.readouterr().out
    assert "does not fit" in out
    assert "ZeRO" not in out, "one GPU divides nothing"
    assert cli.run([*call, "--batch", "auto", "--gpus", "1"]) == 0
    assert "is the largest that fits" in capsys.readouterr().out


def test_wrong_input_is_one_line(
    tmp_path: Path, mlp: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, expected in (
        (["fit", mlp, "--batch", "many"], "is no size"),
        (["analyze", mlp, "--batch", "auto"], "is no size"),
        (["fit", mlp, "--gpus", "0"], "gpus"),
    ):
        assert cli.run(words) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert expected in err


def test_a_footprint_is_of_its_runtime_sizes_and_capacity() -> None:
    """Results of one replay serve all machines with room for it."""
    base = perfc.analyze(RESNET, "a100", runtime="eager", batch=8)
    others = [
        (base.with_(runtime="inductor"), "a100", {"runtime": "inductor", "batch": 8}),
        (base.at(batch=16), "a100", {"runtime": "eager", "batch": 16}),
        (base.on("t4"), "t4", {"runtime": "eager", "batch": 8}),
        (base.on("jetson-nano-2gb"), "jetson-nano-2gb", {"runtime": "eager", "batch": 8}),
    ]
    for report, target, how in others:
        alone = perfc.analyze(RESNET, target, **how)  # type: ignore[arg-type]
        assert memory_of(report) == memory_of(alone)
    reserved = {memory_of(report).reserved_bytes for report, *_ in others[:2]}
    assert len({memory_of(base).reserved_bytes, *reserved}) >= 2
