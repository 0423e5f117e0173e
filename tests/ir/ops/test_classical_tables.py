"""Encoders, scalers, vectorisers and maps of ai.onnx.ml: types, work and bytes by hand."""

from __future__ import annotations

from typing import Any

import pytest

from perfc.frontend.lowering.attributes import build
from perfc.ir.cost import Work
from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops import operator_for
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.tensors.types import DType, MapType, SequenceType, Shape, TensorType, Type

N = symbol("N")


def make(name: str, **attrs: Any) -> Op:
    cls = operator_for("ai.onnx.ml", name)
    assert cls is not None
    return build(cls, attrs, 4, 1).op


def of(dtype: DType, *shape: Dim) -> Value:
    return Value("x", TensorType(dtype, shape))


def unranked(dtype: DType) -> Value:
    return Value("x", TensorType(dtype, None))


def typed(op: Op, *ins: Value) -> TensorType:
    (result,) = op.infer(ins)
    assert isinstance(result, TensorType)
    return result


def shape_of(type_: Type) -> Shape:
    assert isinstance(type_, TensorType)
    assert type_.shape is not None
    return type_.shape


def mapping(value: DType) -> Value:
    return Value("m", MapType(DType.STR, TensorType(value, ())))


@pytest.mark.parametrize(
    ("cast_to", "dtype"),
    [("TO_FLOAT", DType.F32), ("TO_STRING", DType.STR), ("TO_INT64", DType.I64)],
)
def test_a_dense_map_becomes_a_row_of_as_many_columns_as_it_has(cast_to: str, dtype: DType) -> None:
    op, ins = make("CastMap", cast_to=cast_to), (mapping(DType.F32),)
    result = typed(op, *ins)
    assert result.dtype is dtype
    rows, columns = shape_of(result)
    assert rows == 1
    assert not isinstance(columns, int)
    assert op.work(ins, (result,)).alu == columns


def test_a_sparse_map_has_a_column_for_every_key_that_may_be() -> None:
    op, ins = make("CastMap", map_form="SPARSE", max_map=9), (mapping(DType.F32),)
    assert typed(op, *ins) == TensorType(DType.F32, (1, 9))
    assert op.work(ins, op.infer(ins)) == Work(alu=9)
    assert typed(make("CastMap", map_form="SPARSE"), *ins).shape == (1, 1)


def test_a_vocabulary_gives_the_columns_of_a_map() -> None:
    op, ins = make("DictVectorizer", int64_vocabulary=(3, 5, 8)), (mapping(DType.F64),)
    assert typed(op, *ins) == TensorType(DType.F64, (1, 3))
    assert op.work(ins, op.infer(ins)).integer == 3
    assert typed(make("DictVectorizer", string_vocabulary=("a", "b")), *ins).shape == (1, 2)
    assert typed(op, of(DType.F32, 4)).dtype is DType.UNKNOWN
    assert typed(make("DictVectorizer"), *ins).shape == (1, 0)


