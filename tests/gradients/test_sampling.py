"""The gradient of sampling: what it is made of, counted by hand."""

from __future__ import annotations

import pytest

from perfc.ir.graph import Module, Node
from perfc.ir.ops.resampling.sample_grad import GridSampleGrad
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.syntax.parse import parse_module
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses
from perfc.passes.memory.saved import Saved
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.roofline.cost import Cost
from perfc.passes.training.train import Train

TEXT = """\
perfir 1
module @m
graph @main(%x: f32[2, 4, 6, 6], %g: f32[2, 5, 5, 2]) {{
  %w = weight : f32[4, 4, 1, 1]
  %offset = weight : f32[2, 5, 5, 2]
  %c = conv(%x, %w) : f32[2, 4, 6, 6]
  %h = add(%g, %offset) : f32[2, 5, 5, 2]
  %y = grid_sample(%c, %h) {{mode="{mode}"}} : f32[2, 4, 5, 5]
  return %y
}}
"""


def step(mode: str) -> Module:
    am = Analyses()
    module = am.apply(Shapes(), parse_module(TEXT.format(mode=mode)))
    module = am.apply(Canonicalize(keeps_parameters=True), module)
    return am.apply(Train(optimizer="", loss="mean"), module)


def gradient_in(module: Module) -> Node:
    return next(n for n in module.graph.nodes if isinstance(n.op, GridSampleGrad))


# four taps, each a product and an addition into the image and for both coordinates; one addition
@pytest.mark.parametrize(("mode", "each", "reads"), [("linear", 4 * 6, 3), ("nearest", 1, 2)])
def test_samples_are_added_back(mode: str, each: int, reads: int) -> None:
    module = step(mode)
    node = gradient_in(module)
    cost = Analyses().get(Cost(), module).nodes[node]
    elements, image, grid = 2 * 4 * 5 * 5, 2 * 4 * 6 * 6, 2 * 5 * 5 * 2
    assert evaluate(cost.work.alu, {}) == elements * each
    read = elements + grid + (image if reads == 3 else 0)
    assert evaluate(cost.traffic.read_bytes, {}) == 4 * read
    assert evaluate(cost.traffic.write_bytes, {}) == 4 * (image + grid)
    assert [v.type for v in node.results] == [v.type for v in node.inputs[1:] if v is not None]


def test_the_image_and_the_grid_are_kept() -> None:
    kept = {v.name for v in Analyses().get(Saved("eager"), step("linear")).storages}
    assert {"c", "h"} <= kept
