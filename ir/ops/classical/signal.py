"""Fourier transforms, windows and filter banks."""

from __future__ import annotations

from perfc.errors import ShapeError

from ... import (
    Attributes,
    Dim,
    DType,
    Extents,
    Inputs,
    Kind,
    Op,
    TensorType,
    Types,
    count,
    element_count,
    frozen,
    has,
    interval,
    known,
    known_ints,
    normal_axis,
    shape_at,
    single,
    tensor,
)
from ...symbolic.fresh import data_extent
from ...traffic import result_once
from ..elementwise.exact import checked

AXIS_IS_INPUT_FROM = 20
"""Opset version since which the axis of DFT is an input, -2 by default; before, attribute 1."""


def extent_of(ins: Inputs, index: int) -> Dim | None:
    """Return the content of a scalar input as an extent; None if unknown.

    Raises:
        ShapeError: it is negative.
    """
    content = known(ins, index)
    if content is None or len(content.dims) != 1 or content.dims[0] is None:
        return None
    return checked(content.dims[0], f"input {index}")


def log2_floor(extent: Dim) -> int:
    """Return ``floor(log2(extent))`` of the minimum value of ``extent``."""
    lo = interval(extent)[0]
    return 0 if lo is None or lo < 1 else lo.bit_length() - 1


