"""Strings and n-grams."""

from __future__ import annotations

from collections.abc import Callable

from ... import (
    DType,
    Inputs,
    Item,
    Kind,
    Op,
    Parts,
    TensorType,
    Types,
    dim_max,
    frozen,
    shape_at,
    single,
)
from ...symbolic.fresh import data_extent
from ...traffic import first_once, parts_once
from ..elementwise.elementwise import Elementwise
from ..elementwise.exact import checked


class StringConcat(Elementwise):
    """Concatenation of corresponding strings. Source: ONNX StringConcat-20."""

    mnemonic = "string_concat"
    onnx = "StringConcat"
    operands = "X Y"
    kind = Kind.STRING
    result = DType.STR

    def evaluator(self, dtype: DType) -> Callable[..., Item] | None:
        return lambda x, y: f"{x}{y}"


@frozen
class RegexFullMatch(Elementwise):
    """True if a string matches a pattern entirely.

    Shapes:  X -> same shape, booleans.
    Work:    not counted: the number of characters is not known.
    Traffic: not known: strings have no fixed width.
    Source:  ONNX RegexFullMatch-20.
    """

    mnemonic = "regex_full_match"
    onnx = "RegexFullMatch"
    operands = "X"
    kind = Kind.STRING
    result = DType.BOOL
    formulas = {}
    is_counted = False
    pattern: str = ""


@frozen
class StringSplit(Op):
    """Substrings of each string, padded to the longest list, and their number.

    Shapes:  X[s...] -> Y[s..., n] with n at most maxsplit + 1, Z[s...] of 64-bit integers.
    Work:    not counted: the number of characters is not known.
    Traffic: not known: strings have no fixed width.
    Source:  ONNX StringSplit-20.
    """

    mnemonic = "string_split"
    onnx = "StringSplit"
    operands = "X"
    kind = Kind.STRING
    is_counted = False
    delimiter: str = ""
    maxsplit: int | None = None

    def infer(self, ins: Inputs) -> Types:
        shape = shape_at(ins, 0)
        # maxsplit counts cuts, one less than pieces; a negative one is no limit
        limit = None if self.maxsplit is None or self.maxsplit < 0 else self.maxsplit + 1
        pieces = data_extent(limit)
        split = TensorType(DType.STR, None if shape is None else (*shape, pieces))
        return split, TensorType(DType.I64, shape)


@frozen
class StringNormalizer(Op):
    """Stop words removed, case changed.

    Shapes:  X[c] or X[1, c] -> the words that stay, one empty string where none does.
    Work:    not counted: the number of characters is not known.
    Traffic: not known: strings have no fixed width.
    Source:  ONNX StringNormalizer-10.
    """

    mnemonic = "string_normalizer"
    onnx = "StringNormalizer"
    operands = "X"
    kind = Kind.STRING
    is_counted = False
    case_change_action: str = "NONE"
    is_case_sensitive: int = 0
    locale: str = ""
    stopwords: tuple[str, ...] = ()

    def infer(self, ins: Inputs) -> Types:
        shape = shape_at(ins, 0)
        if not shape or not self.stopwords:
            return single(DType.STR, shape)
        # from one string, which ONNX returns even if all are stop words, up to all of them
        stay = data_extent(dim_max(shape[-1], 1), 1)
        return single(DType.STR, (*shape[:-1], stay))


@frozen
class TfIdfVectorizer(Op):
    """Counts or weights of n-grams.

    Shapes:  X[c] -> [m], X[n, c] -> [n, m]; m one above the largest of ngram_indexes.
    Work:    not counted: how many n-grams are compared depends on the data.
    Traffic: X and the result once; n-grams and weights by the data.
    Source:  ONNX TfIdfVectorizer-9.
    """

    mnemonic = "tfidf_vectorizer"
    onnx = "TfIdfVectorizer"
    operands = "X pool_int64s? weights?"
    kind = Kind.STRING
    is_counted = False
    ngram_indexes: tuple[int, ...] = ()
    mode: str = "TF"

    traffic = first_once

    def read_parts(self, ins: Inputs) -> Parts:
        return parts_once(ins[:1], {})

    def infer(self, ins: Inputs) -> Types:
        shape = shape_at(ins, 0)
        # indices may leave gaps: the largest decides
        columns = checked(max(self.ngram_indexes, default=-1) + 1, "vector length")
        if shape is None:
            return single(DType.F32, None)
        return single(DType.F32, (*shape[:-1], columns))
