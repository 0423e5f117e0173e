"""Growth of a process: the heap of the C library, places of results, copies of weights."""

from __future__ import annotations

from pathlib import Path

import pytest

import perfc
from perfc.ir import DType, Numbers, TensorType, Value
from perfc.ir.problem import SlidingWindow
from perfc.ir.syntax.parse import parse_module
from perfc.passes.layout.processes import ProcessMemory
from perfc.passes.layout.processes.by_framework import process_of
from perfc.passes.layout.processes.ort_arena import places
from perfc.passes.layout.processes.torch import blocked, replayed_bytes
from perfc.passes.memory.allocators.heap import FIRST_THRESHOLD, Heap
from perfc.passes.memory.storage import Buffer, BufferRole
from perfc.view.report.memory_sections.footprint import table_of

MIB = 1 << 20
MODELS = Path(__file__).parents[2] / "examples/models"


def test_a_freed_request_beside_the_heap_goes_back_and_raises_the_threshold() -> None:
    heap = Heap()
    heap.allocate(1, MIB)
    assert heap.reserved_bytes == heap.peak_bytes == MIB + 16
    heap.free(1)
    assert (heap.reserved_bytes, heap.threshold) == (0, MIB + 16)
    heap.allocate(2, 40 * MIB)
    heap.free(2)
    assert heap.threshold == MIB + 16
    assert heap.threshold > FIRST_THRESHOLD


def test_what_lies_below_a_block_in_use_stays_and_serves_what_fits() -> None:
    heap = Heap()
    for key, nbytes in ((1, 100_000), (2, 100_000), (3, 1000)):
        heap.allocate(key, nbytes)
    full = heap.reserved_bytes
    heap.free(1)
    heap.free(2)
    assert heap.reserved_bytes == full
    heap.allocate(4, 120_000)  # the two are one hole
    assert heap.reserved_bytes == full
    heap.allocate(5, 100_000)  # what is left of it is too small
    assert heap.reserved_bytes > full
    assert heap.allocated_bytes == heap.reserved_bytes - heap.pool.order[0][0]


def test_the_free_top_goes_to_the_system_beyond_two_thresholds() -> None:
    heap = Heap()
    for key in range(4):
        heap.allocate(key, 100_000)
    for key in (3, 2):
        heap.free(key)
    assert heap.reserved_bytes > 400_000  # less than two thresholds are free
    heap.free(1)
    assert heap.reserved_bytes < 100_100
    heap.allocate(9, 50_000)
    assert heap.reserved_bytes < 150_200


def buffer(shape: tuple[int, ...], born: int, dies: int) -> Buffer:
    value = Value("v", TensorType(DType.F32, shape))
    return Buffer(value, 4 * shape[0] * shape[1], born, dies, BufferRole.ACTIVATION)


def test_a_result_takes_the_place_of_an_earlier_one_of_its_shape_only() -> None:
    buffers = [
        buffer((8, 4), 0, 1),
        buffer((4, 8), 2, 3),
        buffer((8, 4), 4, 5),
        buffer((8, 4), 5, 6),
    ]
    events = list(places(buffers, [128] * 4))
    # the first place is held from the first result to the third, which lies there too
    keys = list(dict.fromkeys(key for key, _ in events))
    order = [(keys.index(key), nbytes) for key, nbytes in events]
    assert order == [(0, 128), (1, 128), (1, -128), (2, 128), (0, -128), (2, -128)]


def process(name: str, runtime: str) -> ProcessMemory:
    report = perfc.analyze(MODELS / name, "generic-x86-64", dims={"batch": 1}, runtime=runtime)
    kernels = report.kernels
    return process_of(kernels.runtime.framework, kernels.kernels, table_of(report), report.env)


@pytest.mark.parametrize(
    ("runtime", "name", "grown", "copies"),
    # resident growth in MiB of ONNX Runtime 1.32, OpenVINO 2026.4 and PyTorch 2.13, two threads,
    # as `perfc measure` reads it
    [
        ("ort-cpu-blocked", "resnet50", 247, 100),
        ("ort-cpu-blocked", "vit-b16", 383, 0),
        ("ort-cpu-blocked", "bert-base", 423, 0),
        ("openvino", "vit-b16", 737, 300),
        ("openvino", "bert-base", 810, 300),
        ("eager", "resnet50", 138, 0),
        ("eager", "vit-b16", 387, 0),
        ("eager", "bert-base", 439, 0),
    ],
)
def test_growth_is_near_what_was_measured_and_convolutions_leave_copies(
    runtime: str, name: str, grown: int, copies: int
) -> None:
    made = process(f"{name}.onnx.gz", runtime)
    assert made.grown_bytes == pytest.approx(grown * MIB, rel=0.12)
    assert made.copy_bytes >= copies * MIB
    assert (made.run_bytes == 0) == ((runtime, name) == ("ort-cpu-blocked", "resnet50"))


def test_a_convolution_in_pytorch_copies_its_operands_and_result_in_blocks() -> None:
    def window(channels: int, side: int) -> SlidingWindow:
        sides = (side, side)
        return SlidingWindow(1, channels, 100, sides, sides, (3, 3), (1, 1), (1, 1), ((1, 1),) * 2)

    at = Numbers({})
    # as torch.profiler lists them: 65 channels in 5 blocks of 16, 100 in 7
    assert blocked(window(65, 30), at) == (288_000, 322_560, 403_200)
    # few channels stay as they are
    assert blocked(window(3, 100), at) == (0, 3 * 112 * 9 * 4, 112 * 10_000 * 4)


def test_a_training_step_grows_by_the_heap_that_holds_its_tensors() -> None:
    report = perfc.analyze(
        MODELS / "resnet50.onnx.gz", "generic-x86-64", batch=4, runtime="eager", train="adamw"
    )
    live = max(table_of(report).live_bytes(report.env))
    heap = replayed_bytes(report.kernels.kernels, table_of(report), report.env)
    # holes between tensors, and copies into blocks
    assert live < heap < 1.4 * live
    assert report.footprint.total_bytes > heap
    # two moments of each parameter are state, and count once
    parts = report.footprint.parts
    assert parts[BufferRole.STATE] == pytest.approx(2 * parts[BufferRole.PARAMETER], rel=0.01)


def test_quantized_filters_are_once_in_f32_in_a_session() -> None:
    def grown(size: int) -> int:
        pad = size // 2
        lines = [
            "perfir 1",
            "module @m",
            "graph @main(%x: f32[1, 512, 7, 7]) {",
            "  %s = weight : f32[]",
            "  %z = weight : i8[]",
            f"  %w = weight : i8[512, 512, {size}, {size}]",
            f"  %d = dequantize_linear(%w, %s, %z) : f32[512, 512, {size}, {size}]",
            "  %q = quantize_linear(%x, %s, %z) : i8[1, 512, 7, 7]",
            "  %a = dequantize_linear(%q, %s, %z) : f32[1, 512, 7, 7]",
            f"  %y = conv(%a, %d) {{pads=[{pad}, {pad}, {pad}, {pad}]}} : f32[1, 512, 7, 7]",
            "  %r = quantize_linear(%y, %s, %z) : i8[1, 512, 7, 7]",
            "  return %r",
            "}",
            "",
        ]
        report = perfc.analyze(
            parse_module("\n".join(lines)), "generic-x86-64", runtime="ort-cpu-blocked"
        )
        return report.footprint.total_bytes

    more = 512 * 512 * (7 * 7 - 1)
    assert 5 * more < grown(7) - grown(1) < 7 * more
