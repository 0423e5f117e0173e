"""Rules of operators that exporters seldom write, against PyTorch's autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: N812

from perfc.ir.gradients.tape import Tape
from perfc.ir.graph import Graph, Value
from perfc.ir.syntax.parse import parse_module
from perfc.ir.syntax.text import all_values
from perfc.passes.training.differentiate import differentiate
from tests.oracles import executed

Q = (2, 3, 4, 8)


def rms(x: Any, w: Any) -> Any:
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w


def causal(q: Any, k: Any, v: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def grouped(q: Any, k: Any, v: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def flat(q: Any, k: Any, v: Any) -> Any:
    parts = [t.reshape(2, -1, 2, 4).transpose(1, 2) for t in (q, k, v)]
    return F.scaled_dot_product_attention(*parts).transpose(1, 2).reshape(2, -1, 8)


def batch_norm(x: Any, w: Any, b: Any) -> Any:
    return F.batch_norm(x, torch.zeros(4), torch.ones(4), w, b, training=True)


def responses(x: Any) -> Any:
    """ONNX LRN-13 over four channels: one before, two after."""
    squares = F.pad(x * x, (0, 0, 1, 2))
    sums = sum(squares[:, i : i + 6] for i in range(4))
    return x / (1.3 + 0.7 / 4 * sums) ** 0.6


def halves_turned(x: Any, cos: Any, sin: Any) -> Any:
    """ONNX RotaryEmbedding-23: pairs half of what is rotated apart."""
    a, b, rest = x[..., : cos.shape[-1]], x[..., cos.shape[-1] : 2 * cos.shape[-1]], x
    rest = x[..., 2 * cos.shape[-1] :]
    return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)


def turned(x: Any) -> Any:
    """Rotate all elements of each head of [2, 3, 4, 8] by positions 0 to 3."""
    return halves_turned(x, COS[:4], SIN[:4])


def turned_flat(x: Any) -> Any:
    """Rotate six elements of each head of packed [6, 3 * 8] by given positions."""
    apart = x.reshape(6, 3, 8)
    places = torch.tensor(PLACES)
    cos, sin = COS[places][:, None, :3], SIN[places][:, None, :3]
    return halves_turned(apart, cos, sin).reshape(6, 24)


def turned_pairs(x: Any) -> Any:
    """Rotate adjacent pairs of [2, 3, 4, 8]."""
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = COS[:4], SIN[:4]
    return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)


def packed(q: Any, k: Any, v: Any, heads: tuple[int, int], *, is_causal: bool = True) -> Any:
    """Two sequences of four packed tokens, with fewer heads of keys."""
    h, g = heads
    own = [t.reshape(2, 4, n, -1).transpose(1, 2) for t, n in ((q, h), (k, g), (v, g))]
    found = F.scaled_dot_product_attention(*own, is_causal=is_causal, enable_gqa=True)
    return found.transpose(1, 2).reshape(8, -1)


def merged(x: Any) -> Any:
    """Queries of four heads, keys and values of two side by side."""
    return packed(*x.split((16, 8, 8), -1), (4, 2))


def merged_keys(x: Any, v: Any) -> Any:
    """Queries and keys side by side."""
    return packed(*x.split((16, 8), -1), v, (4, 2))


def chosen(scores: Any, k: int, *, is_shared: bool = False) -> Any:
    """The k largest probabilities, the others zero."""
    p = torch.softmax(scores, -1)
    kept = torch.where(p >= p.topk(k, -1).values[:, -1:], p, torch.zeros(()))
    return kept / kept.sum(-1, keepdim=True) if is_shared else kept


def experts(x: Any, scores: Any, first: Any, b1: Any, second: Any, b2: Any) -> Any:
    """ONNX Runtime MoE with GELU: every expert on every token, weighted."""
    inner = F.gelu(torch.einsum("ni,efi->enf", x, first) + b1[:, None])
    rows = torch.einsum("enm,eim->eni", inner, second) + b2[:, None]
    return torch.einsum("eni,ne->ni", rows, chosen(scores, 2))


def gated_experts(x: Any, scores: Any, first: Any, second: Any) -> Any:
    """The same with SwiGLU, gate and the rest in turns, and shares of one."""
    both = torch.einsum("ni,efi->enf", x, first)
    rows = torch.einsum("enm,eim->eni", F.silu(both[..., 0::2]) * both[..., 1::2], second)
    return torch.einsum("eni,ne->ni", rows, chosen(scores, 1, is_shared=True))


def gate(x: Any, activation: Callable[..., Any]) -> Any:
    left, right = x.chunk(2, -1)
    return activation(left) * right


ANGLES = torch.arange(8)[:, None] * torch.tensor([1.0, 0.3, 0.1, 0.03])
COS, SIN, PLACES = ANGLES.cos(), ANGLES.sin(), (3, 0, 5, 1, 1, 7)
RAGGED = "{num_heads=4, kv_heads=2, head_dim=4, value_dim=4}"


def stored(name: str, values: Any) -> str:
    """A tensor that a case reads, as text."""
    return f"  %{name} = weight : f32{list(values.shape)} = {values.tolist()}\n"


CASES: dict[str, tuple[str, list[tuple[int, ...]], Callable[..., Any]]] = {
    "attention": (
        "attention(%0, %1, %2)",
        [Q, (2, 3, 6, 8), (2, 3, 6, 8)],
        F.scaled_dot_product_attention,
    ),
    "attention_causal": ("attention(%0, %1, %2) {is_causal=1}", [Q] * 3, causal),
    "attention_grouped": (
        "attention(%0, %1, %2)",
        [(2, 4, 4, 8), (2, 2, 6, 8), (2, 2, 6, 8)],
        grouped,
    ),
    "attention_flat": (
        "attention(%0, %1, %2) {q_num_heads=2, kv_num_heads=2}",
        [(2, 4, 8), (2, 6, 8), (2, 6, 8)],
        flat,
    ),
    "rms_norm": ("rms_norm(%0, %1)", [(2, 3, 6), (6,)], rms),
    "group_norm": (
        "group_norm(%0, %1, %2) {num_groups=2}",
        [(2, 4, 3, 5), (4,), (4,)],
        lambda x, w, b: F.group_norm(x, 2, w, b),
    ),
    "lrn": (
        "lrn(%0) {size=3, alpha=0.7, beta=0.75, bias=1.3}",
        [(2, 6, 3, 5)],
        lambda x: F.local_response_norm(x, 3, 0.7, 0.75, 1.3),
    ),
    "lrn_even": ("lrn(%0) {size=4, alpha=0.7, beta=0.6, bias=1.3}", [(2, 6, 3)], responses),
    "col2im": (
        "col2im(%0, %image, %block) {pads=[1, 0, 1, 0], strides=[2, 1]}",
        [(2, 12, 15)],
        lambda x: F.fold(x, (5, 6), (3, 2), padding=(1, 0), stride=(2, 1)),
    ),
    "swish": ("swish(%0)", [(3, 5)], F.silu),
    "quick_gelu": ("quick_gelu(%0)", [(3, 5)], lambda x: x * torch.sigmoid(1.702 * x)),
    "swiglu": ("swiglu(%0, %1)", [(3, 5), (3, 5)], lambda a, b: F.silu(a) * b),
    "fast_gelu": (
        "fast_gelu(%0, %1)",
        [(3, 5), (5,)],
        lambda x, b: F.gelu(x + b, approximate="tanh"),
    ),
    "bias_gelu": ("bias_gelu(%0, %1)", [(3, 5), (5,)], lambda x, b: F.gelu(x + b)),
    "prelu": ("prelu(%0, %1)", [(3, 5), (5,)], lambda x, a: torch.where(x > 0, x, a * x)),
    "sinh": ("sinh(%0)", [(3, 5)], torch.sinh),
    "cosh": ("cosh(%0)", [(3, 5)], torch.cosh),
    "asinh": ("asinh(%0)", [(3, 5)], torch.asinh),
    "shrink": ("shrink(%0) {lambd=0.4}", [(3, 5)], lambda x: F.hardshrink(x, 0.4)),
    "sum": ("sum(%0, %1, %2)", [(3, 5), (5,), (3, 1)], lambda a, b, c: a + b + c),
    "mean": ("mean(%0, %1)", [(3, 5), (5,)], lambda a, b: (a + b) / 2),
    "rotary": ("rotary_embedding(%0, %cos, %sin, %places)", [Q], turned),
    "rotary_packed": (
        "rotary_embedding(%0, %cos, %sin, %places) {num_heads=3, rotary_embedding_dim=6}",
        [(6, 24)],
        turned_flat,
    ),
    "rotary_pairs": (
        "rotary_embedding(%0, %cos, %sin, %places) {interleaved=1}",
        [Q],
        turned_pairs,
    ),
    "ragged": (
        f"ragged_attention(%0, %1, %2, %lengths) {RAGGED}",
        [(8, 16), (8, 8), (8, 8)],
        lambda q, k, v: packed(q, k, v, (4, 2)),
    ),
    "ragged_both_ways": (
        "ragged_attention(%0, %1, %2, %lengths) "
        "{num_heads=4, kv_heads=4, head_dim=4, value_dim=4, is_causal=0}",
        [(8, 16)] * 3,
        lambda q, k, v: packed(q, k, v, (4, 4), is_causal=False),
    ),
    "ragged_merged": (f"ragged_attention(%0, _, _, %lengths) {RAGGED}", [(8, 32)], merged),
    "ragged_merged_keys": (
        f"ragged_attention(%0, _, %1, %lengths) {RAGGED}",
        [(8, 24), (8, 8)],
        merged_keys,
    ),
    "gated_silu": ("gated_activation(%0)", [(3, 10)], lambda x: gate(x, F.silu)),
    "gated_gelu": (
        'gated_activation(%0) {activation="gelu"}',
        [(3, 10)],
        lambda x: gate(x, F.gelu),
    ),
    "gated_gelu_tanh": (
        'gated_activation(%0) {activation="fastgelu"}',
        [(3, 10)],
        lambda x: gate(x, lambda a: F.gelu(a, approximate="tanh")),
    ),
    "gated_quick_gelu": (
        'gated_activation(%0) {activation="quickgelu"}',
        [(2, 3, 10)],
        lambda x: gate(x, lambda a: a * torch.sigmoid(1.702 * a)),
    ),
    "gated_relu": (
        'gated_activation(%0) {activation="relu"}',
        [(3, 10)],
        lambda x: gate(x, F.relu),
    ),
    "gated_relu2": (
        'gated_activation(%0) {activation="relu2"}',
        [(3, 10)],
        lambda x: gate(x, lambda a: F.relu(a) ** 2),
    ),
    "gated_tanh": (
        'gated_activation(%0) {activation="tanh"}',
        [(3, 10)],
        lambda x: gate(x, torch.tanh),
    ),
    "gated_rms_norm": (
        "gated_rms_norm(%0, %1, %2)",
        [(2, 3, 6), (6,), (2, 3, 6)],
        lambda x, w, g: rms(x, w) * F.silu(g),
    ),
    "moe": (
        'moe(%0, %1, %2, %3, %4, %5) {k=2, activation_type="gelu"}',
        [(5, 6), (5, 4), (4, 8, 6), (4, 8), (4, 6, 8), (4, 6)],
        experts,
    ),
    "moe_gated": (
        "moe(%0, %1, %2, _, %3) "
        '{k=1, activation_type="swiglu", swiglu_fusion=1, normalize_routing_weights=1}',
        [(5, 6), (5, 4), (4, 16, 6), (4, 6, 8)],
        gated_experts,
    ),
    "all_reduce": ("all_reduce(%0) {ranks=2}", [(3, 5)], lambda x: x + 0),
    "batch_norm": (
        "batch_norm(%0, %1, %2, %mean, %var) {training_mode=1}",
        [(3, 4, 2, 5), (4,), (4,)],
        batch_norm,
    ),
}
PLAIN_ANGLES = (
    stored("cos", COS)
    + stored("sin", SIN)
    + "  %places = weight : i64[2, 4] = [[0, 1, 2, 3], [0, 1, 2, 3]]\n"
)
STORED = {
    "batch_norm": """\
  %mean = weight : f32[4] = [0.0, 0.0, 0.0, 0.0]
  %var = weight : f32[4] = [1.0, 1.0, 1.0, 1.0]