@frozen
class DFT(Op):
    """Discrete Fourier transform along one axis.

    Shapes:  input[..., n, ..., 1 or 2] -> [..., m, ..., 2]; one-sided m = n//2 + 1, and the
             one-sided inverse is real: [..., n, ..., 1].
    Work:    {alu}: b transforms of length n by radix 2, with l the floor of
             log2 of n (of its smallest value where n is symbolic), halved (``d`` = 2) for
             one-sided ones. A lower bound where n is no power of two.
    Traffic: each operand once, the result once.
    Source:  ONNX DFT-20; Cooley and Tukey 1965: n/2*log2(n) butterflies of 10 operations.
    """

    mnemonic = "dft"
    onnx = "DFT"
    operands = "input dft_length? axis?"
    kind = Kind.SIGNAL
    formulas = {"alu": "5*b*n*l//d"}
    inverse: int = 0
    onesided: int = 0

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Set the axis: before version 20 it is an attribute, 1 by default.

        An attribute with the name of an operand becomes a constant operand.
        """
        return attrs if version >= AXIS_IS_INPUT_FROM else {"axis": 1, **attrs}

    def _axis(self, ins: Inputs, rank: int) -> int | None:
        """Return the transformed axis, None if it is content of an unknown operand."""
        content = known_ints(ins, 2)
        if has(ins, 2) and (content is None or len(content) != 1):
            # the last axis holds real and imaginary parts, so that of two axes only one is left
            return 0 if rank == 2 else None
        axis = normal_axis(content[0] if content else -2, rank)
        if axis == rank - 1:
            raise ShapeError("the last axis holds real and imaginary parts")
        return axis

    def _length(self, ins: Inputs, signal: Dim) -> Dim:
        """Return the number of samples of the signal: dft_length, else from the input's extent.

        ``signal`` is that extent. If it counts the n//2 + 1 bins of a one-sided spectrum, the
        length is 2 * (bins - 1), as ONNX defines it; an odd n needs dft_length.
        """
        if has(ins, 1):
            length = extent_of(ins, 1)
            return data_extent() if length is None else length
        return checked((signal - 1) * 2, "length") if self.inverse and self.onesided else signal

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        if x.shape is None:
            return (x,)
        # a real result has no imaginary part
        parts = 1 if self.inverse and self.onesided else 2
        axis = self._axis(ins, len(x.shape))
        if axis is None:
            # any axis may change its extent, unless the length stays
            keeps_length = not has(ins, 1) and not self.onesided
            extents = x.shape[:-1] if keeps_length else (data_extent() for _ in x.shape[:-1])
            return single(x.dtype, (*extents, parts))
        n = self._length(ins, x.shape[axis])
        m = n // 2 + 1 if self.onesided and not self.inverse else n
        return single(x.dtype, (*x.shape[:axis], m, *x.shape[axis + 1 : -1], parts))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        shape = shape_at(ins, 0)
        axis = None if shape is None else self._axis(ins, len(shape))
        if shape is None or axis is None:
            # nothing is counted along an unknown axis: a lower bound of 0, not an unknown work
            return {"b": 0, "n": 0, "l": 0, "d": 1}
        n = extent_of(ins, 1) if has(ins, 1) else self._length(ins, shape[axis])
        n = shape[axis] if n is None else n
        b = element_count(shape[:axis] + shape[axis + 1 : -1])
        return {"b": b, "n": n, "l": log2_floor(n), "d": 2 if self.onesided else 1}


@frozen
class STFT(Op):
    """Fourier transforms of overlapping frames of a signal.

    Shapes:  signal[b, t, 1 or 2], frames of f samples every s -> [b, (t - f)//s + 1, m, 2] with
             m = f//2 + 1, or f where not one-sided.
    Work:    {alu}: as DFT for each of k frames, d = 2 one-sided; w = 1 for
             a product with the window.
    Traffic: each operand once, the result once.
    Source:  ONNX STFT-17.
    """

    mnemonic = "stft"
    onnx = "STFT"
    operands = "signal frame_step window? frame_length?"
    kind = Kind.SIGNAL
    formulas = {"alu": "b*k*(5*f*l//d + w*f)"}
    onesided: int = 1

    def _frame(self, ins: Inputs) -> Dim | None:
        """Return the samples of a frame: frame_length, else those of the window or of the signal.

        None if the operand that decides is not known.
        """
        if has(ins, 3):
            length = extent_of(ins, 3)
            if length is not None:
                return length
        if has(ins, 2):
            window = shape_at(ins, 2)
            return window[0] if window else None
        signal = shape_at(ins, 0)
        return None if has(ins, 3) or signal is None or len(signal) < 2 else signal[1]

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        batch = x.shape[0] if x.shape else data_extent()
        frame, step = self._frame(ins), extent_of(ins, 1)
        if frame is None or step is None or x.shape is None or len(x.shape) < 2:
            frames: Dim = data_extent()
        elif step == 0:
            raise ShapeError("frame_step is 0")
        else:
            # ONNX pads nothing: only frames that lie within the signal count
            frames = checked((x.shape[1] - frame) // step + 1, "number of frames")
        if frame is None:
            bins: Dim = data_extent()
        else:
            bins = frame // 2 + 1 if self.onesided else frame
        return single(x.dtype, (batch, frames, bins, 2))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        out = outs[0]
        shape = out.shape if isinstance(out, TensorType) and out.shape else (0, 0)
        f = self._frame(ins) or 0
        d, w = 2 if self.onesided else 1, int(has(ins, 2))
        return {"b": shape[0], "k": shape[1], "f": f, "l": log2_floor(f), "d": d, "w": w}


@frozen
class MelWeightMatrix(Op):
    """Weights that map the bins of a Fourier transform to the mel scale.

    Shapes:  scalars num_mel_bins, dft_length, … -> [dft_length//2 + 1, num_mel_bins].
    Work:    none counted: a constant of the model.
    Traffic: each operand once, the result once.
    Source:  ONNX MelWeightMatrix-17.
    """

    mnemonic = "mel_weight_matrix"
    onnx = "MelWeightMatrix"
    operands = "num_mel_bins dft_length sample_rate lower_edge_hertz upper_edge_hertz"
    kind = Kind.SIGNAL
    output_datatype: DType = DType.F32

    def infer(self, ins: Inputs) -> Types:
        bins, length = extent_of(ins, 0), extent_of(ins, 1)
        rows = data_extent() if length is None else length // 2 + 1
        columns = data_extent() if bins is None else bins
        return single(self.output_datatype, (rows, columns))


@frozen
class Window(Op):
    """A window function of ``size`` samples.

    Shapes:  size (scalar) -> [size].
    Work:    {sfu}: cosines; {alu} products, additions and differences around them.
    Traffic: the result once.
    Source:  ONNX HannWindow-17, HammingWindow-17, BlackmanWindow-17.
    """

    kind = Kind.SIGNAL
    operands = "size"
    formulas = {"alu": "a*n", "sfu": "c*n"}
    output_datatype: DType = DType.F32
    periodic: int = 1
    cosines = 1
    """Cosines per sample, with three vector operations each."""

    def infer(self, ins: Inputs) -> Types:
        size = extent_of(ins, 0)
        return single(self.output_datatype, (data_extent() if size is None else size,))

    traffic = result_once  # the size is a scalar attribute of the kernel, not traffic

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"n": count(outs[0]), "a": 3 * self.cosines, "c": self.cosines}


class HannWindow(Window):
    """``0.5 - 0.5 * cos(2 * pi * n / N)``. Source: ONNX HannWindow-17."""

    mnemonic = "hann_window"
    onnx = "HannWindow"


class HammingWindow(Window):
    """``0.543478 - 0.456522 * cos(2 * pi * n / N)``. Source: ONNX HammingWindow-17."""

    mnemonic = "hamming_window"
    onnx = "HammingWindow"


class BlackmanWindow(Window):
    """Two cosines, of ``2 * pi * n / N`` and of its double. Source: ONNX BlackmanWindow-17."""

    mnemonic = "blackman_window"
    onnx = "BlackmanWindow"
    cosines = 2


@frozen
class ImageDecoder(Op):
    """Decoding of an image; its extents are in the stream.

    Shapes:  encoded_stream[n] -> u8[height, width, 3], or 1 channel for Grayscale.
    Work:    not known: it depends on the format and on the content.
    Traffic: the stream once, the result once.
    Source:  ONNX ImageDecoder-20.
    """

    mnemonic = "image_decoder"
    onnx = "ImageDecoder"
    operands = "encoded_stream"
    kind = Kind.OPAQUE
    is_counted = False
    pixel_format: str = "RGB"

    def infer(self, ins: Inputs) -> Types:
        channels = 1 if self.pixel_format == "Grayscale" else 3
        return single(DType.U8, (data_extent(), data_extent(), channels))
