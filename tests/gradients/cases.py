"""Functions whose gradients are proved, by name: a function, and the shapes of its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

Case = tuple[str, Callable[..., Any], list[Any]]
"""Name, function, operands: shapes of normal numbers, or tensors."""


def positive(*shape: int) -> torch.Tensor:
    """Numbers from 0.2 to 1.2."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(3)) + 0.2


def within(*shape: int) -> torch.Tensor:
    """Numbers from -0.9 to 0.9."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(4)) * 1.8 - 0.9


def whole(high: int, *shape: int) -> torch.Tensor:
    """Whole numbers below ``high``."""
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(5))


def unary() -> Iterator[Case]:
    plain = {
        "relu": F.relu,
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "exp": torch.exp,
        "sin": torch.sin,
        "cos": torch.cos,
        "tan": torch.tan,
        "erf": torch.erf,
        "abs": torch.abs,
        "neg": torch.neg,
        "atan": torch.atan,
        "gelu": F.gelu,
        "silu": F.silu,
        "mish": F.mish,
        "elu": F.elu,
        "celu": lambda x: F.celu(x, 1.3),
        "selu": F.selu,
        "softplus": F.softplus,
        "softsign": F.softsign,
        "hardswish": F.hardswish,
        "hardsigmoid": F.hardsigmoid,
        "leaky": lambda x: F.leaky_relu(x, 0.1),
        "relu6": F.relu6,
        "logsigmoid": F.logsigmoid,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "square": lambda x: x**2,
        "cube": lambda x: x**3,
        "hardtanh": lambda x: F.hardtanh(x, -0.5, 0.7),
        "threshold": lambda x: F.threshold(x, 0.0, 0.0),
        "floor": lambda x: x * torch.floor(x),
        "sign": lambda x: x * torch.sign(x),
        "clip": lambda x: torch.clamp(x, -0.3, 0.6),
        "clip_low": lambda x: torch.clamp(x, min=0.1),
        "affine": lambda x: 3 * x - 2,
        "tanhshrink": F.tanhshrink,
        "elu2": lambda x: F.elu(x, 0.5),
        "glu": F.glu,
        "softshrink": lambda x: F.softshrink(x, 0.3),
        "hardshrink": lambda x: F.hardshrink(x, 0.3),
        "rsub": lambda x: 1 - x,
        "softplus_manual": lambda x: torch.log(1 + torch.exp(x)),
    }
    for name, function in plain.items():
        yield name, function, [(3, 4, 6)]
    above = {
        "log": torch.log,
        "sqrt": torch.sqrt,
        "rsqrt": torch.rsqrt,
        "reciprocal": torch.reciprocal,
        "pow": lambda x: x**1.7,
        "log2": torch.log2,
        "log1p": torch.log1p,
    }
    for name, function in above.items():
        yield name, function, [positive(3, 5)]
    for name, function in {"asin": torch.asin, "acos": torch.acos}.items():
        yield name, function, [within(4, 5)]


BROADCASTS = {
    "same": [(2, 3, 4), (2, 3, 4)],
    "row": [(2, 3, 4), (4,)],
    "column": [(2, 3, 4), (3, 1)],
    "outer": [(2, 1, 4), (3, 1)],
    "scalar": [(2, 3), (1,)],
}


def binary() -> Iterator[Case]:
    functions = {
        "add": torch.add,
        "sub": torch.sub,
        "mul": torch.mul,
        "max": torch.maximum,
        "min": torch.minimum,
    }
    for how, shapes in BROADCASTS.items():
        for name, function in functions.items():
            yield f"{name}_{how}", function, shapes
        a, b = shapes
        yield f"div_{how}", torch.div, [a, positive(*b)]
        yield f"pow_{how}", torch.pow, [positive(*a), b]
        yield f"where_{how}", lambda x, y: torch.where(x > 0.1, x, y), shapes
        yield f"square_difference_{how}", lambda x, y: (x - y) ** 2, shapes


def products() -> Iterator[Case]:
    shapes = {
        "2d": [(3, 4), (4, 5)],
        "batched": [(2, 3, 4), (2, 4, 5)],
        "shared": [(2, 3, 4), (4, 5)],
        "heads": [(2, 3, 4, 5), (2, 3, 5, 4)],
        "left_vector": [(4,), (4, 5)],
        "right_vector": [(2, 3, 4), (4,)],
        "dot": [(4,), (4,)],
        "spread": [(1, 3, 4), (5, 4, 2)],
        "spread_left": [(3, 4), (5, 4, 2)],
        "outer_batch": [(2, 1, 3, 4), (3, 4, 5)],
    }
    for name, ins in shapes.items():
        yield f"matmul_{name}", torch.matmul, ins
    yield "linear", F.linear, [(3, 4), (5, 4), (5,)]
    yield "linear_3d", F.linear, [(2, 3, 4), (5, 4), (5,)]
    yield "linear_plain", F.linear, [(3, 4), (5, 4)]
    yield (
        "addmm",
        lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2.0),
        [(3, 5), (3, 4), (4, 5)],
    )
    yield "addmm_row", torch.addmm, [(5,), (3, 4), (4, 5)]
    yield "baddbmm", torch.baddbmm, [(2, 3, 5), (2, 3, 4), (2, 4, 5)]
    yield "matmul_transposed", lambda a, b: a @ b.transpose(-1, -2), [(2, 3, 4), (2, 5, 4)]
    equations = {
        "ij,jk->ik": [(3, 4), (4, 5)],
        "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)],
        "bhid,bhjd->bhij": [(2, 3, 4, 5), (2, 3, 6, 5)],
        "bhij,bhjd->bihd": [(2, 3, 4, 6), (2, 3, 6, 5)],
        "bic,ijc->bij": [(2, 3, 4), (3, 5, 4)],
        "i,j->ij": [(3,), (4,)],
        "ij->ji": [(3, 4)],
        "bij->bi": [(2, 3, 4)],
        "...ij,...jk->...ik": [(2, 3, 4), (2, 4, 5)],
        "bnc,nc->bc": [(2, 3, 4), (3, 4)],
    }
    for equation, ins in equations.items():
        yield f"einsum {equation}", lambda *a, e=equation: torch.einsum(e, *a), ins


def convolutions() -> Iterator[Case]:
    settings: dict[str, dict[str, Any]] = {
        "plain": {},
        "stride": {"stride": 2},
        "pad": {"padding": 1},
        "both": {"stride": 2, "padding": 1},
        "dilated": {"dilation": 2},
        "all": {"stride": 2, "padding": 2, "dilation": 2},
        "stride3": {"stride": 3, "padding": 1},
        "uneven": {"stride": (2, 1), "padding": (1, 0)},
    }
    for name, how in settings.items():
        yield (
            f"conv_{name}",
            lambda x, w, b, h=how: F.conv2d(x, w, b, **h),
            [(2, 4, 9, 10), (6, 4, 3, 3), (6,)],
        )
        yield (
            f"conv_grouped_{name}",
            lambda x, w, h=how: F.conv2d(x, w, groups=2, **h),
            [(2, 4, 9, 10), (6, 2, 3, 3)],
        )
        yield (
            f"conv_depthwise_{name}",
            lambda x, w, h=how: F.conv2d(x, w, groups=4, **h),
            [(2, 4, 8, 9), (4, 1, 3, 3)],
        )
    yield "conv_pointwise", F.conv2d, [(2, 4, 5, 5), (6, 4, 1, 1), (6,)]
    yield "conv_1d", lambda x, w: F.conv1d(x, w, stride=2, padding=1), [(2, 3, 11), (4, 3, 3)]
    yield "conv_3d", lambda x, w: F.conv3d(x, w, padding=1), [(1, 2, 4, 5, 6), (3, 2, 3, 3, 3)]
    yield "conv_patch", lambda x, w: F.conv2d(x, w, stride=4), [(2, 3, 16, 16), (8, 3, 4, 4)]
    transposed: dict[str, dict[str, Any]] = {
        "plain": {},
        "stride": {"stride": 2},
        "pad": {"stride": 2, "padding": 1},
        "output": {"stride": 2, "padding": 1, "output_padding": 1},
        "dilated": {"dilation": 2},
    }
    for name, how in transposed.items():
        yield (
            f"conv_transpose_{name}",
            lambda x, w, b, h=how: F.conv_transpose2d(x, w, b, **h),
            [(2, 4, 5, 6), (4, 6, 3, 3), (6,)],
        )
        yield (
            f"conv_transpose_grouped_{name}",
            lambda x, w, h=how: F.conv_transpose2d(x, w, groups=2, **h),
            [(2, 4, 5, 6), (4, 3, 3, 3)],
        )
    yield (
        "conv_transpose_1d",
        lambda x, w: F.conv_transpose1d(x, w, stride=2),
        [(2, 3, 7), (3, 4, 3)],
    )


def norms() -> Iterator[Case]:
    yield "layer_norm", lambda x, w, b: F.layer_norm(x, (6,), w, b), [(2, 3, 6), (6,), (6,)]
    yield "layer_norm_2", lambda x, w, b: F.layer_norm(x, (3, 6), w, b), [(2, 3, 6), (3, 6), (3, 6)]
    yield "layer_norm_plain", lambda x: F.layer_norm(x, (6,)), [(2, 3, 6)]
    yield "group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), [(2, 6, 4, 5), (6,), (6,)]
    yield "group_norm_plain", lambda x: F.group_norm(x, 3), [(2, 6, 4)]
    yield (
        "instance_norm",
        lambda x, w, b: F.instance_norm(x, None, None, w, b),
        [(2, 4, 5, 6), (4,), (4,)],
    )
    stats = torch.zeros(4), torch.ones(4) * 1.5
    yield (
        "batch_norm_fixed",
        lambda x, w, b: F.batch_norm(x, *stats, w, b),
        [(3, 4, 5, 6), (4,), (4,)],
    )
    yield (
        "rms_norm",
        lambda x, w: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w,
        [(2, 3, 6), (6,)],
    )
    yield "normalize", lambda x: F.normalize(x, dim=-1), [(2, 3, 6)]
    for dim in (-1, 0, 1):
        yield f"softmax_{dim}", lambda x, d=dim: F.softmax(x, d), [(2, 3, 6)]
        yield f"log_softmax_{dim}", lambda x, d=dim: F.log_softmax(x, d), [(2, 3, 6)]
    labels = whole(5, 4)
    yield "cross_entropy", lambda x: F.cross_entropy(x, labels), [(4, 5)]
    yield "cross_entropy_sum", lambda x: F.cross_entropy(x, labels, reduction="sum"), [(4, 5)]
    yield "cross_entropy_none", lambda x: F.cross_entropy(x, labels, reduction="none"), [(4, 5)]
    maps = whole(3, 2, 4, 5)
    yield "cross_entropy_maps", lambda x: F.cross_entropy(x, maps), [(2, 3, 4, 5)]
    yield "nll_loss", lambda x: F.nll_loss(F.log_softmax(x, 1), labels), [(4, 5)]
    yield "mse", F.mse_loss, [(4, 5), (4, 5)]
    yield "l1", lambda a, b: (a - b).abs().mean(), [(4, 5), (4, 5)]
    yield "bce", lambda x: F.binary_cross_entropy_with_logits(x, torch.ones(4, 5)), [(4, 5)]


def reductions() -> Iterator[Case]:
    functions: dict[str, Callable[..., Any]] = {
        "sum": torch.sum,
        "mean": torch.mean,
        "amax": torch.amax,
        "amin": torch.amin,
        "logsumexp": torch.logsumexp,
        "norm": lambda x, d, keepdim: torch.norm(x, 2, d, keepdim),
        "norm1": lambda x, d, keepdim: torch.norm(x, 1, d, keepdim),
    }
    for name, function in functions.items():
        for dims in ((1,), (0, 2), (-1,)):
            for keep in (True, False):
                yield (
                    f"{name}_{dims}_{keep}",
                    lambda x, f=function, d=dims, k=keep: f(x, d, keepdim=k),
                    [(2, 3, 4)],
                )
    yield "sum_all", torch.sum, [(2, 3, 4)]
    yield "mean_all", torch.mean, [(2, 3, 4)]
    yield "prod", lambda x: torch.prod(x, 1), [positive(2, 3, 4)]
    yield "var", lambda x: torch.var(x, 1), [(2, 5, 4)]
    yield "std", lambda x: torch.std(x, -1), [(2, 5, 4)]
    yield "cumsum", lambda x: torch.cumsum(x, 1), [(2, 5, 4)]
    yield "max_value", lambda x: torch.max(x, 1)[0], [(2, 5, 4)]


def shapes() -> Iterator[Case]:
    yield "reshape", lambda x: x.reshape(4, 6) * 2, [(2, 3, 4)]
    yield "flatten", lambda x: x.flatten(1) * 2, [(2, 3, 4)]
    yield "squeeze", lambda x: x.squeeze(1) * 2, [(2, 1, 4)]
    yield "unsqueeze", lambda x: x.unsqueeze(1) * 2, [(2, 4)]
    yield "permute", lambda x: x.permute(2, 0, 1) * 2, [(2, 3, 4)]
    yield "transpose", lambda x: x.transpose(0, 2) * 2, [(2, 3, 4)]
    yield "expand", lambda x: x.expand(5, 3, 4) * 2, [(1, 3, 4)]
    yield "repeat", lambda x: x.repeat(2, 3) * 2, [(3, 4)]
    yield "narrow", lambda x: x[:, 1:3] * 2, [(2, 5)]
    yield "steps", lambda x: x[:, ::2] * 2, [(2, 6)]
    yield "steps_odd", lambda x: x[:, 1::3] * 2, [(2, 8)]
    yield "last", lambda x: x[:, -1] * 2, [(2, 5, 3)]
    yield "select", lambda x: x[:, 2] * 2, [(2, 5, 3)]
    yield "concat", lambda a, b: torch.cat([a, b], 1) * 2, [(2, 3), (2, 4)]
    yield "concat_self", lambda a: torch.cat([a, a * 2], 0), [(2, 3)]
    yield "stack", lambda a, b: torch.stack([a, b], 1) * 2, [(2, 3), (2, 3)]
    yield "split", lambda x: torch.split(x, 2, 1)[0] * 3, [(2, 6)]
    yield "chunk", lambda x: x.chunk(3, -1)[0] * x.chunk(3, -1)[2], [(2, 6)]
    yield "unbind", lambda x: x.unbind(0)[0] * x.unbind(0)[1], [(2, 6)]
    yield "pad", lambda x: F.pad(x, (1, 2)) * 2, [(2, 3)]
    yield "pad_2d", lambda x: F.pad(x, (1, 2, 0, 1)) * 2, [(2, 3, 4)]
    yield "pad_cut", lambda x: F.pad(x, (-1, 2)) * 2, [(2, 5)]
    for mode in ("reflect", "replicate", "circular"):
        yield f"pad_{mode}", lambda x, m=mode: F.pad(x, (1, 2, 2, 1), mode=m) * 2, [(2, 3, 5, 6)]
    yield "pixel_shuffle", lambda x: F.pixel_shuffle(x, 2) * 2, [(2, 8, 3, 3)]
    yield "pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2) * 2, [(2, 2, 4, 6)]
    yield "roll", lambda x: torch.roll(x, 1, 1) * 2, [(2, 5)]
    yield "flip", lambda x: torch.flip(x, [1]) * 2, [(2, 5)]
    yield "masked_fill", lambda x: x.masked_fill(x > 0, 0.0) * 2, [(2, 5)]
    yield "tril", lambda x: torch.tril(x) * 2, [(4, 4)]
    index = whole(5, 3, 2)
    yield "embedding", lambda w: F.embedding(index, w), [(5, 4)]
    row, some = whole(5, 3), whole(5, 2, 3)
    yield "gather_axis", lambda x: torch.index_select(x, 1, row), [(2, 5, 3)]
    yield "gather_elements", lambda x: torch.gather(x, 1, some), [(2, 5)]
    yield "scatter_add", lambda x, u: torch.scatter_add(x, 1, some, u), [(2, 5), (2, 3)]
    yield (
        "scatter",
        lambda x, u: torch.scatter(x, 1, torch.tensor([[0, 2, 4], [1, 0, 3]]), u),
        [(2, 5), (2, 3)],
    )
    yield "index_put", lambda x, u: torch.index_put(x, (torch.tensor([0, 2]),), u), [(3, 4), (2, 4)]
    yield "topk", lambda x: torch.topk(x, 2, -1)[0], [(2, 5)]
    yield "sort", lambda x: torch.sort(x, -1)[0] * torch.arange(5.0), [(2, 5)]


def pools() -> Iterator[Case]:
    for name, how in {
        "plain": {"kernel_size": 2},
        "overlap": {"kernel_size": 3, "stride": 2, "padding": 1},
        "stride1": {"kernel_size": 3, "stride": 1, "padding": 1},
        "ceil": {"kernel_size": 3, "stride": 2, "ceil_mode": True},
    }.items():
        yield f"max_pool_{name}", lambda x, h=how: F.max_pool2d(x, **h), [(2, 3, 8, 9)]
        yield f"avg_pool_{name}", lambda x, h=how: F.avg_pool2d(x, **h), [(2, 3, 8, 9)]
    yield (
        "avg_pool_exclude",
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        [(2, 3, 8, 9)],
    )
    yield "max_pool_1d", lambda x: F.max_pool1d(x, 3, 2), [(2, 3, 9)]
    yield "max_pool_dilated", lambda x: F.max_pool2d(x, 2, dilation=2), [(2, 3, 9, 9)]
    yield "adaptive", lambda x: F.adaptive_avg_pool2d(x, 1), [(2, 3, 5, 6)]
    yield "adaptive_max", lambda x: F.adaptive_max_pool2d(x, 1), [(2, 3, 5, 6)]
    yield "adaptive_2", lambda x: F.adaptive_avg_pool2d(x, 2), [(2, 3, 6, 6)]
    for mode, more in (
        ("nearest", {}),
        ("bilinear", {"align_corners": False}),
        ("bilinear", {"align_corners": True}),
        ("bicubic", {"align_corners": False}),
    ):
        name = f"{mode}_{more.get('align_corners', '')}"
        yield (
            f"resize_{name}",
            lambda x, m=mode, o=more: F.interpolate(x, scale_factor=2.0, mode=m, **o),
            [(2, 3, 4, 5)],
        )
        yield (
            f"resize_size_{name}",
            lambda x, m=mode, o=more: F.interpolate(x, size=(7, 6), mode=m, **o),
            [(1, 2, 4, 5)],
        )
    yield "resize_1d", lambda x: F.interpolate(x, scale_factor=2.0), [(2, 3, 4)]


def attentions() -> Iterator[Case]:
    heads: list[Any] = [(2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 8)]

    def plain(q: Any, k: Any, v: Any) -> Any:
        return torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1) @ v

    yield "attention_written", plain, heads
    yield "attention", F.scaled_dot_product_attention, heads
    square: list[Any] = [(2, 3, 5, 8)] * 3
    yield (
        "attention_causal",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        square,
    )
    mask = torch.zeros(5, 5).masked_fill(torch.ones(5, 5).triu(1) > 0, -1e4)
    yield (
        "attention_mask",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
        square,
    )

    def rotary(q: Any, cos: Any, sin: Any) -> Any:
        half = torch.cat([-q[..., 4:], q[..., :4]], -1)
        return q * cos + half * sin

    yield (
        "rotary",
        rotary,
        [(2, 3, 5, 8), torch.cos(whole(9, 5, 8).float()), torch.sin(whole(9, 5, 8).float())],
    )
    yield (
        "swiglu",
        lambda x, a, b, c: F.linear(F.silu(F.linear(x, a)) * F.linear(x, b), c),
        [(2, 3, 4), (8, 4), (8, 4), (4, 8)],
    )


def cases() -> Iterator[Case]:
    """Every one."""
    for group in (
        unary,
        binary,
        products,
        convolutions,
        norms,
        reductions,
        shapes,
        pools,
        attentions,
    ):
        yield from group()


def operands(stated: list[Any]) -> list[torch.Tensor]:
    """Tensors of the operands stated."""
    generator = torch.Generator().manual_seed(0)
    return [
        s if isinstance(s, torch.Tensor) else torch.randn(s, generator=generator) for s in stated
    ]
