"""Fourier transforms of ATen.

Each function lowers calls of the operators that its decorator names: ``c`` is the call, the result
the names of the values that it becomes.
"""

from __future__ import annotations

from collections.abc import Sequence

from .call import AtenCall, lowers

FORMS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
"""Transforms and their inverses: of complex signals, to half of the frequencies of real signals
(``r``), and between real frequencies and half of a signal (``h``)."""


@lowers(*(f"fft_{form}{axes}" for form in FORMS for axes in ("", "2", "n")))
def _fft(c: AtenCall) -> str:
    name = c.operator.removeprefix("fft_")
    rank = c.given.rank
    # ``fft2`` transforms the last two axes, ``fftn`` all of them
    default = [-2, -1] if name.endswith("2") else range(rank) if name.endswith("n") else [-1]
    axes = [a % rank for a in c.integers("dim", default)]
    is_inverse, is_onesided = name.startswith("i"), name.lstrip("i").startswith(("r", "h"))
    return transformed(c, c.x, axes, inverse=is_inverse, onesided=is_onesided)


def transformed(
    c: AtenCall, value: str, axes: Sequence[int], *, inverse: bool, onesided: bool
) -> str:
    """Return a transform of a value, whose extents along the axes become those of the result."""
    return c.emit(
        "fourier",
        value,
        c.extents([c.result.sizes[axis] for axis in axes]),
        domain="aten",
        axes=tuple(axes),
        inverse=int(inverse),
        onesided=int(onesided),
    )


@lowers("stft")
def _stft(c: AtenCall) -> str:
    """Return transforms of overlapping frames: [batch, frequencies, frames]."""
    if not c.flag("return_complex") or c.given.rank != 2:
        raise ValueError("pairs, or a single signal")
    length, window = c.integer("n_fft", 1), c.meta("window")
    operands = (
        c.emit("Unsqueeze", c.x, c.ints(2)),
        # the default of PyTorch: frames overlap by three quarters
        c.size(c.integer("hop_length", length // 4)),
        c.tensor("window"),
        c.size(length),
    )
    # half of the frequencies suffice unless the window is complex; type 0 is that of no window
    is_real = c.flag("onesided", default=not window.dtype or window.is_float)
    frames = c.emit("STFT", *operands, onesided=is_real)
    frames = c.emit("view_as_complex", frames, domain="aten")
    return c.emit("Transpose", frames, perm=(0, 2, 1))
