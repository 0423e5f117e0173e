"""Preprocessing of classical machine learning: encoders, scalers, vectorizers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from ... import (
    Attributes,
    Dim,
    DType,
    Extents,
    Inputs,
    Kind,
    Known,
    MapType,
    Natural,
    Naturals,
    Op,
    Parts,
    Positive,
    SequenceType,
    Shape,
    TensorType,
    Traffic,
    Types,
    count,
    dim_sum,
    each_once,
    element_count,
    frozen,
    single,
    tensor,
)
from ...symbolic.fresh import data_extent
from ...traffic import moved, parts_once, rows_read, stored
from ..elementwise.exact import checked


def in_rows(shape: Shape | None) -> tuple[Dim, Dim] | None:
    """Return the numbers of rows and of features of a table; None if the rank is unknown.

    A vector is one row, a scalar a row of one feature.
    """
    if shape is None:
        return None
    if len(shape) < 2:
        return 1, element_count(shape)
    return shape[0], element_count(shape[1:])


def row_count(shape: Shape | None) -> Dim:
    """Return the number of rows of a table; a data-dependent extent if unknown."""
    rows = in_rows(shape)
    return data_extent() if rows is None else rows[0]


ELEMENTS = {float: DType.F32, int: DType.I64, str: DType.STR}
"""Element types of list attributes."""


def together(attrs: Mapping[str, object], names: str) -> TensorType | None:
    """Return a tensor with as many numbers as attributes store together; None if there are none.

    Args:
        attrs: attributes by name: lists, or tensors, which have a ``type``.
        names: names of attributes with blanks between.
    """
    types = [
        TensorType(ELEMENTS.get(type(value[0]), DType.UNKNOWN), (len(value),))
        if isinstance(value, tuple)
        else getattr(value, "type", TensorType(DType.UNKNOWN, (0,)))
        for name in names.split()
        if (value := attrs.get(name))
    ]
    numbers = sum(n for t in types if isinstance(n := t.numel, int))
    return TensorType(types[0].dtype, (numbers,)) if numbers else None


@frozen
class Stored(Op):
    """An operator of classical machine learning that stores numbers in attributes.

    They are parameters of the model: operands after X, each a list of the numbers of several
    attributes. Names of labels and settings of kernel functions are none.
    """

    kind = Kind.CLASSICAL
    operands = "X parameters?"
    stores: ClassVar[Mapping[str, str]] = {"parameters": ""}
    """Names of the attributes with the numbers of each operand, with blanks between."""

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Add the operands that attributes store."""
        return {**attrs, **{name: together(attrs, those) for name, those in cls.stores.items()}}


@frozen
class PerFeature(Op):
    """An operator on every element of a table.

    Shapes:  X -> same shape.
    Work:    {alu}.
    Traffic: each operand and the result once.
    """

    kind = Kind.CLASSICAL
    operands = "X"
    formulas = {"alu": "a*e"}
    alu = 1
    """Vector operations per element."""

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(outs[0]), "a": self.alu}


@frozen
class Binarizer(PerFeature):
    """1 if an element exceeds a threshold, else 0. Source: ai.onnx.ml Binarizer-1."""

    mnemonic = "binarizer"
    onnx = "ai.onnx.ml::Binarizer"
    threshold: float = 0.0


class Imputer(Stored, PerFeature):
    """Missing elements replaced. Source: ai.onnx.ml Imputer-1."""

    mnemonic = "imputer"
    onnx = "ai.onnx.ml::Imputer"
    stores = {"parameters": "imputed_value_floats imputed_value_int64s"}


class Scaler(Stored, PerFeature):
    """``(x - offset) * scale`` in 32-bit floats. Source: ai.onnx.ml Scaler-1."""

    mnemonic = "scaler"
    onnx = "ai.onnx.ml::Scaler"
    stores = {"parameters": "offset scale"}
    alu = 2
    result = DType.F32


@frozen
class Normalizer(PerFeature):
    """Rows divided by their norm, in 32-bit floats.

    Shapes:  X -> same shape.
    Work:    alu = 3*e: magnitude or square, addition or comparison, division.
    Traffic: X and result once.
    Source:  ai.onnx.ml Normalizer-1.
    """

    mnemonic = "normalizer"
    onnx = "ai.onnx.ml::Normalizer"
    alu = 3
    result = DType.F32
    norm: str = "MAX"


