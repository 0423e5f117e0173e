"""Operators of PyTorch that have no operator of ONNX, or another form than it."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import perfc
from perfc.ir.symbolic.evaluate import evaluate
from tests.frontend.pt2.programs import C64, F32, I64, Type, graph, node, program, report_of

Call = tuple[str, dict[str, Any], dict[str, Type], Type]
"""An operator, its arguments, the types of its operands, and that of its result."""
M = (F32, (4, 5))
CALLS: dict[str, tuple[Call, int]] = {
    "sum of products": (
        (
            "addbmm.default",
            {"self": "$s", "batch1": "$a", "batch2": "$b"},
            {"s": (F32, (3, 5)), "a": (F32, (2, 3, 4)), "b": (F32, (2, 4, 5))},
            (F32, (3, 5)),
        ),
        2 * 3 * 4 * 5,
    ),
    "product over axes": (
        (
            "tensordot.default",
            {"self": "$a", "other": "$b", "dims_self": [1, 2], "dims_other": [0, 1]},
            {"a": (F32, (3, 4, 5)), "b": (F32, (4, 5, 6))},
            (F32, (3, 6)),
        ),
        3 * 4 * 5 * 6,
    ),
    "inner": (
        (
            "inner.default",
            {"self": "$a", "other": "$b"},
            {"a": (F32, (2, 3, 5)), "b": (F32, (4, 5))},
            (F32, (2, 3, 4)),
        ),
        2 * 3 * 5 * 4,
    ),
    "chain from the right": (
        (
            "linalg_multi_dot.default",
            {"tensors": ["$a", "$b", "$c"]},
            {"a": (F32, (30, 20)), "b": (F32, (20, 10)), "c": (F32, (10, 1))},
            (F32, (30, 1)),
        ),
        20 * 10 + 30 * 20,
    ),
    "power": (
        (
            "linalg_matrix_power.default",
            {"self": "$a", "n": 5},
            {"a": (F32, (2, 4, 4))},
            (F32, (2, 4, 4)),
        ),
        3 * 2 * 4**3,
    ),
    "steps first": (
        (
            "conv_tbc.default",
            {"self": "$x", "weight": "$w", "bias": "$b", "pad": 1},
            {"x": (F32, (9, 2, 4)), "w": (F32, (3, 4, 5)), "b": (F32, (5,))},
            (F32, (9, 2, 5)),
        ),
        9 * 2 * 3 * 4 * 5,
    ),
    "part of rows": (
        (
            "slice_scatter.default",
            {"self": "$a", "src": "$b", "dim": 0, "start": 1, "end": 3},
            {"a": M, "b": (F32, (2, 5))},
            M,
        ),
        0,
    ),
    "first rows": (
        (
            "slice_scatter.default",
            {"self": "$a", "src": "$b", "dim": 0, "start": 0, "end": 3},
            {"a": M, "b": (F32, (3, 5))},
            M,
        ),
        0,
    ),
    "last column": (
        (
            "select_scatter.default",
            {"self": "$a", "src": "$b", "dim": 1, "index": -1},
            {"a": M, "b": (F32, (4,))},
            M,
        ),
        0,
    ),
    "a single image": (
        (
            "pixel_shuffle.default",
            {"self": "$a", "upscale_factor": 2},
            {"a": (F32, (12, 4, 4))},
            (F32, (3, 8, 8)),
        ),
        0,
    ),
    "pooling of a single map": (
        (
            "avg_pool2d.default",
            {"self": "$a", "kernel_size": [2, 2]},
            {"a": (F32, (4, 8, 8))},
            (F32, (4, 4, 4)),
        ),
        0,
    ),
    "attention without heads": (
        (
            "scaled_dot_product_attention.default",
            {"query": "$q", "key": "$k", "value": "$v"},
            {"q": (F32, (6, 8)), "k": (F32, (7, 8)), "v": (F32, (7, 8))},
            (F32, (6, 8)),
        ),
        6 * 7 * 16,
    ),
    "sums at rows": (
        (
            "index_add.default",
            {"self": "$a", "dim": 1, "index": "$i", "source": "$b"},
            {"a": M, "i": (I64, (2,)), "b": (F32, (4, 2))},
            M,
        ),
        0,
    ),
    "norm of matrices": (
        ("linalg_matrix_norm.str_ord", {"self": "$a"}, {"a": (F32, (2, 4, 4))}, (F32, (2,))),
        0,
    ),
    "greatest magnitude": (
        (
            "linalg_vector_norm.default",
            {"self": "$a", "ord": float("inf"), "dim": [1]},
            {"a": M},
            (F32, (4,)),
        ),
        0,
    ),
    "diagonal": (
        ("diagonal.default", {"self": "$a", "offset": -2}, {"a": M}, (F32, (2,))),
        0,
    ),
    "turn": (("rot90.default", {"self": "$a", "k": 3}, {"a": M}, (F32, (5, 4))), 0),
    "real spectrum": (
        ("fft_rfft.default", {"self": "$a"}, {"a": (F32, (3, 16))}, (C64, (3, 9))),
        0,
    ),
    "pairs": (("view_as_real.default", {"self": "$a"}, {"a": (C64, (3, 4))}, (F32, (3, 4, 2))), 0),
    "log of a sum": (("logaddexp.default", {"self": "$a", "other": "$b"}, {"a": M, "b": M}, M), 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_operators_have_their_products_and_shapes(name: str) -> None:
    (target, given, types, result), products = CALLS[name]
    call = node(f"aten.{target}", "y", **given)
    top = graph(" ".join(types), "y", [call], {**types, "y": result})
    report = report_of(program(top))
    assert report.cost.work.mac == products
    assert not report.cost.uncounted
    (output,) = report.source.graph.outputs
    assert list(output.type.shape) == list(result[1])
    assert output.type.dtype.code == ("c64" if result[0] == C64 else "f32")


def test_what_is_written_into_a_view_is_part_of_its_tensor() -> None:
    types: dict[str, Type] = {
        "w": (F32, (5, 5)),
        "x": (F32, (2, 5)),
        "base": (F32, (4, 5)),
        "rows": (F32, (3, 5)),
        "two": (F32, (2, 5)),
        "mm": (F32, (2, 5)),
        "out": (F32, (2, 5)),
    }
    calls = [
        node("aten.new_empty.default", "base", self="$x", size=[4, 5]),
        node("aten.slice.Tensor", "rows", self="$base", dim=0, start=1, end=4),
        node("aten.slice.Tensor", "two", self="$rows", dim=0, start=0, end=2),
        node("aten.mm.default", "mm", self="$x", mat2="$w"),
        node("aten.copy_.default", "out", self="$two", src="$mm"),
    ]
    report = report_of(program(graph("w x", "base", calls, types), "w"))
    assert report.cost.work.mac == 2 * 5 * 5
    assert [str(v.type) for v in report.source.graph.outputs] == ["f32[4, 5]"]
    # only the part is written
    copies = [c.traffic for n, c in report.cost.nodes.items() if n.op.mnemonic == "copy"]
    assert [(t.read_bytes, t.write_bytes) for t in copies] == [(40, 40)]
    assert sum(c.traffic.write_bytes for c in report.cost.nodes.values()) == 80


def functions(torch: Any) -> list[tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]]:
    """Return functions of PyTorch with the shapes of their operands."""
    f, linalg = torch.nn.functional, torch.linalg

    def written(a: Any, b: Any) -> Any:
        made = torch.empty(6, 5)
        made[1:5] = a @ b
        made[0] = a[0]
        made[:, 1:3].mul_(2)
        return made

    return [
        (lambda a, b: torch.einsum("bqhd,bkhd->bhqk", a, b), ((2, 3, 4, 5), (2, 6, 4, 5))),
        (lambda a, b: torch.einsum("...ij,...jk->...ik", a, b), ((2, 3, 4, 5), (3, 5, 6))),
        (lambda a, b: torch.baddbmm(a, b, b.mT, beta=0.5), ((2, 3, 3), (2, 3, 4))),
        (lambda a, b: torch.tensordot(a, b, dims=([1, 2], [0, 1])), ((3, 4, 5), (4, 5, 6))),
        (torch.inner, ((2, 3, 5), (4, 5))),
        (lambda a, b, c: linalg.multi_dot([a, b, c]), ((3, 40), (40, 5), (5, 60))),
        (lambda a: linalg.matrix_power(a, 6), ((2, 4, 4),)),
        (
            lambda a: f.conv_transpose2d(a, torch.ones(3, 6, 3, 3), stride=2, output_padding=1),
            ((2, 3, 8, 8),),
        ),
        (
            lambda a: f.conv1d(a, torch.ones(8, 2, 3), padding="same", dilation=2, groups=2),
            ((2, 4, 9),),
        ),
        (lambda a: f.conv2d(a, torch.ones(8, 4, 3, 3)), ((4, 9, 9),)),
        (lambda a, b: f.grid_sample(a, b, align_corners=False), ((2, 3, 8, 8), (2, 5, 6, 2))),
        (lambda a: f.fold(f.unfold(a, 3, padding=1), (8, 8), 3, padding=1), ((2, 3, 8, 8),)),
        (lambda a: torch.fft.irfft2(torch.fft.rfft2(a) * 2), ((3, 16, 16),)),
        (
            lambda a: torch.view_as_real(torch.view_as_complex(a) * torch.view_as_complex(a)),
            ((3, 4, 2),),
        ),
        (lambda a: torch.fft.fft(a).abs(), ((3, 16),)),
        (lambda a, b: torch.cross(a, b, dim=-1), ((7, 3), (7, 3))),
        (lambda a: torch.rot90(a, 1, [0, 1]), ((4, 5),)),
        (lambda a: a.diagonal(1, 0, 1), ((4, 5),)),
        (torch.diag_embed, ((4, 5),)),
        (torch.block_diag, ((4, 5), (2, 3))),
        (torch.kron, ((3, 4), (4, 5))),
        (torch.addr, ((3, 5), (3,), (5,))),
        (lambda a: a.kthvalue(2)[0], ((4, 9),)),
        (lambda a: a.median(1)[0], ((4, 9),)),
        (torch.trace, ((4, 5),)),
        (lambda a: torch.aminmax(a, dim=1)[1], ((4, 5),)),
        (f.pairwise_distance, ((10, 6), (10, 6))),
        (f.smooth_l1_loss, ((4, 5), (4, 5))),
        (lambda a, b: f.binary_cross_entropy_with_logits(a, b, reduction="none"), ((4, 5), (4, 5))),
        (lambda a, b: torch.slice_scatter(a, b, 1, 2, 4), ((4, 5), (4, 2))),
        (lambda a: a.index_fill(0, torch.tensor([1, 2]), 0.0), ((4, 5),)),
        (lambda a: torch.put(a, torch.arange(5), a[0]), ((4, 5),)),
        (lambda a: f.adaptive_avg_pool2d(a, (3, 5)), ((4, 8, 8),)),
        (lambda a: f.max_unpool2d(*f.max_pool2d(a, 2, return_indices=True), 2), ((2, 4, 8, 8),)),
        (lambda a: f.pixel_unshuffle(a, 2), ((3, 4, 4),)),
        (lambda a: torch.hsplit(a, 2)[1], ((4, 6),)),
        (lambda a: torch.column_stack([a, a]), ((4,),)),
        (lambda a: torch.dstack([a, a]), ((2, 3),)),
        (lambda a: a[:, torch.tensor([0, 2]), :, torch.tensor([1, 1])], ((4, 5, 3, 4),)),
        (written, ((4, 5), (5, 5))),
        (lambda a: f.poisson_nll_loss(a, a) + f.soft_margin_loss(a, a), ((4, 5),)),
        (lambda a: f.cross_entropy(a, a.softmax(1)), ((4, 5),)),
        (lambda a: torch.fft.fftshift(torch.fft.fft2(a)).real, ((4, 4),)),
        (lambda a: torch.nansum(a) + torch.count_nonzero(a), ((4, 5),)),
    ]


def test_operators_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    counter = pytest.importorskip("torch.utils.flop_counter").FlopCounterMode
    cases = functions(torch)

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, *operands: Any) -> Any:
            rest = iter(operands)
            return tuple(call(*(next(rest) for _ in shapes)) for call, shapes in cases)

    net, given = Net(), tuple(torch.zeros(s) for _, shapes in cases for s in shapes)
    data = io.BytesIO()
    torch.export.save(torch.export.export(net, given), data)
    report = perfc.analyze(data.getvalue(), "a100")
    with counter(display=False) as counted:
        expected = [list(t.shape) for t in net(*given)]
    assert [list(v.type.shape) for v in report.source.graph.outputs] == expected  # type: ignore
    assert 2 * report.cost.work.mac == counted.get_total_flops()
    assert not report.cost.uncounted


def varying(torch: Any) -> list[tuple[Callable[..., Any], tuple[int, ...]]]:
    """Return functions whose arguments follow from extents that vary, with a shape."""
    f = torch.nn.functional
    return [
        (lambda a: f.pad(a, (0, 0, 0, (16 - a.shape[1] % 16) % 16)), (3, 21, 6)),
        (lambda a: torch.roll(a, a.shape[1] // 2, 1), (3, 21, 6)),
        (lambda a: torch.view_as_real(torch.fft.rfft(a)), (3, 21)),
        (lambda a: torch.fft.irfft2(torch.fft.rfft2(a), s=a.shape[-2:]), (3, 21, 12)),
        (lambda a: f.fold(f.unfold(a, 3, padding=1), a.shape[-2:], 3, padding=1), (2, 3, 9, 10)),
        (lambda a: a.unfold(1, 4, 3), (2, 21, 8)),
        (lambda a: torch.slice_scatter(a, a[:, :5], 1, a.shape[1] - 9, a.shape[1] - 4), (2, 21)),
        (lambda a: torch.slice_scatter(a, a[:, : a.shape[1] // 2], 1, 0, a.shape[1] // 2), (2, 21)),
    ]


@pytest.mark.parametrize("at", range(8))
def test_sizes_given_resolve_arguments_that_follow_from_them(at: int) -> None:
    torch = pytest.importorskip("torch")
    call, shape = varying(torch)[at]

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, a: Any) -> Any:
            return call(a)

    given, data = torch.zeros(shape), io.BytesIO()
    vary = (dict.fromkeys(range(len(shape)), torch.export.Dim.AUTO),)
    torch.export.save(torch.export.export(Net(), (given,), dynamic_shapes=vary), data)
    dims = dict(zip(perfc.analyze(data.getvalue(), "a100").env, shape, strict=True))
    report = perfc.analyze(data.getvalue(), "a100", dims=dims)
    assert not report.cost.uncounted
    (made,) = report.source.graph.outputs
    assert [evaluate(d, dims) for d in made.type.shape] == [*Net()(given).shape]  # type: ignore


def test_padding_has_its_begin_and_its_end() -> None:
    call = node("aten.constant_pad_nd.default", "y", self="$x", pad=[1, 2, 3, 4])
    values = {"x": (F32, (2, 3)), "y": (F32, (9, 6))}
    report = report_of(program(graph("x", "y", [call], values)))
    (pad,) = report.module.graph.nodes
    # ONNX lists the begins of all axes, then their ends; PyTorch the last axis first
    assert pad.inputs[1].known.items == (3, 1, 4, 2)
    assert pad.results[0].shape == (9, 6)
