"""Reductions, softmax, normalisations and losses."""

from __future__ import annotations

from typing import Any

import pytest

from perfc.errors import ShapeError
from perfc.frontend.lowering.attributes import build
from perfc.ir.cost import Work
from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops import operator_for
from perfc.ir.ops.normalization.arg_reduce import ArgMax
from perfc.ir.ops.normalization.contrib_normalization import (
    EmbedLayerNormalization,
    SkipLayerNormalization,
)
from perfc.ir.ops.normalization.normalization import (
    BatchNormalization,
    Det,
    LayerNormalization,
    RMSNormalization,
)
from perfc.ir.ops.normalization.reduce import ReduceLogSumExp, ReduceMean, ReduceSum
from perfc.ir.ops.normalization.softmax import (
    NegativeLogLikelihoodLoss,
    Softmax,
    SoftmaxCrossEntropyLoss,
)
from perfc.ir.symbolic.dim import Dim, Poly, interval, symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, TensorType

N = symbol("N")


def of(dtype: DType, *shape: Dim) -> Value:
    return Value("x", TensorType(dtype, shape))


def axes(*items: int) -> Value:
    return Value("axes", TensorType(DType.I64, (len(items),)), Known((len(items),), items))


def make(name: str, version: int, **attrs: Any) -> Op:
    cls = operator_for("", name)
    assert cls is not None
    return build(cls, attrs, version, 1).op


def test_reduction_keeps_or_drops_its_axes() -> None:
    x = of(DType.F32, N, 3, 4)
    assert ReduceSum().infer((x, axes(-1, 1)))[0] == TensorType(DType.F32, (N, 1, 1))
    assert ReduceSum(keepdims=0).infer((x, axes(0)))[0] == TensorType(DType.F32, (3, 4))
    assert ReduceSum(keepdims=0).infer((x,))[0] == TensorType(DType.F32, ())
    assert ReduceSum(noop_with_empty_axes=1).infer((x, axes()))[0] == x.type
    with pytest.raises(ShapeError, match="axis 3"):
        ReduceSum().infer((x, axes(3)))


def test_unknown_axes_bound_the_result() -> None:
    x, two = of(DType.F32, 5, 1, 4), of(DType.I64, 2)
    kept = ReduceSum().infer((x, two))[0]
    assert isinstance(kept, TensorType)
    assert kept.shape is not None
    assert kept.shape[1] == 1
    assert [interval(d) for d in kept.shape] == [(1, 5), (1, 1), (1, 4)]
    dropped = ReduceSum(keepdims=0).infer((x, of(DType.I64, 1)))[0]
    assert isinstance(dropped, TensorType)
    assert dropped.rank == 2
    assert ReduceSum(keepdims=0).infer((x, of(DType.I64, N)))[0] == TensorType(DType.F32, None)
    row = of(DType.F32, 5)
    assert ReduceSum(keepdims=0).infer((row, of(DType.I64, 1)))[0] == TensorType(DType.F32, ())


def test_unknown_axes_may_repeat() -> None:
    # onnxruntime takes axes [0, 0] and reduces one axis
    x = of(DType.F32, 2, 3)
    for given in (2, 3):
        assert ReduceSum(keepdims=0).infer((x, of(DType.I64, given)))[0].shape is None  # type: ignore[union-attr]
    kept = ReduceSum().infer((x, of(DType.I64, 2)))[0]
    assert isinstance(kept, TensorType)
    assert kept.shape is not None
    assert [interval(d) for d in kept.shape] == [(1, 2), (1, 3)]


def test_unknown_axes_of_an_extent_that_may_be_zero() -> None:
    may_be_empty = symbol("Z", 0)
    out = ReduceSum().infer((of(DType.F32, may_be_empty), of(DType.I64, N)))[0]
    assert isinstance(out, TensorType)
    assert out.shape is not None
    assert isinstance(out.shape[0], Poly)
    assert interval(out.shape[0])[0] == 0


def test_reductions_count_elements_and_results() -> None:
    ins = (of(DType.F32, 8, 100), axes(1))
    assert ReduceMean().work(ins, ReduceMean().infer(ins)) == Work(alu=800, sfu=8)
    assert ReduceLogSumExp().work(ins, ReduceLogSumExp().infer(ins)) == Work(alu=2408, sfu=808)
    ints = (of(DType.I32, 8, 100), axes(1))
    assert ReduceSum().work(ints, ReduceSum().infer(ints)) == Work(integer=800)


