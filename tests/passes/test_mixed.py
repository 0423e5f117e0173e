"""Autocast as a what-if: floors of what it moves at least, times of what it launches."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

import perfc
from perfc.api import typed
from perfc.errors import PassError, PerfcError
from perfc.ir.graph import Module
from perfc.ir.graphs.verify import verify
from perfc.ir.op import Kind
from perfc.ir.tensors.types import DType, TensorType
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.manager import Analyses
from perfc.passes.precision.mixed import Mixed
from perfc.passes.precision.retype import Retype
from perfc.passes.precision.what_if import what_if
from perfc.passes.rewriting.canonicalize import Canonicalize
from tests.passes.random_graphs import modules

MODELS = Path(__file__).parents[2] / "examples" / "models"
NAMES = ("resnet50", "vit-b16", "gpt2", "swin-t", "bert-base")


def canonical(name: str) -> Module:
    am = Analyses()
    return am.apply(Canonicalize(), typed(MODELS / f"{name}.onnx.gz", am=am))


@settings(max_examples=100, deadline=None)
@given(modules())
def test_parameters_stay_and_activations_are_narrow(module: Module) -> None:
    am = Analyses()
    module = am.apply(Canonicalize(), module)
    if any(node.regions for node in module.graph.nodes):
        with pytest.raises(PassError, match="control flow"):
            am.apply(Mixed(), module)
        return
    mixed = am.apply(Mixed(), module)
    verify(mixed)
    assert mixed.graph.weights == module.graph.weights
    for old, new in zip(module.graph.nodes, mixed.graph.nodes, strict=True):
        assert old.op.mnemonic == new.op.mnemonic
        assert all(
            v.type.dtype is not DType.F32 for v in new.results if isinstance(v.type, TensorType)
        )


@pytest.mark.parametrize("runtime", ["eager", "inductor"])
@pytest.mark.parametrize("name", NAMES)
def test_kernels_are_those_of_the_wide_model(name: str, runtime: str) -> None:
    am = Analyses()
    wide = canonical(name)
    mixed = am.apply(Mixed("bf16"), wide)
    both = [am.get(Fuse(runtime), m).kernels for m in (wide, mixed)]
    pairs = [(k.kind, k.pattern, k.anchor.loc, len(k.nodes)) for k in both[0]]
    assert pairs == [(k.kind, k.pattern, k.anchor.loc, len(k.nodes)) for k in both[1]]


def test_casts_cost_what_one_precision_throughout_does_not() -> None:
    def total_s(dtype: str) -> float:
        report = perfc.analyze(
            MODELS / "vit-b16.onnx.gz",
            "rtx3090",
            dims={"batch": 32},
            runtime="eager",
            dtype=dtype,
            predictor="kernels",
        )
        return report.prediction.total.time_s

    assert 1.05 * total_s("f16") < total_s("amp-f16") < 2 * total_s("f16")


def test_floors_are_no_higher_than_of_one_wide_model_and_no_lower_than_of_a_narrow_one() -> None:
    def floor_s(dtype: str) -> float:
        return perfc.analyze(
            MODELS / "vit-b16.onnx.gz", "a100", dims={"batch": 8}, runtime="eager", dtype=dtype
        ).roofline.floor_s

    assert floor_s("bf16") <= floor_s("amp-bf16") <= floor_s("f32")


def test_products_are_narrow() -> None:
    report = perfc.analyze(MODELS / "vit-b16.onnx.gz", "a100", runtime="eager", dtype="amp-bf16")
    products = [k.kernel for k in report.roofline.kernels if k.kernel.kind is Kind.MATMUL]
    assert {kernel.mac_dtype for kernel in products} == {DType.BF16}


def test_autocast_is_of_wide_models() -> None:
    am = Analyses()
    module = am.apply(Retype("f16"), canonical("resnet50"))
    with pytest.raises(PassError, match="stored in f32"):
        am.apply(what_if("amp-f16"), module)


def test_an_unknown_precision_names_the_choice() -> None:
    with pytest.raises(PerfcError, match="amp-bf16"):
        perfc.analyze(MODELS / "resnet50.onnx.gz", "a100", dtype="amp-f8")
