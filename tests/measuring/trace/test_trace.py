"""Traces without a model: time, gaps, classes, floors of every format."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from perfc import cli
from perfc.errors import ParseError
from perfc.machine import load_machine
from perfc.measuring.trace.classes import TracedClass
from perfc.measuring.trace.formats import read_trace
from perfc.measuring.trace.summary import TraceSummary, summarized
from perfc.study.single_kernel import op
from tests.laws.networks import printed
from tests.measuring.trace import samples

from .trace_files import files, written

GOLDEN = Path(__file__).parents[2] / "golden" / "trace"


def summary(tmp_path: Path, trace: object) -> TraceSummary:
    return summarized(read_trace(written(tmp_path, trace)))


@pytest.mark.parametrize(("name", "steps"), [("old", samples.STEPS), ("new", samples.faster())])
def test_the_golden_traces_are_the_samples(name: str, steps: list[samples.Step]) -> None:
    text = (GOLDEN / f"{name}.json").read_text(encoding="utf-8")
    assert text == samples.text_of(samples.kineto(steps))


def test_busy_idle_and_launch_bound_time_are_those_of_the_time_line(tmp_path: Path) -> None:
    (device,) = summary(tmp_path, samples.kineto()).devices
    # kernels at 20–250.5, 260–320.25, 320.25–551.25, 700–703 and 703–800 µs; each launched 5 µs
    # before it begins
    assert device.span_ns == 780_000
    assert device.busy_ns == device.kernel_ns == 621_750
    assert device.late_ns == (255_000 - 250_500) + (695_000 - 551_250)
    assert device.pending_ns == 5_000 + 5_000
    assert device.exposed_ns == 97_000
    assert device.target == "h100-sxm5-80gb"


def test_overlapping_kernels_are_busy_once(tmp_path: Path) -> None:
    first, *_ = samples.STEPS
    (device,) = summary(tmp_path, samples.kineto([first, (*first[:5], 30.0, 10.0)])).devices
    assert (device.busy_ns, device.kernel_ns) == (230_500, 240_500)


def test_the_floor_of_an_operator_is_that_of_the_same_kernel_of_perfc_op(tmp_path: Path) -> None:
    made = summary(tmp_path, samples.kineto())
    product = made.kernels[0]
    report = op("matmul", "h100", m=4096, n=4096, k=4096, dtype="bf16")
    assert product.floor is not None
    assert product.launches == product.executions == 2
    floor_s = max(k.floor_s for k in report.roofline.kernels)
    assert product.floor.floor_s == pytest.approx(floor_s)
    assert product.floor.flop == 2 * 4096**3
    assert product.floor.nbytes == 3 * 2 * 4096**2
    assert product.floor.limit == "matrix units"
    norm = next(k for k in made.kernels if k.class_name is TracedClass.NORMALIZATION)
    assert norm.floor is not None
    assert norm.floor.nbytes == 2 * 2 * 4096**2 + 2 * 2 * 4096
    copy = next(k for k in made.kernels if k.class_name is TracedClass.COPY)
    assert copy.floor is not None
    assert (copy.floor.nbytes, copy.floor.limit) == (4096, "host link")


def test_a_report_has_nothing_but_kernels_operators_shapes_and_devices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, path in files(tmp_path).items():
        assert samples.SECRET.encode() in path.read_bytes()
        trace = read_trace(path)
        assert samples.SECRET not in repr(trace), name
        for form in ("text", "json", "csv", "markdown"):
            assert cli.run(["trace", str(path), "--top", "all", "--output-format", form]) == 0
            assert samples.SECRET not in capsys.readouterr().out


def test_one_model_and_one_trace_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, samples.kineto())
    other = tmp_path / "config.json"
    other.write_text('{"model_type": "llama"}')
    assert cli.run(["diff", path, str(other)]) == 2
    assert "not a trace" in capsys.readouterr().err


def test_outermost_operators_of_a_cpu_are_its_kernels(tmp_path: Path) -> None:
    trace = samples.kineto()
    on_host = [e for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]
    inner = {**on_host[1], "ts": on_host[1]["ts"] + 1, "dur": 2.0, "name": "aten::resize_"}
    made = summary(tmp_path, {**trace, "traceEvents": [*on_host, inner]})
    assert {k.kernel: (k.launches, k.time_ns) for k in made.kernels} == {
        "aten::mm": (2, 28_000),
        "aten::native_layer_norm": (1, 14_000),
        "aten::copy_": (1, 14_000),
    }


def test_processes_of_rocprof_have_separate_names_and_devices(tmp_path: Path) -> None:
    made = summary(tmp_path, samples.rocprof())
    assert made.target is not None
    assert made.target.name == "mi350x"
    assert [(d.launches, d.kernel_ns, d.late_ns) for d in made.devices] == [
        (5, 170_000, 3 * 7_000),
        (5, 170_000, 3 * 7_000),
    ]
    assert {c.name: c.time_ns for c in made.classes} == {
        TracedClass.MATMUL: 160_000,
        TracedClass.COPY: 180_000,
    }


def test_kernels_of_jax_are_counted_once_with_their_path_and_shape(tmp_path: Path) -> None:
    made = summary(tmp_path, samples.xplane())
    (device,) = made.devices
    assert (device.key, device.launches, device.kernel_ns) == ("/device:GPU:0", 2, 45_000)
    assert (device.late_ns, device.pending_ns) == (5_000, 5_000)
    call = made.kernels[0].call
    assert call is not None
    assert (call.operator, call.shapes) == ("jit(step)/layer/dot_general", "16×1024")


def test_nodes_of_onnxruntime_have_floors_and_no_time_of_their_branches(tmp_path: Path) -> None:
    made = summarized(read_trace(written(tmp_path, samples.ort())), load_machine("a100"))
    times = {k.kernel: k.time_ns for k in made.kernels}
    assert times == {"Conv": 500_000, "Add": 30_000, "If": 20_000, "Gemm": 20_000}
    flop = {k.kernel: k.floor.flop for k in made.bounded if k.floor}
    assert flop["Conv"] == 2 * 64 * 112 * 112 * 3 * 49 + 64 * 112 * 112
    assert flop["Gemm"] == 2 * 8 * 64 * 32 + 8 * 32
    assert flop["Add"] == 64 * 64


@pytest.mark.parametrize(
    ("operator", "inputs", "made", "flop", "nbytes"),
    [
        ("MatMul", [[512, 256]], [512, 128], 2 * 512 * 256 * 128, 4 * (131072 + 32768 + 65536)),
        ("MatMul", [[8, 64, 256]], [8, 64, 128], 2 * 512 * 256 * 128, None),
        ("MatMul", [[256]], [128], 2 * 256 * 128, None),
        ("MatMul", [[512, 256], [256]], [512], 2 * 512 * 256, None),
        ("MatMul", [[64, 256], [8, 256, 128]], [8, 64, 128], 2 * 512 * 256 * 128, None),
        ("FusedMatMul", [[512, 256]], [256, 128], 2 * 512 * 256 * 128, None),
        (
            "Gemm",
            [[512, 256], [128]],
            [512, 128],
            2 * 512 * 256 * 128 + 512 * 128,
            4 * (131072 + 32768 + 65536 + 128),
        ),
        ("FusedGemm", [[512, 256], [128]], [512, 128], 2 * 512 * 256 * 128 + 512 * 128, None),
        ("Gemm", [[512, 256], [128, 256]], [512, 128], 2 * 512 * 256 * 128, None),
        ("MatMulNBits", [[512, 256], [1024]], [512, 128], None, None),
        ("Attention", [[2, 64, 128], [384]], [2, 64, 128], None, None),
        ("ConvTranspose", [[1, 32, 14, 14]], [1, 16, 28, 28], None, None),
    ],
)
def test_products_of_onnxruntime_with_packed_weights_have_their_work_or_none(
    tmp_path: Path,
    operator: str,
    inputs: list[list[int]],
    made: list[int],
    flop: float | None,
    nbytes: float | None,
) -> None:
    args = {
        "op_name": operator,
        "input_type_shape": [{"float": x} for x in inputs],
        "output_type_shape": [{"float": made}],
    }
    node = {"cat": "Node", "ph": "X", "name": "a_kernel_time", "ts": 9, "dur": 9000, "args": args}
    trace = read_trace(written(tmp_path, [samples.ort()[0], node]))
    (kernel,) = summarized(trace, load_machine("a100")).kernels
    assert (kernel.floor.flop if kernel.floor else None) == flop
    assert nbytes is None or (kernel.floor is not None and kernel.floor.nbytes == nbytes)


def test_kernels_of_onnxruntime_have_the_operator_of_their_node(tmp_path: Path) -> None:
    kernel = {
        "cat": "Kernel",
        "ph": "X",
        "name": "sgemm",
        "ts": 25,
        "dur": 30,
        "pid": 1,
        "args": {"stream": "1", "parent_name": f"conv {samples.SECRET}_kernel_time"},
    }
    trace = read_trace(written(tmp_path, [*samples.ort(), kernel]))
    (row,) = summarized(trace, load_machine("a100")).kernels
    assert (trace.source.value, row.kernel, row.operator) == ("onnxruntime", "sgemm", "Conv")


def test_layers_of_tensorrt_have_operators_from_the_inspector(tmp_path: Path) -> None:
    layers = written(tmp_path, samples.layers(), "layers.json")
    path = written(tmp_path, samples.tensorrt())
    trace = read_trace(path, layers)
    made = summarized(trace)
    assert (trace.runs, made.kernel_ns, made.devices[0].span_ns) == (1000, 600_000, 0)
    (call,) = [k.call for k in made.kernels if k.call]
    assert (call.operator, call.shapes, samples.SECRET in repr(trace)) == (
        "MatrixMultiply",
        "1×512",
        False,
    )
    with pytest.raises(ParseError, match="without times"):
        read_trace(layers)


def test_inferences_of_trtexec_wait_for_the_host(tmp_path: Path) -> None:
    (device,) = summary(tmp_path, samples.times()).devices
    assert device.late_ns + device.unknown_ns + device.pending_ns == device.span_ns - device.busy_ns
    assert device.busy_ns == 2 * 1_070_000


def test_an_export_of_nsight_systems_is_read_without_its_views(tmp_path: Path) -> None:
    path = files(tmp_path)["nsys"]
    (device,) = summarized(read_trace(path)).devices
    assert (device.target, device.launches, device.kernel_ns) == ("l4", 5, 250_000)
    assert device.late_ns == 3 * (100_000 - 60_000 - 500)
    assert device.unknown_ns == 500_000 - 361_000
    with closing(sqlite3.connect(path)) as base:
        base.executescript("""
            DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;
            CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS
                (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start AS end,
                0 AS deviceId, 0 AS correlationId, 1 AS demangledName FROM n;
        """)
    assert summarized(read_trace(path)).kernel_ns == 10_000


def test_an_inference_enqueued_late_waited_for_the_host(tmp_path: Path) -> None:
    """The second of two is enqueued 0.9 ms after the end of the first, 0.1 ms before its begin."""
    runs = [(0.0, 0.1), (2.0, 2.1)]
    computed = [
        {"startEnqMs": enqueue, "startComputeMs": start, "endComputeMs": start + 1}
        for enqueue, start in runs
    ]
    (device,) = printed("trace", written(tmp_path, computed), "-t", "h100")["devices"]
    assert device["late_s"] == pytest.approx(0.9e-3)
    assert device["pending_s"] == pytest.approx(0.1e-3)
