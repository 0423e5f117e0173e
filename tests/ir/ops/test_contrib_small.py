"""Small operators of ONNX Runtime: shapes as its CPU executes them, and what is counted."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import perfc
from perfc.errors import PerfcError, ShapeError
from perfc.ir.graph import Value
from perfc.ir.ops.attention.contrib_attention import ProjectedAttention
from perfc.ir.ops.classical.word_embedding import WordConvEmbedding
from perfc.ir.ops.contrib.contrib_math import MurmurHash3
from perfc.ir.ops.movement.movement import UnfoldTensor
from perfc.ir.ops.movement.select import UniqueInOrder
from perfc.ir.symbolic.dim import symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, TensorType

N = symbol("N")


def of(dtype: DType, *shape: Any) -> Value:
    return Value("x", TensorType(dtype, shape))


def test_windows_of_an_axis_become_a_last_axis() -> None:
    x = of(DType.F32, 2, 10, N)
    op = UnfoldTensor(size=3, dim=1, step=2)
    (out,) = op.infer((x,))
    assert out == TensorType(DType.F32, (2, 4, N, 3))
    traffic = op.traffic((x,), (out,))
    # the last of ten positions is in no window
    assert traffic.read_bytes == 2 * 9 * N * 4
    assert traffic.write_bytes == 2 * 4 * 3 * N * 4
    apart = UnfoldTensor(size=2, dim=1, step=4)
    assert apart.traffic((x,), apart.infer((x,))).read_bytes == 2 * 6 * N * 4
    with pytest.raises(ShapeError, match="windows of 3 do not fit 2"):
        UnfoldTensor(size=3, dim=0).infer((x,))


def test_windows_have_a_size() -> None:
    node = helper.make_node("UnfoldTensor", ["x"], ["y"], domain="com.microsoft")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    graph = helper.make_graph([node], "g", [x], [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    with pytest.raises(PerfcError, match="size"):
        perfc.analyze(helper.make_model(graph, opset_imports=opsets))


def test_a_hash_is_counted_by_the_words_of_an_element() -> None:
    op = MurmurHash3()
    (out,) = op.infer((of(DType.I64, N, 2),))
    assert out == TensorType(DType.U32, (N, 2))
    work = op.work((of(DType.I64, N, 2),), (out,))
    assert work is not None
    assert (work.integer, work.is_bound) == (2 * N * (7 * 2 + 9), False)
    text = op.work((of(DType.STR, N),), (TensorType(DType.U32, (N,)),))
    assert text is not None
    assert (text.integer, text.is_bound) == (9 * N, True)
    assert MurmurHash3(positive=0).infer((of(DType.F32, 3),)) == (TensorType(DType.I32, (3,)),)


def test_different_elements_stay_in_their_order() -> None:
    x = Value("x", TensorType(DType.I64, (6,)), Known.vector((2, 1, 1, 3, 4, 3)))
    op = UniqueInOrder()
    types = op.infer((x,))
    assert types == tuple(TensorType(DType.I64, (n,)) for n in (4, 6, 4))
    contents = [None if k is None else k.items for k in op.fold((x,), types)]
    assert contents == [(2, 1, 3, 4), (0, 1, 1, 2, 3, 2), (1, 2, 2, 1)]
    assert op.fold((of(DType.I64, 6),), types) == (None,)


def test_words_are_as_many_as_there_are_filters_wide() -> None:
    words, filters = of(DType.I32, N, 9), of(DType.F32, 7, 1, 3, 4)
    ins = (words, filters, of(DType.F32, 7), of(DType.F32, 20, 4))
    op = WordConvEmbedding()
    types = op.infer(ins)
    assert types == (TensorType(DType.F32, (N, 7)),)
    assert op.work(ins, types) is None
    traffic = op.traffic(ins, types)
    assert (traffic.read_bytes, traffic.is_bound) == (9 * N * 4 + (84 + 7) * 4, True)
    with pytest.raises(ShapeError, match="filters over 4"):
        op.infer((*ins[:3], of(DType.F32, 20, 5)))


def test_the_state_of_attention_is_as_wide_as_the_values() -> None:
    # as onnxruntime executes it: f32[2, 2, 4, 5, 6]
    op = ProjectedAttention(num_heads=4, qkv_hidden_sizes=(8, 8, 24))
    ins = (of(DType.F32, 2, 5, 16), of(DType.F32, 16, 40), of(DType.F32, 40))
    out, state = op.infer(ins)
    assert out == TensorType(DType.F32, (2, 5, 24))
    assert state == TensorType(DType.F32, (2, 2, 4, 5, 6))
