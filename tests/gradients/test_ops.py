"""Rules of operators that exporters seldom write, against PyTorch's autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812

from perfc.ir.gradients.tape import Tape  # noqa: E402
from perfc.ir.graph import Graph, Value  # noqa: E402
from perfc.ir.parse import parse_module  # noqa: E402
from perfc.ir.text import all_values  # noqa: E402
from perfc.passes.training.differentiate import differentiate  # noqa: E402
from tests.oracles import executed  # noqa: E402

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


CASES: dict[str, tuple[str, list[tuple[int, ...]], Callable[..., Any]]] = {
    "attention": ("attention(%0, %1, %2)", [Q, (2, 3, 6, 8), (2, 3, 6, 8)],
                  F.scaled_dot_product_attention),
    "attention_causal": ("attention(%0, %1, %2) {is_causal=1}", [Q] * 3, causal),
    "attention_grouped": ("attention(%0, %1, %2)", [(2, 4, 4, 8), (2, 2, 6, 8), (2, 2, 6, 8)],
                          grouped),
    "attention_flat": ("attention(%0, %1, %2) {q_num_heads=2, kv_num_heads=2}",
                       [(2, 4, 8), (2, 6, 8), (2, 6, 8)], flat),
    "rms_norm": ("rms_norm(%0, %1)", [(2, 3, 6), (6,)], rms),
    "group_norm": ("group_norm(%0, %1, %2) {num_groups=2}", [(2, 4, 3, 5), (4,), (4,)],
                   lambda x, w, b: F.group_norm(x, 2, w, b)),
    "lrn": ("lrn(%0) {size=3, alpha=0.7, beta=0.75, bias=1.3}", [(2, 6, 3, 5)],
            lambda x: F.local_response_norm(x, 3, 0.7, 0.75, 1.3)),
    "lrn_even": ("lrn(%0) {size=4, alpha=0.7, beta=0.6, bias=1.3}", [(2, 6, 3)], responses),
    "col2im": ("col2im(%0, %image, %block) {pads=[1, 0, 1, 0], strides=[2, 1]}", [(2, 12, 15)],
               lambda x: F.fold(x, (5, 6), (3, 2), padding=(1, 0), stride=(2, 1))),
    "swish": ("swish(%0)", [(3, 5)], F.silu),
    "quick_gelu": ("quick_gelu(%0)", [(3, 5)], lambda x: x * torch.sigmoid(1.702 * x)),
    "swiglu": ("swiglu(%0, %1)", [(3, 5), (3, 5)], lambda a, b: F.silu(a) * b),
    "fast_gelu": ("fast_gelu(%0, %1)", [(3, 5), (5,)],
                  lambda x, b: F.gelu(x + b, approximate="tanh")),
    "bias_gelu": ("bias_gelu(%0, %1)", [(3, 5), (5,)], lambda x, b: F.gelu(x + b)),
    "prelu": ("prelu(%0, %1)", [(3, 5), (5,)], lambda x, a: torch.where(x > 0, x, a * x)),
    "sinh": ("sinh(%0)", [(3, 5)], torch.sinh), "cosh": ("cosh(%0)", [(3, 5)], torch.cosh),
    "asinh": ("asinh(%0)", [(3, 5)], torch.asinh),
    "shrink": ("shrink(%0) {lambd=0.4}", [(3, 5)], lambda x: F.hardshrink(x, 0.4)),
    "sum": ("sum(%0, %1, %2)", [(3, 5), (5,), (3, 1)], lambda a, b, c: a + b + c),
    "mean": ("mean(%0, %1)", [(3, 5), (5,)], lambda a, b: (a + b) / 2),
    "batch_norm": ("batch_norm(%0, %1, %2, %mean, %var) {training_mode=1}",
                   [(3, 4, 2, 5), (4,), (4,)], batch_norm),
}  # fmt: skip
STORED = {
    "batch_norm": """\
  %mean = weight : f32[4] = [0.0, 0.0, 0.0, 0.0]
  %var = weight : f32[4] = [1.0, 1.0, 1.0, 1.0]
""",
    "col2im": """\
  %image = weight {constant=true} : i64[2] = [5, 6]
  %block = weight {constant=true} : i64[2] = [3, 2]
""",
}
"""Tensors that a case reads besides."""


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
