"""Device memory of a run: parts by hand, what is divided, what a device holds."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import perfc
from perfc import cli
from perfc.api import Report
from perfc.ir.graph import Phase
from perfc.machine import CONTEXT_BYTES
from perfc.passes.memory.allocators.cuda_caching import CudaCaching
from perfc.passes.memory.storage import BufferRole, Storages
from perfc.study.fit import Way, fitted
from perfc.view.report.formats.document import Bars
from perfc.view.report.memory_sections.device_memory import DeviceMemory
from perfc.view.report.memory_sections.footprint import CUBLAS_BYTES, footprint, holds, table_of
from perfc.view.report.memory_sections.recompute import curve_parts
from perfc.view.report.units import Unit, quantity

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


def test_a_step_holds_what_pytorch_would(mlp: str) -> None:
    report = trained(mlp)
    table = table_of(report)
    last = max(i for i, p in enumerate(table.phases) if p is Phase.OPTIMIZER)
    at_end = table.live_at(report.env, last)
    assert at_end[BufferRole.PARAMETER] == pytest.approx(PARAMETERS, abs=64)
    assert at_end[BufferRole.STATE] == 2 * PARAMETERS
    assert at_end[BufferRole.GRADIENT] == PARAMETERS, "gradients stay until the next step"
    forward = [i for i, p in enumerate(table.phases) if p is Phase.FORWARD][-1]
    saved = table.live_at(report.env, forward).get(BufferRole.SAVED, 0)
    assert saved == 4 * B * H, "the result of ReLU alone: the input is the caller's"
    assert table.live_at(report.env, forward)[BufferRole.INPUT] == 4 * B * A
    found = footprint(report)
    assert found.parts[BufferRole.ACTIVATION] == PARAMETERS, "the list of temporaries of foreach"
    assert found.peak_phase is Phase.OPTIMIZER
    assert found.parts[BufferRole.WORKSPACE] == CUBLAS_BYTES
    assert found.total_bytes == found.reserved_bytes + CONTEXT_BYTES
    assert found.reserved_bytes % (2 << 20) == 0 or found.reserved_bytes > 0
    assert found.live_bytes <= found.allocated_bytes <= found.reserved_bytes
    assert found.allocator == CudaCaching.title


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
    report = trained(str(path))
    table = table_of(report)
    last = max(i for i, p in enumerate(table.phases) if p is Phase.OPTIMIZER)
    assert table.live_at(report.env, last)[BufferRole.GRADIENT] == 4 * A * Y


def test_a_fused_update_has_no_temporaries(mlp: str) -> None:
    usual, fused = footprint(trained(mlp)), footprint(trained(mlp, update="fused"))
    assert fused.live_bytes < usual.live_bytes
    assert (
        BufferRole.ACTIVATION not in fused.parts or fused.parts[BufferRole.ACTIVATION] < PARAMETERS
    )


def test_sgd_keeps_no_states(mlp: str) -> None:
    assert BufferRole.STATE not in footprint(trained(mlp, train="sgd")).parts


def test_views_take_no_buffer_and_kernels_hide_what_stays_inside() -> None:
    report = perfc.analyze(RESNET, "a100", runtime="ort", batch=2)
    table = report.analyses.get(Storages(report.deployment.table_name), report.module)
    inside = {v for k in report.kernels.kernels for n in k.nodes for v in n.results}
    inside -= {v for k in report.kernels.kernels for v in k.writes}
    assert inside, "the runtime merges ReLU"
    assert not {b.value for b in table.buffers} & inside


def test_events_give_back_what_they_take(mlp: str) -> None:
    report = trained(mlp)
    table = table_of(report)
    alive: dict[int, int] = {}
    last = -1
    for step, key, nbytes in table.events(report.env):
        assert step >= last
        last = step
        if nbytes < 0:
            assert alive.pop(key) == -nbytes
        elif nbytes:
            assert key not in alive
            alive[key] = nbytes
    stay = {i for i, b in enumerate(table.buffers) if b.dies >= len(table.steps)}
    assert set(alive) <= stay


def test_the_device_view_adds_up(mlp: str) -> None:
    view = DeviceMemory.of(trained(mlp))
    assert sum(p.nbytes for p in view.parts) == view.total_bytes
    assert [p.phase for p in view.phases] == ["forward", "loss", "backward", "optimizer"]
    assert max(p.peak_bytes for p in view.phases) == view.live_bytes == max(view.line_bytes)
    assert view.fits
    processor = DeviceMemory.of(perfc.analyze(mlp, "cpu", batch=4))
    assert sum(p.nbytes for p in processor.parts) == processor.total_bytes
    eager = DeviceMemory.of(perfc.analyze(mlp, "cpu", batch=4, runtime="eager"))
    assert {"context", "allocator"} <= {p.name for p in processor.parts}
    assert "context" in {p.name for p in eager.parts}


def test_the_curve_of_checkpointing_goes_from_nothing_kept_to_nothing_again(mlp: str) -> None:
    assert DeviceMemory.of(trained(mlp, checkpointing="none")).checkpoints == ()
    curve = DeviceMemory.of(trained(mlp, checkpointing="optimal")).checkpoints
    assert curve == DeviceMemory.of(trained(mlp, checkpointing="optimal", keep=0.9)).checkpoints
    assert len(curve) >= 2
    assert curve[-1].keep == 1.0
    assert curve[-1].again_s == curve[-1].again_bytes == 0
    for less, more in pairwise(curve):
        assert less.kept_bytes < more.kept_bytes
        assert less.again_bytes > more.again_bytes
        assert less.again_s == pytest.approx(less.again_bytes / 2039e9, rel=0.1)
    shown = [p for p in curve_parts(curve) if isinstance(p, Bars)]
    assert [p.values for p in shown] == [tuple(c.again_s for c in curve)]
    assert shown[0].labels == tuple(f"{quantity(c.kept_bytes, Unit.BYTE)} kept" for c in curve)


@pytest.mark.parametrize("form", ["text", "html", "markdown"])
def test_the_curve_is_in_every_form(mlp: str, form: str, tmp_path: Path) -> None:
    out = tmp_path / "report"
    call = ["analyze", mlp, "-t", "a100", "--runtime", "eager", "--train", "sgd", "--batch", "8"]
    call += ["--checkpointing", "optimal", "--view", "memory", "-o", str(out)]
    assert cli.run([*call, "--output-format", form]) == 0
    assert ("recomputation time, from" in " ".join(out.read_text().split())) is True


def test_the_largest_batch_is_the_last_that_the_device_holds() -> None:
    report = perfc.analyze(RESNET, "t4", runtime="eager", train="adamw")
    way = Way("as given", report)
    largest = way.largest()
    assert holds(report, way.env(largest))
    assert not holds(report, way.env(largest + 1))
    assert way.footprint(largest).fits
    assert not way.footprint(2 * largest).fits


def test_what_is_divided_leaves_room() -> None:
    report = perfc.analyze(RESNET, "t4", runtime="eager", train="adamw", batch=8)
    found = fitted(report, is_auto=False, gpus=8, predict=False)
    by_title = {c.title: c for c in found.choices}
    states = [by_title[t].footprint.parts.get(BufferRole.STATE, 0) for t in ("as given", "ZeRO 1")]
    assert states[1] == pytest.approx(states[0] / 8, rel=0.01)
    totals = [by_title[f"ZeRO {s}"].footprint.live_bytes for s in (1, 2)]
    assert totals[1] <= totals[0] <= by_title["as given"].footprint.live_bytes
    asked = by_title["as given"]
    assert by_title["ZeRO 3"].time_s.mid >= asked.time_s.mid
    half = by_title["--dtype amp-f16"]
    assert half.footprint.parts[BufferRole.SAVED] < 0.7 * asked.footprint.parts[BufferRole.SAVED]
    assert found.fits


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
        base.with_(runtime="inductor"),
        base.at(batch=16),
        base.on("t4"),
        base.with_("jetson-nano-2gb", dims={"batch": 64}),
    ]
    for report in (base, *others):
        assert footprint(report) == footprint(report, table=table_of(report))
    assert len({footprint(one).reserved for one in (base, *others[:2])}) == 3