@frozen
class Encoder(Stored):
    """Lookup of every element in a table.

    Shapes:  X -> same shape.
    Work:    {integer}: at least one comparison per element.
    Traffic: X and result once, of the table at most an entry for each element.
    """

    operands = "X keys? entries?"
    formulas = {"integer": "e"}
    is_choosing = True

    def result_dtype(self, ins: Inputs) -> DType:
        # a table of strings and integers maps in both directions: the type of X decides
        other = {DType.STR: DType.I64, DType.I64: DType.STR}
        return other.get(tensor(ins, 0).dtype, DType.UNKNOWN)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        whole = each_once(ins, outs)
        return replace(whole, read_bytes=dim_sum(self.read_parts(ins).values()))

    def read_parts(self, ins: Inputs) -> Parts:
        taken = count(tensor(ins, 0))
        return parts_once(ins, {i: rows_read(tensor(ins, i), taken) for i in (1, 2)})


class CategoryMapper(Encoder):
    """Strings to integers or back. Source: ai.onnx.ml CategoryMapper-1."""

    mnemonic = "category_mapper"
    onnx = "ai.onnx.ml::CategoryMapper"
    stores = {"keys": "cats_strings", "entries": "cats_int64s"}


# element type by attribute of a LabelEncoder with the values; a node has one of these attributes
VALUES = {
    "values_strings": DType.STR,
    "values_int64s": DType.I64,
    "values_floats": DType.F32,
}


@frozen
class LabelEncoder(Encoder):
    """Keys to values. Source: ai.onnx.ml LabelEncoder-4; version 1 maps strings and integers."""

    mnemonic = "label_encoder"
    onnx = "ai.onnx.ml::LabelEncoder"
    stores = {
        "keys": "keys_strings keys_int64s keys_floats keys_tensor classes_strings",
        "entries": " ".join((*VALUES, "values_tensor")),
    }
    values: DType = DType.UNKNOWN
    values_tensor: Known | None = None
    values_tensor_dtype: DType = DType.UNKNOWN

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Add the tables and the type of their values."""
        dtypes = [dtype for name, dtype in VALUES.items() if attrs.get(name)]
        return {**super().adapt(attrs, version), **({"values": dtypes[0]} if dtypes else {})}

    def result_dtype(self, ins: Inputs) -> DType:
        # types by the attributes first; version 1 has neither attribute, so that the type of X
        # decides
        given = (self.values, self.values_tensor_dtype, super().result_dtype(ins))
        return next((d for d in given if d is not DType.UNKNOWN), DType.UNKNOWN)


@frozen
class OneHotEncoder(Stored):
    """Every element as a row with a one at its category.

    Shapes:  X[s...] -> f32[s..., categories].
    Work:    {integer}: one comparison per element of the result.
    Traffic: X, the categories and the result once.
    Source:  ai.onnx.ml OneHotEncoder-1.
    """

    mnemonic = "one_hot_encoder"
    onnx = "ai.onnx.ml::OneHotEncoder"
    stores = {"parameters": "cats_int64s cats_strings"}
    formulas = {"integer": "e"}
    categories: Natural = 0
    zeros: Natural = 1

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Add the categories and their number."""
        categories = attrs.get("cats_int64s") or attrs.get("cats_strings") or ()
        return {**super().adapt(attrs, version), "categories": length(categories)}

    def infer(self, ins: Inputs) -> Types:
        shape = tensor(ins, 0).shape
        return single(
            DType.F32, None if shape is None else (*shape, checked(self.categories, "categories"))
        )


def length(attribute: object) -> int:
    """Return the number of values in a list attribute."""
    return len(attribute) if isinstance(attribute, tuple | list) else 0


@frozen
class ArrayFeatureExtractor(Op):
    """Columns of X selected by index.

    Shapes:  X[s..., c], Y of k indices -> [s..., k]; a vector X gives [1, k].
    Work:    none.
    Traffic: the indices, the selected elements, the result.
    Source:  ai.onnx.ml ArrayFeatureExtractor-1.
    """

    mnemonic = "array_feature_extractor"
    onnx = "ai.onnx.ml::ArrayFeatureExtractor"
    operands = "X Y"
    kind = Kind.GATHER

    def infer(self, ins: Inputs) -> Types:
        x, y = tensor(ins, 0), tensor(ins, 1)
        if x.shape is None:
            return single(x.dtype, None)
        selected = data_extent() if y.shape is None else element_count(y.shape)
        # a vector is one row
        lead = x.shape[:-1] if len(x.shape) > 1 else (1,)
        return single(x.dtype, (*lead, selected))

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        indices, result = each_once(ins[1:], ()), each_once((), outs)
        is_bound = indices.is_bound or result.is_bound
        # as many elements are read as written
        return Traffic(indices.read_bytes + result.write_bytes, result.write_bytes, is_bound)


