"""Kernels that are said to be alike are: nothing changes where each is looked at by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfc.analyzers.estimators import Execution
from perfc.analyzers.runs.prediction import PredictionTable, predicted
from perfc.frontend import load
from perfc.ir.graph import Module
from perfc.machine import load_machine
from perfc.passes.fusion.fuse import Fuse, KernelTable
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses
from perfc.passes.roofline.roofline import RooflineTable, bounds
from perfc.passes.runtimes import runtimes
from tests.passes.random_graphs import modules

EXAMPLES = Path(__file__).parents[2] / "examples" / "models"


def told_apart(table: KernelTable) -> KernelTable:
    """The same kernels, none of which is said to be like another."""
    apart = tuple(replace(k, identity=i) for i, k in enumerate(table.kernels))
    return replace(table, kernels=apart, memo={})


def results(table: KernelTable, module: Module, target: str) -> tuple[RooflineTable, object]:
    roof = bounds(table, load_machine(target), module.defaults())
    found: PredictionTable = predicted(Execution(roof, table, module))
    return roof, (found.kernels, found.energies, found.total, found.notes)


def check(module: Module, runtime: str, target: str) -> KernelTable:
    table = Analyses().get(Fuse(runtime), module)
    roof, found = results(table, module, target)
    other, expected = results(told_apart(table), module, target)
    for a, b in zip(roof.kernels, other.kernels, strict=True):
        # the kernel itself differs in its number alone
        assert replace(a, kernel=b.kernel) == b
    assert found == expected
    return table


@settings(max_examples=60, deadline=None)
@given(modules(), st.sampled_from(runtimes()), st.sampled_from(("a100", "t4", "mi210")))
def test_drawn_kernels(module: Module, runtime: str, target: str) -> None:
    check(module, runtime, target)


@pytest.mark.parametrize("runtime", ["ort", "inductor", "tensorrt", "ort:3"])
@pytest.mark.parametrize(("name", "few"), [("bert-base", 0.2), ("resnet50", 0.7)])
def test_layers_that_repeat(name: str, few: float, runtime: str) -> None:
    module = Analyses().apply(Shapes(), load(EXAMPLES / f"{name}.onnx.gz"))
    table = check(module, runtime, "a100")
    numbers = {k.identity for k in table.kernels}
    assert len(numbers) < few * len(table.kernels)
