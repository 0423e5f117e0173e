"""Counts of operators of ATen, torchvision and transformers: complex numbers, groups, regions."""

from __future__ import annotations

import io
from typing import Any

import pytest

import perfc
from perfc.ir.symbolic.evaluate import evaluate
from tests.frontend.pt2.programs import C64, F32, I64, Type, graph, node, program, report_of

X, W, OFFSETS, MASK = (1, 64, 100, 152), (64, 64, 3, 3), (1, 18, 100, 152), (1, 9, 100, 152)
DEFORMED = {
    "input": "$x",
    "weight": "$w",
    "offset": "$o",
    "mask": "$m",
    "bias": "$b",
    **{f"{name}_{axis}": 1 for name in ("stride", "pad", "dilation") for axis in "hw"},
    "groups": 1,
    "offset_groups": 1,
}
REGIONS = {"input": "$x", "rois": "$r", "pooled_height": 7, "pooled_width": 7}
IMAGE: dict[str, Type] = {"x": (F32, (1, 256, 100, 100)), "r": (F32, (5, 5))}
ROWS: dict[str, Type] = {"a": (F32, (32, 128)), "b": (F32, (8, 128, 512)), "e": (I64, (8,))}
TABLE: dict[str, Type] = {"w": (F32, (1000, 64)), "i": (I64, (320,)), "o": (I64, (32,))}
DEFORM: dict[str, Type] = dict(
    zip("xwomb", ((F32, s) for s in (X, W, OFFSETS, MASK, (64,))), strict=True)
)
PAIR: dict[str, Type] = {"a": (C64, (4, 5)), "b": (C64, (5, 6))}
SAME: dict[str, Type] = {"a": (C64, (4, 5)), "b": (C64, (4, 5))}
WAVE: dict[str, Type] = {"a": (C64, (1, 2, 9)), "b": (C64, (3, 2, 3))}