@frozen
class FeatureVectorizer(Op):
    """Tables concatenated by columns in 32-bit floats.

    Shapes:  X[n, c_i]... -> f32[n, sum of inputdimensions].
    Work:    none.
    Traffic: each operand once, the result once.
    Source:  ai.onnx.ml FeatureVectorizer-1.
    """

    mnemonic = "feature_vectorizer"
    onnx = "ai.onnx.ml::FeatureVectorizer"
    operands = "X+"
    kind = Kind.CLASSICAL
    inputdimensions: Naturals = ()

    def infer(self, ins: Inputs) -> Types:
        columns: Dim = data_extent()  # without the attribute
        if self.inputdimensions:
            columns = checked(sum(self.inputdimensions), "inputdimensions")
        return single(DType.F32, (row_count(tensor(ins, 0).shape), columns))


@frozen
class DictVectorizer(Stored):
    """The values of a map in the order of a vocabulary.

    Shapes:  map -> [1, vocabulary].
    Work:    {integer}: a look-up per word.
    Traffic: vocabulary and result; the map's size is not known.
    Source:  ai.onnx.ml DictVectorizer-1.
    """

    mnemonic = "dict_vectorizer"
    onnx = "ai.onnx.ml::DictVectorizer"
    stores = {"parameters": "string_vocabulary int64_vocabulary"}
    formulas = {"integer": "v"}
    vocabulary: Natural = 0

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Add the vocabulary and its size."""
        words = attrs.get("string_vocabulary") or attrs.get("int64_vocabulary") or ()
        return {**super().adapt(attrs, version), "vocabulary": length(words)}

    def infer(self, ins: Inputs) -> Types:
        return single(map_value(ins), (1, checked(self.vocabulary, "vocabulary")))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"v": self.vocabulary}


def map_value(ins: Inputs) -> DType:
    """Return the element type of the values of a map."""
    type_ = ins[0].type if ins and ins[0] is not None else None
    if isinstance(type_, MapType) and isinstance(type_.value, TensorType):
        return type_.value.dtype
    return DType.UNKNOWN


# values of the attribute cast_to
CAST_TO = {"TO_FLOAT": DType.F32, "TO_STRING": DType.STR, "TO_INT64": DType.I64}


@frozen
class CastMap(Op):
    """The values of a map as a row, converted.

    Shapes:  map -> [1, entries]; sparse maps give [1, max_map].
    Work:    {alu}: a conversion per element.
    Traffic: the result; the map's size is not known.
    Source:  ai.onnx.ml CastMap-1.
    """

    mnemonic = "cast_map"
    onnx = "ai.onnx.ml::CastMap"
    operands = "X"
    kind = Kind.CLASSICAL
    formulas = {"alu": "e"}
    cast_to: str = "TO_FLOAT"
    map_form: str = "DENSE"
    max_map: Positive = 1

    def infer(self, ins: Inputs) -> Types:
        columns: Dim = self.max_map if self.map_form == "SPARSE" else data_extent()
        return single(CAST_TO.get(self.cast_to, DType.UNKNOWN), (1, columns))


@frozen
class ZipMap(Op):
    """A map from label to score for every row.

    Shapes:  X[n, c] -> a sequence of n maps.
    Work:    none.
    Traffic: the scores read and written once; the labels, which are attributes, are not counted.
    Source:  ai.onnx.ml ZipMap-1.
    """

    mnemonic = "zip_map"
    onnx = "ai.onnx.ml::ZipMap"
    operands = "X"
    kind = Kind.CONTAINER
    key: DType = DType.I64

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Store only the type of the labels."""
        return {**attrs, "key": DType.STR if attrs.get("classlabels_strings") else DType.I64}

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        rows = in_rows(x.shape)
        element = MapType(self.key, TensorType(x.dtype, ()))
        return (SequenceType(element, None if rows is None else rows[0]),)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        scores = stored(tensor(ins, 0))
        return moved([scores], [scores])  # read, written
