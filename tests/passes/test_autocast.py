"""Element types under autocast: parameters widen, products narrow."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.api import typed
from perfc.ir.graph import Module
from perfc.ir.tensors.types import DType
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.manager import Analyses
from perfc.passes.precision.autocast import Autocast, Policy
from perfc.passes.rewriting.canonicalize import Canonicalize

MODELS = Path(__file__).parents[2] / "examples" / "models"


def read(name: str) -> tuple[Analyses, Module]:
    am = Analyses()
    return am, am.apply(Canonicalize(), typed(MODELS / f"{name}.onnx.gz", am=am))


def kernels(am: Analyses, module: Module, mnemonic: str) -> list[Kernel]:
    table = am.get(Fuse("eager"), module)
    return [k for k in table.kernels if k.anchor.op.mnemonic == mnemonic]


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_a_residual_stream_that_met_a_parameter_stays_wide(dtype: DType) -> None:
    am, module = read("vit-b16")
    stored = am.get(Autocast(dtype.code), module)
    norms = kernels(am, module, "layer_norm")
    assert len(norms) == 25
    assert {stored.of(k.reads[0]) for k in norms} == {DType.F32}
    products = kernels(am, module, "matmul") + kernels(am, module, "gemm")
    assert products
    assert {stored.of(v) for k in products for v in k.writes} == {dtype}


def test_nothing_between_convolutions_is_wide() -> None:
    am, module = read("resnet50")
    stored = am.get(Autocast(), module)
    table = am.get(Fuse("eager"), module)
    written = {stored.of(v) for k in table.kernels for v in k.writes}
    assert written == {DType.F16}


def test_softmax_reads_narrow_and_writes_wide() -> None:
    am, module = read("swin-t")
    stored = am.get(Autocast(runtime="eager-unfused"), module)
    table = am.get(Fuse("eager-unfused"), module)
    softmax = [k for k in table.kernels if k.anchor.op.mnemonic == "softmax"]
    assert softmax
    for k in softmax:
        assert stored.policies[k.anchor] is Policy.WIDE_INSIDE
        assert stored.of(k.writes[0]) is DType.F32