""",
    "col2im": """\
  %image = weight {constant=true} : i64[2] = [5, 6]
  %block = weight {constant=true} : i64[2] = [3, 2]
""",
    "rotary": PLAIN_ANGLES,
    "rotary_pairs": PLAIN_ANGLES,
    "rotary_packed": stored("cos", COS[:, :3])
    + stored("sin", SIN[:, :3])
    + f"  %places = weight : i64[6] = [{', '.join(map(str, PLACES))}]\n",
}
"""Tensors that a case reads besides."""
STORED |= {
    name: "  %lengths = weight : i32[2] = [4, 4]\n" for name in CASES if name.startswith("ragged")
}


@pytest.mark.parametrize("name", CASES)
def test_the_rule_agrees_with_autograd(name: str) -> None:
    call, shapes, function = CASES[name]
    generator = torch.Generator().manual_seed(2)
    ins = [torch.randn(s, generator=generator, requires_grad=True) for s in shapes]
    y = function(*ins)
    seed = torch.randn(y.shape, generator=generator)
    theirs = [t.numpy() for t in torch.autograd.grad(y, ins, seed)]
    named = ", ".join(f"%{i}: f32{list(s)}" for i, s in enumerate(shapes))
    text = f"perfir 1\nmodule @m\ngraph @main({named}) {{\n"
    text += STORED.get(name, "")
    text += f"  %y = {call} : f32{list(y.shape)}\n  return %y\n}}\n"
    graph = parse_module(text).graph
    tape = Tape(v.name for v in all_values(graph))
    start = Value("seed", graph.outputs[0].type)
    wanted = [v for v in graph.inputs if v.is_real]
    found = differentiate(graph.nodes, {graph.outputs[0]: start}, wanted, tape)
    outputs = tuple(found.gradients[v] for v in wanted)
    weights = (*graph.weights, *tape.constants.values())
    whole = Graph("g", (*graph.inputs, start), outputs, (*found.forward, *tape.nodes), weights)
    feeds = {str(i): t.detach().numpy() for i, t in enumerate(ins)} | {"seed": seed.numpy()}
    for a, b, v in zip(theirs, executed.run(whole, feeds), outputs, strict=True):
        assert v.type.shape == a.shape == b.shape
        np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-5)


def test_dropout_passes_what_it_kept() -> None:
    text = """\
perfir 1
module @m
graph @main(%x: f32[50, 40]) {
  %ratio = weight {constant=true} : f32[] = 0.25
  %mode = weight {constant=true} : b1[] = true
  %y = dropout(%x, %ratio, %mode) : f32[50, 40]
  return %y
}
"""
    graph = parse_module(text).graph
    tape = Tape(v.name for v in all_values(graph))
    start = Value("seed", graph.outputs[0].type)
    found = differentiate(graph.nodes, {graph.outputs[0]: start}, graph.inputs, tape)
    outputs = (*graph.outputs, found.gradients[graph.inputs[0]])
    weights = (*graph.weights, *tape.constants.values())
    whole = Graph("g", (*graph.inputs, start), outputs, (*found.forward, *tape.nodes), weights)
    ones = np.ones((50, 40), "f4")
    y, dx = executed.run(whole, {"x": ones, "seed": ones})
    np.testing.assert_allclose(y, dx, rtol=1e-6)
    assert 0.15 < (dx == 0).mean() < 0.35