def test_argmax_yields_64_bit_indices() -> None:
    assert ArgMax(axis=-1, keepdims=0).infer((of(DType.F16, N, 1000),))[0] == (
        TensorType(DType.I64, (N,))
    )


def test_softmax_before_version_13_normalises_all_axes_from_its_axis_on() -> None:
    x = of(DType.F32, 2, 3, 4)
    old, new = make("Softmax", 11), make("Softmax", 13)
    assert old.work((x,), old.infer((x,))) == Work(alu=96, sfu=24 + 2)
    assert new.work((x,), new.infer((x,))) == Work(alu=96, sfu=24 + 6)
    with pytest.raises(ShapeError):
        Softmax(axis=3).infer((x,))


def test_layer_norm_statistics_have_ones_for_the_normalised_axes() -> None:
    ins = (of(DType.F16, N, 7, 768), of(DType.F16, 768), of(DType.F16, 768))
    y, mean, deviation = LayerNormalization(axis=-1).infer(ins)
    assert y == TensorType(DType.F16, (N, 7, 768))
    assert mean == deviation == TensorType(DType.F32, (N, 7, 1))
    work = LayerNormalization(axis=-1).work(ins, (y,))
    assert work == Work(alu=N * 7 * 768 * 7, sfu=N * 7)
    rms = RMSNormalization(axis=1)
    assert rms.work(ins[:2], rms.infer(ins[:2])) == Work(alu=N * 7 * 768 * 4, sfu=N)


def test_batch_norm_is_a_product_and_a_sum_in_inference() -> None:
    channel = of(DType.F32, 64)
    ins = (of(DType.F16, N, 64, 7, 7), channel, channel, channel, channel)
    outs = BatchNormalization().infer(ins)
    assert outs[0] == TensorType(DType.F16, (N, 64, 7, 7))
    assert outs[1] == TensorType(DType.F32, (64,))
    assert BatchNormalization().work(ins, outs) == Work(alu=N * 64 * 49 * 2, sfu=64)


def test_skip_layer_norm_adds_what_it_is_given() -> None:
    x, h = of(DType.F32, 2, 10, 16), of(DType.F32, 16)
    op = SkipLayerNormalization()
    outs = op.infer((x, x, h, h, h))
    assert outs[3] == x.type
    assert op.work((x, x, h, h, h), outs) == Work(alu=320 * 9, sfu=20)


def test_embedding_reads_rows_and_not_the_tables() -> None:
    ids, h = of(DType.I32, 1, 10), of(DType.F32, 16)
    words, positions, segments = of(DType.F32, 9000, 16), of(DType.F32, 512, 16), None
    ins = (ids, None, words, positions, segments, h, h)
    op = EmbedLayerNormalization()
    outs = op.infer(ins)
    assert outs[0] == TensorType(DType.F32, (1, 10, 16))
    assert outs[1] == TensorType(DType.I32, (1,))
    read = op.traffic(ins, outs).read_bytes
    assert read == 10 * 4 + 2 * 16 * 4 - 16 * 4 * (ins[5] is ins[6]) + (10 + 10) * 16 * 4


def test_losses_are_scalars_unless_told() -> None:
    scores, labels = of(DType.F32, N, 10, 5), of(DType.I64, N, 5)
    assert NegativeLogLikelihoodLoss().infer((scores, labels)) == (TensorType(DType.F32, ()),)
    loss, log_prob = SoftmaxCrossEntropyLoss(reduction="none").infer((scores, labels))
    assert loss == TensorType(DType.F32, (N, 5))
    assert log_prob == scores.type


@pytest.mark.parametrize("m", range(1, 7))
def test_determinant_counts_what_elimination_does(m: int) -> None:
    divisions = sum(1 for k in range(m) for _ in range(k + 1, m))
    updates = sum(2 for k in range(m) for _ in range(k + 1, m) for _ in range(k + 1, m))
    ins = (of(DType.F64, 3, m, m),)
    assert Det().work(ins, Det().infer(ins)) == Work(alu=3 * (updates + m), sfu=3 * divisions)
