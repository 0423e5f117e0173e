"""TensorFlow Lite models become graphs of the IR."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

import perfc
from perfc.errors import PerfcError
from perfc.frontend import load
from perfc.ir.tensors.types import DType, TensorType
from perfc.view.report.sections.confidence import uncounted
from tests.frontend.damaged import check_damaged
from tests.frontend.tflite import flat

SHARED = Path(__file__).parents[4] / "shared" / "formats" / "tflite"


def test_a_network_is_that_of_onnx_with_channels_first() -> None:
    module = load(flat.network().file())
    # one transposition, of the image: everything after it is channels-first
    assert [n.op.mnemonic for n in module.graph.nodes] == [
        "transpose",
        "conv",
        "relu",
        "add",
        "reduce_mean",
        "matmul",
    ]
    (x,) = module.graph.inputs
    assert isinstance(x.type, TensorType)
    assert str(x.type) == "f32[batch, 8, 8, 3]"
    extents = {v.name: str(v.type) for v in module.graph.weights}
    assert extents["conv/kernel"] == "f32[16, 3, 3, 3]"
    assert extents["shift"] == "f32[16, 1, 1]"
    parameters = {v.name for v in module.graph.weights if v.weight and v.weight.is_parameter}
    assert {"conv/kernel", "conv/bias", "head/kernel"} <= parameters


def test_the_work_is_that_of_the_layers() -> None:
    report = perfc.analyze(flat.network().file(), "a100", batch=4)
    assert str(report.cost.work.mac) == f"{4 * 4 * 16 * 3 * 9 + 160}*batch"


def test_quantized_tensors_are_whole_numbers_with_scales() -> None:
    report = perfc.analyze(flat.network(is_quantized=True).file(), "a100", batch=4)
    graph = report.module.graph
    stored = {v.name: v.type.dtype for v in graph.weights if isinstance(v.type, TensorType)}
    assert stored["conv/kernel"] is DType.I8
    assert stored["conv/bias"] is DType.I32
    assert str(report.cost.work.mac) == f"{4 * 4 * 16 * 3 * 9 + 160}*batch"
    per_channel = [
        n
        for n in graph.nodes
        if n.op.mnemonic == "dequantize_linear"
        and n.inputs[0] is not None
        and n.inputs[0].name == "conv/kernel"
    ]
    assert str(per_channel[0].inputs[1].type) == "f32[16]"  # type: ignore[union-attr]


def test_a_custom_operator_may_have_any_operands() -> None:
    model = flat.Model()
    commands, weights = (model.tensor(n, (64,), dtype=3, data=bytes(64)) for n in "cw")
    # nothing makes scratch memory, and -1 is an omitted operand
    scratch, x = model.tensor("scratch", (8, 9), dtype=3), model.tensor("x", (1, 8, 8, 1), dtype=9)
    y, z = model.tensor("y", (2, 3, 4, 5, 6), dtype=9), model.tensor("z", (7,), dtype=9)
    model.operator("ethos-u", (commands, weights, scratch, -1, x), (y, z))
    model.ends((x,), (y, z))
    report = perfc.analyze(model.file(), "a100")
    (node,) = report.module.graph.nodes
    assert node.loc.op_type == "ethos-u"
    assert [str(v.type) for v in node.results] == ["i8[2, 3, 4, 5, 6]", "i8[7]"]
    assert report.cost.is_bound
    assert re.search(r"predicted \u2265 .* without unknown costs", str(report))
    assert uncounted(report).startswith("unknown cost of ethos-u x1")


def test_a_sparse_weight_in_16_bits_is_stored_once() -> None:
    model = flat.Model()
    x, y = model.tensor("x", (1, 16)), model.tensor("y", (1, 4))
    sparse = model.tensor("sparse", (4, 16), dtype=1, data=bytes(40))
    dense, real = model.tensor("dense", (4, 16), dtype=1), model.tensor("real", (4, 16))
    model.operator("DENSIFY", (sparse,), (dense,))
    model.operator("DEQUANTIZE", (dense,), (real,))
    model.operator("FULLY_CONNECTED", (x, real, -1), (y,))
    model.ends((x,), (y,))
    cost = perfc.analyze(model.file(), "a100").cost
    assert (cost.work.mac, cost.is_bound) == (64, False)


@pytest.mark.parametrize("rank", [0, 1, 2, 3, 5])
@pytest.mark.parametrize(
    "operator", ["CONV_2D", "MAX_POOL_2D", "RESIZE_BILINEAR", "DEPTHWISE_CONV_2D"]
)
def test_an_operator_of_maps_with_other_axes_is_unknown(operator: str, rank: int) -> None:
    model = flat.Model()
    x, y = (model.tensor(n, (4,) * rank) for n in "xy")
    filters = model.tensor("filters", (4,) * rank, data=bytes(4 * 4**rank))
    model.operator(operator, (x, filters, -1), (y,))
    model.ends((x,), (y,))
    report = perfc.analyze(model.file(), "a100")
    assert [n.loc.op_type for n in report.module.graph.nodes] == [operator]
    assert report.cost.is_bound


@pytest.mark.parametrize("operands", [(99,), (-2,)])
def test_an_operand_outside_the_tensors_is_one_line(operands: tuple[int, ...]) -> None:
    model = flat.Model()
    x, y = model.tensor("x", (4,)), model.tensor("y", (4,))
    model.operator("EXP", operands, (y,))
    model.ends((x,), (y,))
    with pytest.raises(PerfcError, match=f"EXP: tensor {operands[0]} of 2"):
        load(model.file())


def test_a_loop_runs_its_graphs() -> None:
    model = flat.Model()
    state = model.tensor("state", (4,))
    result = model.tensor("result", (4,))
    model.operator("WHILE", (state,), (result,), cond=1, body=2)
    model.ends((state,), (result,))
    model.graph()
    held = model.tensor("held", (4,))
    limit = model.tensor("limit", (4,), data=struct.pack("<4f", 1, 1, 1, 1))
    axes = model.tensor("axes", (1,), dtype=2, data=struct.pack("<i", 0))
    less, is_less = model.tensor("less", (4,), dtype=6), model.tensor("all", (), dtype=6)
    model.operator("LESS", (held, limit), (less,))
    model.operator("REDUCE_ALL", (less, axes), (is_less,))
    model.ends((held,), (is_less,))
    model.graph()
    before, after = model.tensor("before", (4,)), model.tensor("after", (4,))
    model.operator("EXP", (before,), (after,))
    model.ends((before,), (after,))
    graph = load(model.file()).graph
    assert graph.nodes[-1].op.mnemonic == "loop"
    assert "exp" in [n.op.mnemonic for n in graph.nodes[-1].regions[0].nodes]


@pytest.mark.parametrize(("step", "limit", "runs"), [(1, 6, 6), (2, 5, 3), (1, 40_000, 40_000)])
def test_a_loop_runs_until_its_counter_meets_a_constant(step: int, limit: int, runs: int) -> None:
    model, whole = flat.Model(), {"dtype": 2}
    start = model.tensor("start", (), **whole, data=struct.pack("<i", 0))
    x = model.tensor("x", (4,))
    last, y = model.tensor("last", (), **whole), model.tensor("y", (4,))
    model.operator("WHILE", (start, x), (last, y), cond=1, body=2)
    model.ends((x,), (y,))
    model.graph()
    count, held = model.tensor("count", (), **whole), model.tensor("held", (4,))
    most = model.tensor("most", (), **whole, data=struct.pack("<i", limit))
    is_less = model.tensor("less", (), dtype=6)
    model.operator("LESS", (count, most), (is_less,))
    model.ends((count, held), (is_less,))
    model.graph()
    now, before = model.tensor("now", (), **whole), model.tensor("before", (4,))
    one = model.tensor("one", (), **whole, data=struct.pack("<i", step))
    after, exp = model.tensor("after", (), **whole), model.tensor("exp", (4,))
    model.operator("ADD", (now, one), (after,))
    model.operator("EXP", (before,), (exp,))
    model.ends((now, before), (after, exp))
    cost = perfc.analyze(model.file(), "a100").cost
    assert (cost.work.sfu, cost.is_bound) == (runs * 4, False)


def test_graphs_that_call_each_other_end_in_one_line() -> None:
    model = flat.Model()
    x, y = model.tensor("x", (4,)), model.tensor("y", (4,))
    model.operator("WHILE", (x,), (y,), cond=0, body=0)
    model.ends((x,), (y,))
    with pytest.raises(PerfcError):
        load(model.file())


def test_damaged_files_end_in_one_line() -> None:
    good = [flat.network().file(), flat.network(is_quantized=True).file()]
    rng = random.Random(7)

    def damaged() -> Iterator[bytes]:
        for _ in range(150):
            data = bytearray(rng.choice(good))
            for _ in range(rng.choice((1, 1, 4, 40))):
                place = rng.randrange(8, len(data) - 4)
                value = rng.choice((rng.randrange(256), 0xFFFFFFFF, 0x7FFFFFFF, 0, len(data)))
                data[place : place + 4] = struct.pack("<I", value)
            yield bytes(data[: rng.randrange(8, len(data)) if rng.random() < 0.2 else len(data)])

    check_damaged(damaged(), bytes)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the shared files")
@pytest.mark.parametrize(
    ("name", "mac"),
    [
        ("person_detect", 7_157_888),
        ("micro_speech_quantized", 336_000),
        ("trained_lstm", 113_120),
        ("dtln_noise_suppression", 361_088),
    ],
)
def test_published_models(name: str, mac: int) -> None:
    report = perfc.analyze(SHARED / f"{name}.tflite", "a100")
    assert report.cost.work.mac == mac
    assert all(n.op.mnemonic != "opaque" for n in report.module.graph.nodes)
