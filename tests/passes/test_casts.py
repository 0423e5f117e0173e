"""What a step keeps under autocast, by hand after PyTorch's lists and its cache of parameters."""

from __future__ import annotations

from collections import Counter

import pytest

from perfc.errors import PassError
from perfc.ir.graph import Module, Node
from perfc.ir.syntax.parse import parse_module
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses
from perfc.passes.memory.saved import Saved
from perfc.passes.precision.casts import Casts
from perfc.passes.precision.mixed import Mixed
from perfc.passes.precision.retype import Retype
from perfc.passes.precision.what_if import what_if
from perfc.passes.rewriting.untie import Untie
from perfc.passes.training.train import Train

BLOCK = """perfir 1
module @m
graph @main(%x: f32[3, 8]) {
  %s = weight : f32[8]
  %o = weight : f32[8]
  %w = weight : f32[8, 8]
  %b = weight : f32[8]
  %p = weight : f32[3, 8]
  %h = matmul(%x, %w) : f32[3, 8]
  %r = add(%h, %p) : f32[3, 8]
  %n = layer_norm(%r, %s, %o) : f32[3, 8]
  %a = matmul(%n, %w) : f32[3, 8]
  %c = add(%a, %b) : f32[3, 8]
  %e = softmax(%c) : f32[3, 8]
  %y = add(%e, %r) : f32[3, 8]
  return %y
}
"""


def cast(text: str = BLOCK, dtype: str = "f16") -> Module:
    am = Analyses()
    module = am.apply(Untie(), am.apply(Shapes(), parse_module(text)))
    return am.apply(Casts(dtype), module)


def types(module: Module) -> dict[str, str]:
    return {v.name: str(v.type).partition("[")[0] for n in module.graph.nodes for v in n.results}


def casts(module: Module) -> list[Node]:
    return [n for n in module.graph.nodes if n.op.mnemonic == "cast"]


def test_values_are_stored_as_pytorch_stores_them() -> None:
    found = types(cast())
    assert [found[name] for name in "hrnaey"] == ["f16", "f32", "f32", "f16", "f32", "f32"]
    assert found["c"] == "f16"
    brain = types(cast(dtype="bf16"))
    assert brain["h"] == brain["c"] == "bf16"


def test_a_parameter_is_cast_once_and_every_operand_that_needs_it() -> None:
    module = cast()
    read = Counter(v.name for n in casts(module) for v in n.inputs if v is not None)
    assert read == {"x": 1, "w": 1, "n": 1, "b": 1}
    assert [n.op.mnemonic for n in module.graph.nodes][:3] == ["cast", "cast", "matmul"]


def test_a_step_keeps_what_is_wide_and_what_products_read() -> None:
    am = Analyses()
    trained = am.apply(Train(optimizer="", loss="mean"), cast())
    kept = {v.name: str(v.type) for v in am.get(Saved("eager"), trained).storages}
    assert kept["r"] == "f32[3, 8]"
    assert kept["e"] == "f32[3, 8]"
    assert sum(t == "f16[3, 8]" for t in kept.values()) >= 2
    narrow = am.apply(Mixed("f16"), am.apply(Shapes(), parse_module(BLOCK)))
    least = am.get(Saved("eager"), am.apply(Train(optimizer="", loss="mean"), narrow))
    assert am.get(Saved("eager"), trained).nbytes > least.nbytes  # type: ignore[operator]


def test_gradients_have_the_types_of_their_values() -> None:
    am = Analyses()
    trained = am.apply(Train(optimizer="", loss="mean"), cast())
    stored = {w.name: w for w in trained.graph.weights}
    gradients = trained.graph.outputs[1:]
    assert [str(g.type) for g in gradients] == [str(stored[n].type) for n in "sowbp"]
    assert {str(g.type).partition("[")[0] for g in gradients} == {"f32"}


def test_a_step_is_cast_and_a_forward_pass_moves_the_least() -> None:
    assert what_if("amp-bf16", trained_by="eager-unfused") == Casts("bf16", "eager-unfused")
    assert what_if("amp-bf16") == Mixed("bf16")
    assert what_if("f16", trained_by="eager") == Retype("f16")


def test_a_model_that_is_stored_narrow_is_refused() -> None:
    text = BLOCK.replace("f32", "f16")
    with pytest.raises(PassError, match="stored in f32"):
        cast(text)


def test_modules_of_a_merged_tensor_cast_their_own() -> None:
    merged = """perfir 1
module @m
graph @main(%x: f32[3, 8]) {
  %blocks.0.fc.weight = weight {location="stripped"} : f32[8, 8]
  %a = matmul(%x, %blocks.0.fc.weight) : f32[3, 8] loc("/blocks.0/fc/MatMul")
  %y = matmul(%a, %blocks.0.fc.weight) : f32[3, 8] loc("/blocks.1/fc/MatMul")
  return %y
}
"""
    found = [v.name for n in casts(cast(merged)) for v in n.inputs if v is not None]
    assert found == ["x", "blocks.0.fc.weight", "blocks.1.fc.weight"]
