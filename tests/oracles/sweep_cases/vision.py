"""Convolutions, pooling, resizing, sampling and detection."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import sweep
from .build import Build, NoCaseError

REAL = ("f32", "f64", "f16")


def window(b: Build, n: int, kernel: list[int], dilate: bool = True) -> dict[str, Any]:
    """Strides, dilations and padding of a sliding window, each sometimes left out."""
    attrs: dict[str, Any] = {}
    if b.chance(0.6):
        attrs["strides"] = [b.rng.randint(1, 3) for _ in range(n)]
    if dilate and b.chance(0.4):
        attrs["dilations"] = [b.rng.randint(1, 2) for _ in range(n)]
    auto = b.pick("", "", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    if auto:
        attrs["auto_pad"] = auto
    if auto in ("", "NOTSET") and b.chance(0.6):
        attrs["pads"] = [b.rng.randint(0, k - 1) for k in kernel * 2]
    return attrs


def effective(kernel: list[int], attrs: dict[str, Any]) -> list[int]:
    """Extent of a dilated kernel."""
    dilations = attrs.get("dilations", [1] * len(kernel))
    return [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]


@sweep("Conv", repeats=14)
def conv(b: Build, op: str) -> None:
    n, group = b.rng.randint(1, 3), b.rng.randint(1, 3)
    kernel = [b.rng.randint(1, 3) for _ in range(n)]
    attrs = window(b, n, kernel)
    cin, cout = group * b.rng.randint(1, 2), group * b.rng.randint(1, 2)
    space = [e + b.rng.randint(0, 5) for e in effective(kernel, attrs)]
    kind = b.dtype(op, 0, REAL)
    if group > 1 or b.chance(0.3):
        attrs["group"] = group
    if b.chance(0.5):
        attrs["kernel_shape"] = kernel
    batch = 0 if b.chance(0.04) else b.rng.randint(1, 2)
    w = b.const(b.array((cout, cin // group, *kernel), kind))
    bias = b.const(b.array((cout,), kind)) if b.chance(0.5) else ""
    b.op(op, b.rand((batch, cin, *space), kind), w, bias, **attrs)


@sweep("ConvTranspose", repeats=14)
def conv_transpose(b: Build, op: str) -> None:
    n, group = b.rng.randint(1, 3), b.rng.randint(1, 2)
    kernel = [b.rng.randint(1, 3) for _ in range(n)]
    attrs = window(b, n, kernel)
    cin, cout = group * b.rng.randint(1, 2), group * b.rng.randint(1, 2)
    space = [b.rng.randint(2, 4) for _ in range(n)]
    kind = b.dtype(op, 0, REAL)
    strides = attrs.get("strides", [1] * n)
    if b.chance(0.3):
        attrs["output_padding"] = [b.rng.randint(0, s - 1) for s in strides]
    if b.chance(0.15) and "pads" not in attrs:
        ends = zip(space, strides, effective(kernel, attrs), strict=True)
        attrs["output_shape"] = [(i - 1) * s + e for i, s, e in ends]
    attrs["group"] = group
    if b.chance(0.5):
        attrs["kernel_shape"] = kernel
    w = b.const(b.array((cin, cout // group, *kernel), kind))
    bias = b.const(b.array((cout,), kind)) if b.chance(0.5) else ""
    b.op(op, b.rand((1, cin, *space), kind), w, bias, **attrs)


@sweep("MaxPool", "AveragePool", "LpPool", repeats=10)
def pool(b: Build, op: str) -> None:
    n = b.rng.randint(1, 3)
    kernel = [b.rng.randint(1, 3) for _ in range(n)]
    dilations_from = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    ceil_from = {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[op]
    attrs = window(b, n, kernel, b.opset >= dilations_from)
    if b.opset >= ceil_from and b.chance(0.4):
        attrs["ceil_mode"] = 1
    if op == "AveragePool" and b.chance(0.3):
        attrs["count_include_pad"] = 1
    space = [e + b.rng.randint(0, 5) for e in effective(kernel, attrs)]
    x = b.rand((b.rng.randint(1, 2), b.rng.randint(1, 3), *space), b.dtype(op))
    outputs = 2 if op == "MaxPool" and b.opset >= 8 and b.chance(0.4) else 1
    b.op(op, x, n=outputs, kernel_shape=kernel, **attrs)


@sweep("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", repeats=6)
def global_pool(b: Build, op: str) -> None:
    dims = tuple(max(1, d) for d in b.shape(b.rng.randint(3, 5)))
    b.op(op, b.rand(dims, b.dtype(op, 0, REAL)))


@sweep("MaxUnpool", repeats=6)
def max_unpool(b: Build, op: str) -> None:
    k = b.rng.randint(1, 3)
    h, w = b.rng.randint(1, 3), b.rng.randint(1, 3)
    index = np.arange(h * w).reshape(1, 1, h, w)
    attrs = {"kernel_shape": [k, k], "strides": [k, k]}
    shape = b.drive(np.array([1, 1, h * k + 1, w * k + 1])) if b.chance(0.4) else ""
    b.op(op, b.rand((1, 1, h, w), "f32"), b.data(index), shape, **attrs)


@sweep("Resize", repeats=12)
def resize(b: Build, op: str) -> None:
    rank = 4 if b.chance(0.7) else b.rng.randint(2, 3)
    dims = [1, b.rng.randint(1, 2), *(b.rng.randint(2, 5) for _ in range(rank - 2))]
    mode = b.pick("nearest", "linear")
    if mode == "linear" and rank == 3:
        mode = "nearest"
    scales = [1.0, 1.0] + [b.pick(0.5, 0.6, 1.0, 1.5, 2.0, 3.3) for _ in range(rank - 2)]
    x = b.rand(dims, b.dtype(op, 0, ("f32", "i32", "u8", "i8")) if mode == "nearest" else "f32")
    if b.opset < 11:
        b.op(op, x, b.drive(np.array(scales), "f32"), mode=mode)
        return
    attrs: dict[str, Any] = {"mode": mode}
    if b.chance(0.4):
        attrs["coordinate_transformation_mode"] = b.pick(
            "asymmetric", "align_corners", "half_pixel"
        )
    roi = "" if b.opset >= 13 else b.const(np.zeros(0, np.float32))
    if b.opset >= 18 and b.chance(0.4) and rank == 4:
        signed = b.pick([2, 3], [-2, -1], [3, 2])
        attrs["axes"] = signed
        scales = scales[2:]
    n = len(scales)
    if b.chance(0.5):
        b.op(op, x, roi, b.drive(np.array(scales), "f32"), **attrs)
        return
    if n == len(dims):
        sizes = [*dims[:2], *(b.rng.randint(1, 7) for _ in dims[2:])]
    else:
        sizes = [b.rng.randint(1, 7) for _ in range(n)]
    if b.opset >= 18 and n == 2 and b.chance(0.6):
        attrs["keep_aspect_ratio_policy"] = b.pick("not_larger", "not_smaller", "stretch")
    empty = "" if b.opset >= 13 else b.const(np.zeros(0, np.float32))
    b.op(op, x, roi, empty, b.drive(np.array(sizes)), **attrs)


@sweep("GridSample", repeats=7)
def grid_sample(b: Build, op: str) -> None:
    n = 2 if b.opset < 20 else b.pick(2, 3)
    space = [b.rng.randint(2, 4) for _ in range(n)]
    out = [b.rng.randint(1, 4) for _ in range(n)]
    mode = b.pick("nearest", "bilinear" if b.opset < 20 else "linear")
    b.op(op, b.rand((2, 3, *space), "f32"), b.rand((2, *out, n), "f32"), mode=mode)


@sweep("AffineGrid", repeats=12)
def affine_grid(b: Build, op: str) -> None:
    n = b.pick(2, 3)
    size = np.array([2, 3, *(b.rng.randint(1, 5) for _ in range(n))])
    b.op(op, b.rand((2, n, n + 1), "f32"), b.drive(size), align_corners=b.pick(0, 1))


@sweep("RoiAlign", repeats=5)
def roi_align(b: Build, op: str) -> None:
    k = b.rng.randint(1, 4)
    attrs = {"output_height": b.rng.randint(1, 4), "output_width": b.rng.randint(1, 4)}
    if b.chance(0.2):
        attrs = {}
    rois = b.data(np.tile(np.array([[0, 0, 2, 2]], np.float32), (k, 1)))
    b.op(op, b.rand((1, 3, 5, 6), "f32"), rois, b.data(np.zeros(k, np.int64)), **attrs)


@sweep("MaxRoiPool", repeats=5)
def max_roi_pool(b: Build, op: str) -> None:
    k = b.rng.randint(1, 4)
    rois = b.data(np.tile(np.array([[0, 0, 0, 2, 2]], np.float32), (k, 1)))
    b.op(op, b.rand((1, 3, 5, 6), "f32"), rois, pooled_shape=[b.rng.randint(1, 3), 2])


@sweep("DeformConv", repeats=7)
def deform_conv(b: Build, op: str) -> None:
    kernel = [b.rng.randint(1, 3) for _ in range(2)]
    attrs = {k: v for k, v in window(b, 2, kernel).items() if k != "auto_pad"}
    group = b.pick(1, 2)
    cin, cout = 2 * group, 2 * group
    space = [e + b.rng.randint(0, 4) for e in effective(kernel, attrs)]
    pads, strides = attrs.get("pads", [0] * 4), attrs.get("strides", [1, 1])
    out = [
        (s + pads[i] + pads[i + 2] - effective(kernel, attrs)[i]) // strides[i] + 1
        for i, s in enumerate(space)
    ]
    offset = b.rand((1, 2 * kernel[0] * kernel[1], *out), "f32")
    args = [b.rand((1, cin, *space), "f32"), b.const(b.array((cout, 2, *kernel))), offset]
    if b.chance(0.5):
        args.append(b.const(b.array((cout,))))
        if b.chance(0.5):
            args.append(b.rand((1, kernel[0] * kernel[1], *out), "f32"))
    b.op(op, *args, group=group, kernel_shape=kernel, **attrs)


@sweep("Col2Im", repeats=12)
def col2im(b: Build, op: str) -> None:
    n = b.rng.randint(1, 3)
    block = [b.rng.randint(1, 3) for _ in range(n)]
    attrs = {k: v for k, v in window(b, n, block).items() if k != "auto_pad"}
    image = [e + b.rng.randint(0, 4) for e in effective(block, attrs)]
    pads, strides = attrs.get("pads", [0] * 2 * n), attrs.get("strides", [1] * n)
    length = 1
    for i in range(n):
        extent = image[i] + pads[i] + pads[n + i] - effective(block, attrs)[i]
        length *= extent // strides[i] + 1
    c = b.rng.randint(1, 2)
    x = b.rand((b.rng.randint(1, 2), c * int(np.prod(block)), length), "f32")
    b.op(op, x, b.drive(np.array(image)), b.drive(np.array(block)), **attrs)


@sweep("NonMaxSuppression", repeats=5)
def non_max_suppression(b: Build, op: str) -> None:
    n, k, c = b.rng.randint(1, 2), b.rng.randint(1, 5), b.rng.randint(1, 3)
    args = [b.rand((n, k, 4), "f32"), b.rand((n, c, k), "f32")]
    if b.chance(0.8):
        args.append(b.drive(np.array([b.rng.randint(1, 3)])))
        if b.chance(0.6):
            args.append(b.const(np.array([0.5], np.float32)))
            if b.chance(0.5):
                args.append(b.const(np.array([0.1], np.float32)))
    b.op(op, *args)


@sweep("CausalConvWithState", repeats=12)
def causal_conv(b: Build, op: str) -> None:
    n, c, t, k = (b.rng.randint(1, 4) for _ in range(4))
    k = max(k, 2)
    kind = b.dtype(op, 0, ("f32", "f16"))
    args = [b.rand((n, c, t), kind), b.const(b.array((c, 1, k), kind))]
    args.append(b.const(b.array((c,), kind)) if b.chance(0.5) else "")
    args.append(b.rand((n, c, k - 1), kind) if b.chance(0.5) else "")
    b.op(op, *args, n=2)


@sweep("ImageDecoder", repeats=3)
def image_decoder(b: Build, op: str) -> None:
    h, w = b.rng.randint(1, 4), b.rng.randint(1, 4)
    row = b"\x01\x02\x03" * w + b"\0" * (-3 * w % 4)
    pixels = row * h
    head = b"BM" + (54 + len(pixels)).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little")
    info = (40).to_bytes(4, "little") + w.to_bytes(4, "little") + h.to_bytes(4, "little")
    info += (1).to_bytes(2, "little") + (24).to_bytes(2, "little") + bytes(24)
    data = np.frombuffer(head + info + pixels, np.uint8)
    if not data.size:
        raise NoCaseError(op)
    b.op(op, b.data(data), pixel_format=b.pick("RGB", "Grayscale", "BGR"))
