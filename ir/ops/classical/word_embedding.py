"""Word embeddings from characters."""

from __future__ import annotations

from perfc.errors import ShapeError

from ... import Inputs, Kind, Op, Traffic, Types, frozen, same, single, tensor
from ...symbolic.fresh import data_extent
from ...traffic import moved, stored


@frozen
class WordConvEmbedding(Op):
    """Embedded characters of words, convolved along the word, and reduced to the maximum.

    Shapes:  Sequence[s, l], W[f, 1, r, c], B[f], C[v, c] -> Y[s, f].
    Work:    not known: windows follow from how many characters each word has.
    Traffic: Sequence, W and B once, Y once; which rows of C are read follows from the characters,
             so that they are left out of a bound.
    Source:  ONNX Runtime contrib WordConvEmbedding-1.
    """

    mnemonic = "word_conv_embedding"
    onnx = "com.microsoft::WordConvEmbedding"
    operands = "Sequence W B C"
    kind = Kind.OPAQUE
    is_counted = False
    char_embedding_size: int = 0
    conv_window_size: int = 0
    embedding_size: int = 0

    def infer(self, ins: Inputs) -> Types:
        words, filters, table = (tensor(ins, i) for i in (0, 1, 3))
        shapes = filters.shape, table.shape
        ranks = tuple(s if s is None else len(s) for s in shapes)
        if any(r not in (None, n) for r, n in zip(ranks, (4, 2), strict=True)):
            raise ShapeError(f"filters and characters of ranks {list(ranks)}, not 4 and 2")
        w, c = shapes
        # `same` is None for extents that cannot be compared
        if w and c and same(w[3], c[1]) is False:
            raise ShapeError(f"filters over {w[3]} numbers a character, the table has {c[1]}")
        s = words.shape[0] if words.shape else data_extent()
        return single(filters.dtype, (s, w[0] if w else data_extent()))

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        # None for C: an unknown number of rows, so that the traffic is a lower bound
        return moved([*(stored(tensor(ins, i)) for i in range(3)), None], [stored(outs[0])])
