"""Dropout that a training step puts where transformers have it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import perfc
from perfc.errors import PassError
from perfc.ir.graph import Module, Phase
from perfc.ir.syntax.parse import parse_module
from perfc.ir.syntax.text import print_module
from perfc.passes.manager import Analyses
from perfc.passes.memory.saved import Saved
from perfc.passes.roofline.cost import Cost
from perfc.passes.training.decomposition.dropouts import MOST_BRANCHES, Places

from .test_steps import FEEDS, LAYERS, PLAIN, model, results, trained

MODELS = Path(__file__).parents[2] / "examples" / "models"
DROPS = replace(PLAIN, dropout=0.1)
BLOCK = """perfir 1
module @m
graph @main(%ids: i64[2, 4]) {
  %words = weight : f32[9, 8]
  %places = weight : f32[4, 8]
  %order = weight : i64[4] = [0, 1, 2, 3]
  %scale = weight : f32[8]
  %shift = weight : f32[8]
  %q.w = weight : f32[8, 8]
  %v.w = weight : f32[8, 8]
  %o.w = weight : f32[8, 8]
  %o.b = weight : f32[8]
  %up.w = weight : f32[8, 16]
  %down.w = weight : f32[16, 8]
  %word = gather(%words, %ids) {axis = 0} : f32[2, 4, 8]
  %place = gather(%places, %order) {axis = 0} : f32[4, 8]
  %sum = add(%word, %place) : f32[2, 4, 8]
  %x = layer_norm(%sum, %scale, %shift) : f32[2, 4, 8]
  %q = matmul(%x, %q.w) : f32[2, 4, 8]
  %t = transpose(%q) {perm = [0, 2, 1]} : f32[2, 8, 4]
  %s = matmul(%q, %t) : f32[2, 4, 4]
  %p = softmax(%s) : f32[2, 4, 4]
  %v = matmul(%x, %v.w) : f32[2, 4, 8]
  %c = matmul(%p, %v) : f32[2, 4, 8]
  %o = matmul(%c, %o.w) : f32[2, 4, 8]
  %ob = add(%o, %o.b) : f32[2, 4, 8]
  %u = matmul(%x, %up.w) : f32[2, 4, 16]
  %g = gelu(%u) : f32[2, 4, 16]
  %d = matmul(%g, %down.w) : f32[2, 4, 8]
  %both = add(%ob, %d) : f32[2, 4, 8]
  %y = add(%both, %x) : f32[2, 4, 8]
  return %y
}
"""
"""A block of two branches that are added first, as GPT-J has it, after embeddings."""


def dropouts(step: Module) -> list[str]:
    """Return the names of the operands of dropouts."""
    found = []
    for node in step.graph.nodes:
        if node.op.mnemonic == "native_dropout":
            assert node.loc.phase is Phase.FORWARD
            assert node.inputs[0] is not None
            found.append(node.inputs[0].name)
    return found


def test_each_branch_is_dropped_before_the_residual_stream() -> None:
    step = trained(DROPS)
    assert dropouts(step) == [f"c{i}" for i in range(LAYERS)]
    backward = [n for n in step.graph.nodes if n.op.mnemonic == "dropout_grad"]
    assert len(backward) == LAYERS


def test_embeddings_probabilities_and_branches_that_are_added_first_are_dropped() -> None:
    assert dropouts(trained(DROPS, parse_module(BLOCK))) == ["x", "p", "ob", "d"]


def test_a_softmax_that_weighs_nothing_is_not_dropped() -> None:
    text = BLOCK.replace("return %y", "%end = softmax(%y) : f32[2, 4, 8]\n  return %end")
    assert dropouts(trained(DROPS, parse_module(text))) == ["x", "p", "ob", "d"]


def test_sums_of_two_products_are_no_residual_stream() -> None:
    """Gates of a recurrent cell are such sums."""
    text = BLOCK.replace("%y = add(%both, %x)", "%y = add(%both, %o.b)")
    assert dropouts(trained(DROPS, parse_module(text))) == ["x", "p"]


def test_dropping_almost_nothing_changes_no_gradient() -> None:
    plain, drops = trained(PLAIN), trained(replace(PLAIN, dropout=1e-12))
    for a, b in zip(results(plain, FEEDS), results(drops, FEEDS), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_dropping_most_changes_gradients() -> None:
    plain, drops = trained(PLAIN), trained(replace(PLAIN, dropout=0.9))
    assert not np.allclose(results(plain, FEEDS)[1], results(drops, FEEDS)[1], rtol=1e-2)


def test_masks_are_kept_a_byte_an_element_and_kernels_move_more() -> None:
    plain, drops = trained(PLAIN, model(512)), trained(DROPS, model(512))
    kept = [Analyses().get(Saved("eager"), step).bytes_at({}) for step in (plain, drops)]
    assert kept[1] - kept[0] == LAYERS * 512 * 8
    moved = [Analyses().get(Cost(), step).traffic.nbytes for step in (plain, drops)]
    # forward: operand, result and mask; backward: the same
    assert moved[1] - moved[0] == pytest.approx(LAYERS * 512 * 8 * (4 + 4 + 1) * 2, rel=0.01)


def test_a_step_with_dropout_is_read_back() -> None:
    text = print_module(trained(DROPS))
    assert print_module(parse_module(text)) == text


def test_what_cannot_drop_says_so() -> None:
    flat = "perfir 1\nmodule @m\ngraph @main(%x: f32[4, 8]) {\n"
    flat += "  %w = weight : f32[8, 8]\n  %y = matmul(%x, %w) : f32[4, 8]\n  return %y\n}\n"
    with pytest.raises(PassError, match="no place for dropout"):
        trained(DROPS, parse_module(flat))
    has_one = BLOCK.replace(
        "%y = add(%both, %x)", "%z = dropout(%both) : f32[2, 4, 8]\n  %y = add(%z, %x)"
    )
    with pytest.raises(PassError, match="drops elements already"):
        trained(DROPS, parse_module(has_one))


@pytest.mark.parametrize(("runtime", "count"), [("eager", 25), ("eager-unfused", 37)])
@pytest.mark.parametrize("dtype", ["", "amp-f16"])
def test_bert_drops_after_embeddings_and_every_branch(runtime: str, count: int, dtype: str) -> None:
    """Twelve layers of two branches; probabilities too where they are a tensor."""
    report = perfc.analyze(
        MODELS / "bert-base.onnx.gz",
        "a100",
        train="adam",
        dropout=0.1,
        batch=2,
        seq=64,
        dtype=dtype,
        runtime=runtime,
    )
    assert len(dropouts(report.module)) == count


def test_a_gelu_that_is_written_out_is_no_residual_stream() -> None:
    """GPT-2's reads the product before it three times."""
    path = MODELS / "gpt2.onnx.gz"
    report = perfc.analyze(path, "a100", train="adam", dropout=0.1, batch=1, seq=16)
    assert len(dropouts(report.module)) == 1 + 2 * 12


def test_a_long_sum_of_products_is_seen_once() -> None:
    """A sum with more products than parallel branches have is a residual stream."""
    count = 3_000
    lines = ["perfir 1", "module @m", "graph @main(%x: f32[4, 8]) {", "  %w = weight : f32[8, 8]"]
    lines += [f"  %p{i} = matmul(%x, %w) : f32[4, 8]" for i in range(count)]
    lines += ["  %s1 = add(%p0, %p1) : f32[4, 8]"]
    lines += [f"  %s{i} = add(%s{i - 1}, %p{i}) : f32[4, 8]" for i in range(2, count)]
    lines += [f"  %y = add(%x, %s{count - 1}) : f32[4, 8]", "  return %y", "}", ""]
    places = Places(parse_module("\n".join(lines)).graph.nodes)
    names = {v.name for v in places.values}
    assert names == {f"p{i}" for i in range(MOST_BRANCHES + 1, count)}