Call = tuple[str, dict[str, Any], dict[str, Type], Type, int, int]
CALLS: dict[str, Call] = {
    # four products and two sums
    "complex product": ("aten.mul.Tensor", {"self": "$a", "other": "$b"}, SAME, SAME["a"], 0, 120),
    "real factor": ("aten.mul.Tensor", {"self": "$a", "other": 2.5}, SAME, SAME["a"], 0, 40),
    "complex sum": ("aten.add.Tensor", {"self": "$a", "other": "$b"}, SAME, SAME["a"], 0, 40),
    "complex quotient": ("aten.div.Tensor", {"self": "$a", "other": "$b"}, SAME, SAME["a"], 0, 200),
    "complex exponential": ("aten.exp.default", {"self": "$a"}, SAME, SAME["a"], 0, 100),
    "conjugate": ("aten.conj.default", {"self": "$a"}, SAME, SAME["a"], 0, 0),
    "complex matrices": (
        "aten.mm.default",
        {"self": "$a", "mat2": "$b"},
        PAIR,
        (C64, (4, 6)),
        4 * 4 * 5 * 6,
        8 * 4 * 5 * 6,
    ),
    "complex letters": (
        "aten.einsum.default",
        {"equation": "ij,jk->ik", "tensors": ["$a", "$b"]},
        PAIR,
        (C64, (4, 6)),
        4 * 4 * 5 * 6,
        8 * 4 * 5 * 6,
    ),
    # PyTorch runs three real ones, of the parts and of their sums
    "complex convolution": (
        "aten.conv1d.default",
        {"input": "$a", "weight": "$b"},
        WAVE,
        (C64, (1, 3, 7)),
        3 * 3 * 7 * 2 * 3,
        6 * 3 * 7 * 2 * 3 + 18 + 18 + 3 * 21,
    ),
    "groups": (
        "aten._grouped_mm.default",
        {"self": "$a", "mat2": "$b", "offs": "$e"},
        ROWS,
        (F32, (32, 512)),
        32 * 128 * 512,
        2 * 32 * 128 * 512,
    ),
    "groups of transformers": (
        "transformers.grouped_mm_fallback.default",
        {"input": "$a", "weight": "$b", "offs": "$e"},
        ROWS,
        (F32, (32, 512)),
        32 * 128 * 512,
        2 * 32 * 128 * 512,
    ),
    "counted elements": (
        "aten.histc.default",
        {"self": "$a", "bins": 8},
        ROWS,
        (F32, (8,)),
        0,
        3 * 32 * 128,
    ),
    "places": (
        "aten.bucketize.Tensor",
        {"self": "$a", "boundaries": "$e"},
        ROWS,
        (I64, (32, 128)),
        0,
        4 * 32 * 128,
    ),
    "bags": (
        "aten.embedding_bag.padding_idx",
        {"weight": "$w", "indices": "$i", "offsets": "$o"},
        TABLE,
        (F32, (32, 64)),
        0,
        32 * 9 * 64,
    ),
    "deformed": (
        "torchvision.deform_conv2d.default",
        {**DEFORMED, "use_mask": False},
        DEFORM,
        (F32, X),
        560_332_800,
        2 * 560_332_800 + 100 * 152 * 64 * (9 * 11 + 1),
    ),
    "weighted": (
        "torchvision.deform_conv2d.default",
        {**DEFORMED, "use_mask": True},
        DEFORM,
        (F32, X),
        560_332_800,
        2 * 560_332_800 + 100 * 152 * 64 * (9 * 12 + 1),
    ),
    "regions": (
        "torchvision.roi_align.default",
        {**REGIONS, "sampling_ratio": 2},
        IMAGE,
        (F32, (5, 256, 7, 7)),
        0,
        2_007_040,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_operators_have_their_counts(name: str) -> None:
    target, given, types, result, mac, flop = CALLS[name]
    top = graph(" ".join(types), "y", [node(target, "y", **given)], {**types, "y": result})
    report = report_of(program(top))
    assert (report.cost.work.mac, report.cost.work.flop) == (mac, flop)
    assert not report.cost.uncounted
    (output,) = report.source.graph.outputs
    assert list(output.type.shape) == list(result[1])


def test_of_a_table_the_rows_of_bags_are_read() -> None:
    target, given, types, result, _, _ = CALLS["bags"]
    top = graph(" ".join(types), "y", [node(target, "y", **given)], {**types, "y": result})
    report = report_of(program(top))
    assert report.cost.traffic.read_bytes == 320 * 64 * 4 + 320 * 8 + 32 * 8


def test_suppressed_boxes_are_a_bound() -> None:
    types: dict[str, Type] = {"d": (F32, (50, 4)), "s": (F32, (50,)), "y": (I64, ("u0",))}
    call = node("torchvision.nms.default", "y", dets="$d", scores="$s", iou_threshold=0.5)
    report = report_of(program(graph("d s", "y", [call], types)))
    assert report.cost.work.flop == 50
    assert "non_max_suppression" in {n.op.mnemonic for n in report.cost.nodes}


def test_bags_of_two_axes_and_of_a_varying_batch_are_read_and_trained() -> None:
    torch = pytest.importorskip("torch")
    net, data = torch.nn.EmbeddingBag(1000, 64, mode="sum"), io.BytesIO()
    auto = torch.export.Dim.AUTO
    given = (torch.zeros(4, 10, dtype=torch.int64),)
    torch.export.save(torch.export.export(net, given, dynamic_shapes=({0: auto, 1: auto},)), data)
    dims = dict(zip(perfc.analyze(data.getvalue(), "a100").env, (32, 10), strict=True))
    report = perfc.analyze(data.getvalue(), "a100", dims=dims)
    assert not report.cost.uncounted
    (bags,) = [c for n, c in report.cost.nodes.items() if n.op.mnemonic == "embedding_bag"]
    assert evaluate(bags.work.alu, report.env) == 32 * 9 * 64
    training = perfc.analyze(data.getvalue(), "a100", dims=dims, train="sgd")
    assert "gather_grad" in {n.op.mnemonic for n in training.cost.nodes}
