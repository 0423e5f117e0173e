"""Random tensors and dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import (
    ABSENT,
    NO_TRAFFIC,
    Attributes,
    DType,
    Extents,
    Folded,
    Inputs,
    Kind,
    Known,
    Naturals,
    Op,
    Positive,
    Results,
    TensorType,
    Traffic,
    Types,
    count,
    each_once,
    frozen,
    has,
    known,
    known_ints,
    single,
    tensor,
)
from ...tensors.broadcast import broadcast
from ...tensors.contents import small_shape
from ...traffic import result_once

if TYPE_CHECKING:
    from ...gradients.tape import Tape

MASK_IS_BOOL_FROM = 10
"""Opset version since which the mask of Dropout is boolean; before, it has the type of the data."""


@frozen
class Random(Op):
    """Random samples, which are only written.

    Shapes:  the attribute ``shape``, or that of the input.
    Work:    {integer}: at least one operation of the generator a draw.
    Traffic: the result once; an input gives only its shape and type.
    """

    kind = Kind.RANDOM
    formulas = {"integer": "e"}
    dtype: DType = DType.UNKNOWN
    """Element type of the draws; UNKNOWN for that of the input."""
    seed: float | None = None

    def result_dtype(self, ins: Inputs) -> DType:
        return tensor(ins, 0).dtype if self.dtype is DType.UNKNOWN else self.dtype

    traffic = result_once


@frozen
class RandomNormal(Random):
    """Normal draws of a fixed shape. Source: ONNX RandomNormal-22."""

    mnemonic = "random_normal"
    onnx = "RandomNormal"
    dtype: DType = DType.F32
    mean: float = 0.0
    scale: float = 1.0
    shape: Naturals = ()

    def infer(self, ins: Inputs) -> Types:
        return single(self.dtype, self.shape)


@frozen
class RandomUniform(Random):
    """Uniform draws of a fixed shape. Source: ONNX RandomUniform-22."""

    mnemonic = "random_uniform"
    onnx = "RandomUniform"
    dtype: DType = DType.F32
    low: float = 0.0
    high: float = 1.0
    shape: Naturals = ()

    infer = RandomNormal.infer


@frozen
class RandomNormalLike(Random):
    """Normal draws of the input's shape. Source: ONNX RandomNormalLike-22."""

    mnemonic = "random_normal_like"
    onnx = "RandomNormalLike"
    operands = "input"
    mean: float = 0.0
    scale: float = 1.0


@frozen
class RandomUniformLike(Random):
    """Uniform draws of the input's shape. Source: ONNX RandomUniformLike-22."""

    mnemonic = "random_uniform_like"
    onnx = "RandomUniformLike"
    operands = "input"
    low: float = 0.0
    high: float = 1.0


class Bernoulli(Random):
    """0 or 1, drawn with the probabilities in the input.

    Shapes:  input -> same shape.
    Work:    {integer}: at least one operation of the generator a draw.
    Traffic: input and result once.
    Source:  ONNX Bernoulli-22.
    """

    mnemonic = "bernoulli"
    onnx = "Bernoulli"
    operands = "input"

    traffic = Op.traffic  # other draws do not read their input


@frozen
class Multinomial(Random):
    """Indices drawn with the log-probabilities of each row.

    Shapes:  input[b, c] -> [b, sample_size].
    Work:    {integer}: at least one operation of the generator a draw; {sfu} exponentials of
             the x log-probabilities.
    Traffic: input and result once.
    Source:  ONNX Multinomial-22.
    """

    mnemonic = "multinomial"
    onnx = "Multinomial"
    operands = "input"
    formulas = {"integer": "e", "sfu": "x"}
    dtype: DType = DType.I32
    sample_size: Positive = 1

    def infer(self, ins: Inputs) -> Types:
        shape = tensor(ins, 0).shape
        drawn = None if shape is None else (*shape[:1], self.sample_size)
        return single(self.dtype, drawn)

    traffic = Op.traffic  # it reads the log-probabilities

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(outs[0]), "x": count(tensor(ins, 0))}


