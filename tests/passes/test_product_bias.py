"""What is a bias of a product, and what is an addition of something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.ir.graph import Module
from perfc.ir.syntax.parse import parse
from perfc.ir.syntax.text import print_module
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.inference.shapes import Shapes
from perfc.passes.inference.sizing import Sizing
from perfc.passes.manager import Analyses, DumpTo
from perfc.passes.pipeline import parse_pipeline

TEXT = """perfir 1
module @m
graph @main(%x: f32[4, 64], %y: f32[4, 32]) {{
  %w = weight {{bytes=8192}} : f32[64, 32]
  %row = weight {{bytes=128}} : f32[32]
  %table = weight {{bytes=512}} : f32[4, 32]
  %a = matmul(%x, %w) : ?
  %b = add({operands}) : ?
  return %b
}}
"""


def typed(text: str) -> Module:
    return Analyses().apply(Shapes(), parse(text).module)


@pytest.mark.parametrize("runtime", ["ort", "eager", "inductor"])
@pytest.mark.parametrize(
    ("operands", "is_bias"),
    [
        ("%a, %row", True),
        ("%row, %a", True),
        ("%a, %table", False),
        ("%a, %y", False),
        ("%a, %a", False),
    ],
)
def test_a_bias_is_a_stored_row(operands: str, is_bias: bool, runtime: str) -> None:
    """A product that is added to itself has none; onnxruntime asks for a constant, too."""
    table = Analyses().get(Fuse(runtime), typed(TEXT.format(operands=operands)))
    joined = [
        k.pattern for k in table.kernels if {"matmul", "add"} <= {n.op.mnemonic for n in k.nodes}
    ]
    assert bool([p for p in joined if p in ("gemm", "linear")]) is is_bias


def test_a_dump_goes_into_folders_that_are_made_or_are_there(tmp_path: Path) -> None:
    module = parse(TEXT.format(operands="%a, %row")).module
    for _ in range(2):
        am = Analyses((DumpTo(tmp_path / "a" / "b"),))
        parse_pipeline("shapes").run(module, am)
    (file,) = (tmp_path / "a" / "b").iterdir()
    assert file.name == "000-shapes.pir"
    assert file.read_text() == print_module(typed(TEXT.format(operands="%a, %row")))


def test_a_search_for_sizes_counts_what_it_has_typed() -> None:
    text = TEXT.format(operands="%a, %row").replace("[4, 64]", "[n, 64]")
    text = text.replace("module @m\n", "module @m\ndim n in 1.. = 2\n")
    module = parse(text).module
    sizing = Sizing(module, typed(text))
    before = sizing.steps
    sizing.attempt({"n": 4})
    once = sizing.steps - before
    sizing.attempt({"n": 5})
    # two inputs, and three stored tensors with a product and an addition
    assert once >= 2 + 2
    assert sizing.steps - before == 2 * once
    assert not sizing.is_exhausted
