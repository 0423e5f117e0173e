"""Autocast as a what-if: types, launches and times are those of a step under autocast."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

import perfc
from perfc.analyzers import predictor
from perfc.analyzers.steps.kernels import kernel_times
from perfc.analyzers.steps.launch_kind import LaunchKind
from perfc.analyzers.steps.launches import Launch, Listing, launches
from perfc.analyzers.steps.predict import predict_module
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.api import typed
from perfc.errors import PassError
from perfc.ir.evaluate import Numbers
from perfc.ir.graph import Module
from perfc.ir.op import Kind
from perfc.ir.types import DType, TensorType
from perfc.ir.verify import verify
from perfc.machine import load_machine
from perfc.passes.autocast import Autocast
from perfc.passes.canonicalize import Canonicalize
from perfc.passes.fuse import Fuse
from perfc.passes.manager import Analyses
from perfc.passes.mixed import Mixed, stored_types, what_if
from perfc.passes.strides import Strides
from tests.passes.random_graphs import modules

MODELS = Path(__file__).parents[2] / "examples" / "models"
PLACE_OF_TIES = "channels"
"""A trait of the largest operand; which of two as large it is, bytes tell, and they change."""


def canonical(name: str) -> tuple[Module, dict[str, int]]:
    am = Analyses()
    module = am.apply(Canonicalize(), typed(MODELS / f"{name}.onnx.gz", am=am))
    return module, {**dict.fromkeys((s.name for s in module.symbols), 8), **module.defaults()}


@settings(max_examples=100, deadline=None)
@given(modules())
def test_types_are_those_of_autocast(module: Module) -> None:
    am = Analyses()
    module = am.apply(Canonicalize(), module)
    if any(node.regions for node in module.graph.nodes):
        with pytest.raises(PassError, match="control flow"):
            am.apply(Mixed(), module)
        return
    mixed = am.apply(Mixed(), module)
    verify(mixed)
    stored = am.get(Autocast(), module)
    assert mixed.graph.weights == module.graph.weights
    for old, new in zip(module.graph.nodes, mixed.graph.nodes, strict=True):
        assert old.op.mnemonic == new.op.mnemonic
        for was, now in zip(old.results, new.results, strict=True):
            if isinstance(now.type, TensorType):
                assert now.type.dtype is stored.of(was)


def known(launch: Launch) -> tuple[object, ...]:
    traits = {name: v for name, v in launch.traits.items() if name != PLACE_OF_TIES}
    return launch.kind, launch.amounts, traits, launch.times


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", ["resnet50", "vit-b16", "gpt2", "swin-t"])
def test_launches_are_those_of_the_f32_module_under_autocast(name: str, compiled: bool) -> None:
    module, env = canonical(name)
    setting = Setting(Precision.AMP_F16, compiled=compiled)
    expected = launches(module, Analyses(), setting, [env])[1]
    am = Analyses()
    mixed = am.apply(Mixed("f16", setting.runtime), module)
    table = am.get(Fuse(setting.runtime), mixed)
    strides = am.get(Strides(setting.runtime), mixed)
    listing = Listing(table, stored_types(mixed, "f16", am), strides, compiled, [Numbers(env)])
    found = list(listing.all())
    assert list(map(known, found)) == list(map(known, expected))
    assert any(one.kind is LaunchKind.WEIGHT_CAST for one in found)


@pytest.mark.skipif(not predictor.available(), reason="no weights")
@pytest.mark.parametrize("runtime", ["eager", "inductor"])
def test_kernels_add_up_to_the_step(runtime: str) -> None:
    report = perfc.analyze(
        MODELS / "resnet50.onnx.gz", "rtx4090", dims={"batch": 64}, runtime=runtime, dtype="amp-f16"
    )
    every = range(len(report.roofline.kernels))
    times = kernel_times(report.roofline, report.kernels, report.module, every, mixed="f16")
    module, _ = canonical("resnet50")
    setting = Setting(Precision.AMP_F16, compiled=runtime == "inductor", version=(2, 9))
    _, step = predict_module(module, {"batch": 64}, setting, load_machine("rtx4090"))
    assert sum(t.time_s for t in times.values()) == pytest.approx(step.time_s, rel=1e-6)


def test_products_are_narrow_and_norms_wide() -> None:
    report = perfc.analyze(MODELS / "vit-b16.onnx.gz", "a100", runtime="eager", dtype="amp-bf16")
    written = {
        (bound.kernel.kind, v.type.dtype)
        for bound in report.roofline.kernels
        for v in bound.kernel.writes
        if isinstance(v.type, TensorType)
    }
    assert {d for kind, d in written if kind is Kind.MATMUL} == {DType.BF16}
    assert {d for kind, d in written if kind is Kind.NORMALIZATION} == {DType.F32}
    products = [k.kernel for k in report.roofline.kernels if k.kernel.kind is Kind.MATMUL]
    assert {kernel.mac_dtype for kernel in products} == {DType.BF16}


def test_autocast_is_of_wide_models() -> None:
    am = Analyses()
    module = am.apply(what_if("f16", "eager"), canonical("resnet50")[0])
    with pytest.raises(PassError, match="stored in f32"):
        am.apply(what_if("amp-f16", "eager"), module)


def test_an_unknown_precision_names_the_choice() -> None:
    with pytest.raises(PassError, match="amp-bf16"):
        perfc.analyze(MODELS / "resnet50.onnx.gz", "a100", dtype="amp-f8")