@pytest.mark.parametrize(
    ("name", "alu", "dtype"),
    [
        ("Binarizer", 1, DType.F64),
        ("Imputer", 1, DType.F64),
        ("Scaler", 2, DType.F32),
        ("Normalizer", 3, DType.F32),
    ],
)
def test_elements_of_a_table_are_changed_each(name: str, alu: int, dtype: DType) -> None:
    """Scaler and Normalizer give 32-bit floats whatever they read (ai.onnx.ml 1)."""
    op, ins = make(name), (of(DType.F64, N, 5),)
    outs = op.infer(ins)
    assert outs == (TensorType(dtype, (N, 5)),)
    assert op.work(ins, outs).alu == alu * N * 5
    moved = op.traffic(ins, outs)
    assert (moved.read_bytes, moved.write_bytes) == (8 * 5 * N, dtype.bits // 8 * 5 * N)


def test_labels_are_looked_up() -> None:
    words, numbers = of(DType.STR, N, 2), of(DType.I64, N, 2)
    assert typed(make("CategoryMapper"), words) == TensorType(DType.I64, (N, 2))
    assert typed(make("CategoryMapper"), numbers) == TensorType(DType.STR, (N, 2))
    op = make("LabelEncoder", keys_strings=("a",), values_floats=(0.5,))
    assert typed(op, words) == TensorType(DType.F32, (N, 2))
    assert op.work((words,), op.infer((words,))).integer == 2 * N
    assert typed(make("LabelEncoder", values_int64s=(4,)), numbers).dtype is DType.I64
    assert typed(make("LabelEncoder", values_strings=("b",)), numbers).dtype is DType.STR
    # version 1 names no type: words become numbers, and numbers words
    assert typed(make("LabelEncoder", classes_strings=("b",)), numbers).dtype is DType.STR


def test_one_hot_rows_are_as_long_as_there_are_categories() -> None:
    op, ins = make("OneHotEncoder", cats_int64s=(1, 2, 7)), (of(DType.I64, N, 2),)
    outs = op.infer(ins)
    assert outs == (TensorType(DType.F32, (N, 2, 3)),)
    assert op.work(ins, outs).integer == 6 * N
    assert typed(make("OneHotEncoder", cats_strings=("a",)), of(DType.STR, N)).shape == (N, 1)
    assert typed(op, unranked(DType.I64)) == TensorType(DType.F32, None)
    assert typed(make("OneHotEncoder"), *ins).shape == (N, 2, 0)


def test_columns_are_picked_by_index() -> None:
    op = make("ArrayFeatureExtractor")
    x, y = of(DType.F32, 3, N, 8), of(DType.I64, 2, 2)
    assert typed(op, x, y) == TensorType(DType.F32, (3, N, 4))
    assert typed(op, unranked(DType.F32), y) == TensorType(DType.F32, None)
    rows, columns = shape_of(typed(op, of(DType.F32, 5, 8), unranked(DType.I64)))
    assert rows == 5
    assert not isinstance(columns, int)
    table, at = of(DType.F32, 5, 8), of(DType.I64, 1, 3)
    moved = op.traffic((table, at), op.infer((table, at)))
    # three indices of 8 bytes; 5·3 elements of 4 bytes are read and written
    assert (moved.read_bytes, moved.write_bytes) == (3 * 8 + 60, 60)


def test_tables_are_joined_by_columns() -> None:
    op = make("FeatureVectorizer", inputdimensions=(2, 3))
    left, right = of(DType.F32, N, 2), of(DType.F64, N, 3)
    assert typed(op, left, right) == TensorType(DType.F32, (N, 5))
    assert typed(op, of(DType.F32, 2), of(DType.F32, 3)).shape == (1, 5)
    assert typed(op, of(DType.F32), of(DType.F32)).shape == (1, 5)
    rows, columns = shape_of(typed(make("FeatureVectorizer"), unranked(DType.F32)))
    assert not isinstance(rows, int)
    assert not isinstance(columns, int)


def test_scores_of_every_row_become_a_map() -> None:
    scores = of(DType.F64, N, 3)
    op = make("ZipMap", classlabels_strings=("a", "b", "c"))
    outs = op.infer((scores,))
    assert outs == (SequenceType(MapType(DType.STR, TensorType(DType.F64, ())), N),)
    moved = op.traffic((scores,), outs)
    assert (moved.read_bytes, moved.write_bytes) == (24 * N, 24 * N)
    numbered = make("ZipMap", classlabels_int64s=(1, 2, 3)).infer((of(DType.F32, 3),))
    assert numbered == (SequenceType(MapType(DType.I64, TensorType(DType.F32, ())), 1),)
    (unknown,) = op.infer((unranked(DType.F32),))
    assert isinstance(unknown, SequenceType)
    assert unknown.length is None