@frozen
class Dropout(Op):
    """Elements zeroed at random in training, a view in inference.

    Shapes:  data -> output and mask of the same shape.
    Work:    none in inference; in training (``f`` elements) a draw, a product and a selection.
    Traffic: none in inference but the mask where it is used; in training each operand and result.
    Source:  ONNX Dropout-22; arXiv:1207.0580.
    """

    mnemonic = "dropout"
    onnx = "Dropout"
    operands = "data ratio? training_mode?"
    kind = Kind.VIEW
    formulas = {"alu": "2*f", "integer": "f"}  # product and selection; a draw
    seed: int | None = None
    mask_is_bool: bool = True

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Set the mask's type: before version 10 it is that of the data."""
        return attrs if version >= MASK_IS_BOOL_FROM else {**attrs, "mask_is_bool": False}

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        mask = DType.BOOL if self.mask_is_bool else x.dtype
        return TensorType(x.dtype, x.shape), TensorType(mask, x.shape)

    def _trains(self, ins: Inputs) -> bool:
        """Return True if elements are dropped; unknown inputs count as inference."""
        mode, ratio = known_ints(ins, 2), known(ins, 1)
        return mode is not None and any(mode) and not (ratio is not None and ratio.item == 0)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        may_drop = has(ins, 2) and known_ints(ins, 2) != (0,)
        # in inference the result is the operand; an unknown mode may be training
        return () if may_drop else (known(ins, 0),)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        if self._trains(ins):
            return each_once(ins, outs)
        mask = outs[1:2]
        # a mask that nothing reads is not written
        return each_once((), mask) if mask and mask[0] is not ABSENT else NO_TRAFFIC

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"f": count(tensor(ins, 0)) if self._trains(ins) else 0}


@frozen
class NativeDropout(Dropout):
    """Dropout in training: a separate kernel, whose result is not a view of its operand.

    Shapes:  data -> output and mask of the same shape.
    Work:    a draw, a product and a selection for each of ``f`` elements.
    Traffic: each operand and each result once.
    Source:  PyTorch, native_dropout; arXiv:1207.0580.
    """

    mnemonic = "native_dropout"
    onnx = ""
    kind = Kind.ELEMENTWISE

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        # ONNX has one operator for both: the training mode is an operand
        return tape.several(Dropout(self.seed, self.mask_is_bool), ins, len(outs))


@frozen
class BiasDropout(Op):
    """``dropout(data + bias) + residual``.

    Shapes:  data, bias and residual broadcast -> output and mask of that shape.
    Work:    {alu}: an addition for bias and for residual; drawing is left out.
    Traffic: each operand and each result once.
    Source:  ONNX Runtime contrib BiasDropout-1.
    """

    mnemonic = "bias_dropout"
    onnx = "com.microsoft::BiasDropout"
    operands = "data bias residual? ratio? training_mode?"
    formulas = {"alu": "a*e"}
    seed: int | None = None

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        shape = broadcast([x.shape, tensor(ins, 1).shape])
        return TensorType(x.dtype, shape), TensorType(DType.BOOL, shape)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(outs[0]), "a": 1 + has(ins, 2)}


class BitmaskDropout(Dropout):
    """Dropout whose mask is packed, 32 elements in an integer.

    Shapes:  data -> output of the same shape, mask u32[(e + 31)//32] for e elements.
    Work:    as Dropout.
    Traffic: as Dropout.
    Source:  ONNX Runtime contrib BitmaskDropout-1.
    """

    mnemonic = "bitmask_dropout"
    onnx = "com.microsoft::BitmaskDropout"

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        words = None if x.numel is None else ((x.numel + 31) // 32,)  # 32 bits a word, rounded up
        return TensorType(x.dtype, x.shape), TensorType(DType.U32, words)


class BitmaskBiasDropout(BiasDropout):
    """BiasDropout whose mask is packed, 32 elements in an integer.

    Shapes:  as BiasDropout, mask u32[(e + 31)//32] for e elements.
    Source:  ONNX Runtime contrib BitmaskBiasDropout-1.
    """

    mnemonic = "bitmask_bias_dropout"
    onnx = "com.microsoft::BitmaskBiasDropout"

    def infer(self, ins: Inputs) -> Types:
        y, _ = super().infer(ins)
        words = y.numel if isinstance(y, TensorType) else None
        return y, TensorType(DType.U32, None if words is None else ((words + 31) // 32,))


@frozen
class EyeLike(Op):
    """Ones on the diagonal ``k`` of a matrix, zeros elsewhere.

    Shapes:  input[m, n] -> [m, n].
    Work:    none.
    Traffic: the result once; the input gives only its shape and type.
    Source:  ONNX EyeLike-22.
    """

    mnemonic = "eye_like"
    onnx = "EyeLike"
    operands = "input"
    kind = Kind.MOVEMENT
    dtype: DType = DType.UNKNOWN
    k: int = 0

    result_dtype = Random.result_dtype

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        out, shape = outs[0], small_shape(outs[0])
        if not isinstance(out, TensorType) or shape is None or len(shape) != 2:
            return ()
        if not (out.dtype.is_float or out.dtype.is_integer):
            return ()
        m, n = shape
        one, zero = (1.0, 0.0) if out.dtype.is_float else (1, 0)
        items = [one if j - i == self.k else zero for i in range(m) for j in range(n)]
        return (Known.of((m, n), items),)

    traffic = result_once
