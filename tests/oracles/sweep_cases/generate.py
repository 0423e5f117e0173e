"""Operators that make tensors out of little: ranges, fills, random numbers, windows, spectra."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import numpy_helper

from . import sweep
from .build import DTYPES, Build, NoCaseError, allowed, elem

REAL = ("f32", "f64", "f16")


@sweep("Constant", repeats=6)
def constant(b: Build, op: str) -> None:
    forms: list[dict[str, Any]] = [
        {"value": numpy_helper.from_array(b.array(b.shape(), b.pick("f32", "i64", "bool", "f16")))}
    ]
    if b.opset >= 12:
        forms += [
            {"value_int": 3},
            {"value_ints": [1, 2, 3]},
            {"value_float": 1.5},
            {"value_floats": [1.0, 2.0]},
            {"value_string": "a"},
            {"value_strings": ["a", "b"]},
        ]
    y = b.op(op, **b.pick(*forms))
    b.op("Shape", y)


@sweep("ConstantOfShape", repeats=9)
def constant_of_shape(b: Build, op: str) -> None:
    kind = b.pick(*allowed(op, b.opset, 0, True))
    attrs = {}
    if b.chance(0.7) and kind != "str":
        attrs["value"] = numpy_helper.from_array(b.array((1,), kind))
    b.op(op, b.drive(np.array(b.shape(), np.int64)), **attrs)


@sweep("Range", repeats=18)
def range_(b: Build, op: str) -> None:
    kind = b.dtype(op, 0, ("f32", "f64", "i16", "i32", "i64"))
    start, delta = b.rng.randint(-3, 3), b.pick(1, 2, 3, -1, -2)
    limit = start + b.rng.randint(-2, 9) * (1 if delta > 0 else -1)
    if kind in ("f32", "f64") and b.chance(0.5):
        delta = b.pick(0.5, 0.25, -0.5)
    values = (start, limit, delta)
    b.op(op, *(b.drive(np.array(v, DTYPES[kind]), kind) for v in values))


@sweep("EyeLike", repeats=7)
def eye_like(b: Build, op: str) -> None:
    attrs: dict[str, Any] = {"dtype": elem(b.pick("f32", "i64", "f64", "i32"))}
    if b.chance(0.3):
        attrs = {}
    if b.chance(0.4):
        attrs["k"] = b.rng.randint(-2, 2)
    b.op(op, b.rand(b.shape(2), b.dtype(op, 0, ("f32", "i64", "f64", "i32", "u64"))), **attrs)


@sweep("RandomNormal", "RandomUniform", repeats=5)
def random(b: Build, op: str) -> None:
    shape = [max(1, d) for d in b.shape(b.rng.randint(1, 4))]
    attrs = {"dtype": elem(b.pick("f32", "f64"))} if b.chance(0.6) else {}
    b.op(op, shape=shape, **attrs)


@sweep("RandomNormalLike", "RandomUniformLike", repeats=5)
def random_like(b: Build, op: str) -> None:
    attrs = {"dtype": elem(b.pick("f32", "f64"))} if b.chance(0.6) else {}
    b.op(op, b.rand(b.shape(), b.pick("f32", "f64")), **attrs)


@sweep("Multinomial", repeats=6)
def multinomial(b: Build, op: str) -> None:
    attrs: dict[str, Any] = {"sample_size": b.rng.randint(1, 5)} if b.chance(0.8) else {}
    if b.chance(0.5):
        attrs["dtype"] = elem(b.pick("i32", "i64"))
    b.op(op, b.rand((b.rng.randint(1, 3), 4), "f32"), **attrs)


@sweep("Bernoulli", repeats=6)
def bernoulli(b: Build, op: str) -> None:
    attrs = {"dtype": elem(b.pick("f32", "i64", "bool", "f64"))} if b.chance(0.6) else {}
    b.op(op, b.rand(b.shape(), b.dtype(op, 0, REAL)), **attrs)


@sweep("HannWindow", "HammingWindow", "BlackmanWindow", repeats=6)
def window(b: Build, op: str) -> None:
    attrs: dict[str, Any] = {"periodic": b.pick(0, 1)}
    if b.chance(0.5):
        attrs["output_datatype"] = elem(b.pick("f32", "f64", "f16"))
    b.op(op, b.drive(np.array(b.rng.randint(1, 9)), b.pick("i64", "i32")), **attrs)


@sweep("MelWeightMatrix", repeats=8)
def mel_weight_matrix(b: Build, op: str) -> None:
    args = [b.drive(np.array(v)) for v in (b.rng.randint(2, 6), b.pick(8, 16), 8192)]
    edges = [b.const(np.array(v, np.float32)) for v in (0.0, 4096.0)]
    attrs = {"output_datatype": elem(b.pick("f32", "f64"))} if b.chance(0.4) else {}
    b.op(op, *args, *edges, **attrs)


@sweep("DFT", repeats=12)
def dft(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 3)
    inverse = int(b.chance(0.3))
    onesided = int(b.chance(0.4) and not inverse)
    parts = 1 if onesided else (2 if inverse else b.pick(1, 2))
    dims = (*(max(2, d) for d in b.shape(rank)), parts)
    length = b.drive(np.array(b.rng.randint(1, 8))) if b.chance(0.4) else ""
    axis = b.rng.randrange(rank)
    x = b.rand(dims, b.pick("f32", "f64"))
    attrs: dict[str, Any] = {"inverse": inverse, "onesided": onesided}
    if b.opset < 20:
        b.op(op, x, length, axis=axis, **attrs)
    else:
        chosen = b.drive(np.array(axis - (rank + 1 if b.chance(0.4) else 0)))
        b.op(op, x, length, chosen, **attrs)


@sweep("STFT", repeats=12)
def stft(b: Build, op: str) -> None:
    parts, onesided = b.pick((1, 1), (1, 0), (2, 0))
    frame = b.pick(4, 6, 8)
    x = b.rand((b.rng.randint(1, 2), b.rng.randint(8, 16), parts), b.pick("f32", "f32", "f64"))
    step = b.drive(np.array(b.rng.randint(1, 4)))
    kind = "f32" if b.inputs[0].type.tensor_type.elem_type == 1 else "f64"
    if b.chance(0.5):
        length = b.drive(np.array(frame)) if b.chance(0.4) else ""
        b.op(op, x, step, b.const(b.array((frame,), kind)), length, onesided=onesided)
    else:
        b.op(op, x, step, "", b.drive(np.array(frame)), onesided=onesided)


@sweep("TfIdfVectorizer", repeats=6)
def tf_idf(b: Build, op: str) -> None:
    dims = b.pick((5,), (2, 5))
    attrs = {
        "mode": b.pick("TF", "IDF", "TFIDF"),
        "min_gram_length": 1,
        "max_gram_length": 2,
        "max_skip_count": 0,
        "ngram_counts": [0, 2],
        "ngram_indexes": [0, 1, 2, 4],
        "pool_int64s": [1, 2, 1, 2, 3, 1],
    }
    b.op(op, b.rand(dims, b.pick("i64", "i32")), **attrs)


@sweep("StringNormalizer", repeats=6)
def string_normalizer(b: Build, op: str) -> None:
    # No empty strings: the reference drops them, the specification does not say so.
    words = np.array([b.pick("a", "bc", "d e") for _ in range(b.rng.randint(1, 4))], dtype=object)
    x = b.data(b.pick(words, words[None, :]))
    attrs: dict[str, Any] = {"case_change_action": b.pick("LOWER", "UPPER", "NONE")}
    if b.chance(0.4):
        attrs["stopwords"] = ["zz"]
    b.op(op, x, **attrs)


@sweep("StringConcat", repeats=8)
def string_concat(b: Build, op: str) -> None:
    full = b.shape()
    other = [1 if b.chance(0.3) else d for d in full[b.rng.randint(0, len(full)) :]]
    b.op(op, b.rand(full, "str"), b.rand(other, "str"))


@sweep("StringSplit", repeats=5)
def string_split(b: Build, op: str) -> None:
    attrs = {"delimiter": " "} if b.chance(0.5) else {}
    if b.chance(0.3):
        attrs["maxsplit"] = 1
    b.op(op, b.rand(b.shape(b.rng.randint(0, 3)), "str"), n=2, **attrs)


@sweep("RegexFullMatch", repeats=6)
def regex_full_match(b: Build, op: str) -> None:
    b.op(op, b.rand(b.shape(), "str"), pattern="a|bc")


def zero_point(b: Build, kind: str, shape: tuple[int, ...]) -> str:
    """A zero point as quantised graphs hold it: a constant."""
    if kind not in DTYPES:
        raise NoCaseError(kind)
    return b.const(b.array(shape, kind))


@sweep("QuantizeLinear", repeats=7)
def quantize(b: Build, op: str) -> None:
    dims = tuple(max(2, d) for d in b.shape(b.rng.randint(1, 4)))
    axis = b.rng.randrange(len(dims))
    per_axis = b.opset >= 13 and b.chance(0.4)
    shape = (dims[axis],) if per_axis else ()
    attrs: dict[str, Any] = {"axis": axis} if per_axis else {}
    if b.opset >= 21 and b.chance(0.25):
        dims = (*dims[:-1], 4)
        shape, attrs = (*dims[:-1], 2), {"axis": len(dims) - 1, "block_size": 2}
    kind = b.dtype(op, 0, ("f32", "f16")) if b.opset >= 19 else "f32"
    target = b.pick(*(t for t in allowed(op, b.opset, 2)))
    args = [b.rand(dims, kind), b.const(b.array(shape, kind))]
    if b.chance(0.8):
        args.append(zero_point(b, target, shape))
    elif b.opset >= 21 and b.chance(0.5):
        attrs["output_dtype"] = elem(target)
    b.op(op, *args, **attrs)


@sweep("DequantizeLinear", repeats=7)
def dequantize(b: Build, op: str) -> None:
    dims = tuple(max(2, d) for d in b.shape(b.rng.randint(1, 4)))
    axis = b.rng.randrange(len(dims))
    per_axis = b.opset >= 13 and b.chance(0.4)
    shape = (dims[axis],) if per_axis else ()
    attrs: dict[str, Any] = {"axis": axis} if per_axis else {}
    if b.opset >= 21 and b.chance(0.25):
        dims = (*dims[:-1], 4)
        shape, attrs = (*dims[:-1], 2), {"axis": len(dims) - 1, "block_size": 2}
    source = b.dtype(op)
    scale = "f32" if b.opset < 19 else b.pick("f32", "f16")
    args = [b.rand(dims, source), b.const(b.array(shape, scale))]
    if b.chance(0.6) and source != "i32":
        args.append(zero_point(b, source, shape))
    b.op(op, *args, **attrs)


@sweep("DynamicQuantizeLinear", repeats=10)
def dynamic_quantize(b: Build, op: str) -> None:
    b.op(op, b.rand(tuple(max(1, d) for d in b.shape()), "f32"), n=3)


@sweep("ConvInteger", repeats=12)
def conv_integer(b: Build, op: str) -> None:
    c, k = b.rng.randint(1, 3), b.rng.randint(1, 3)
    kinds = b.pick(("u8", "u8"), ("u8", "i8"))
    args = [b.rand((1, c, 5, 6), kinds[0]), b.const(b.array((2, c, k, k), kinds[1]))]
    if b.chance(0.5):
        args.append(b.const(b.array((), kinds[0])))
    b.op(op, *args, strides=[b.pick(1, 2)] * 2, pads=[b.rng.randint(0, k - 1)] * 4)


@sweep("QLinearConv", repeats=12)
def qlinear_conv(b: Build, op: str) -> None:
    c, k = b.rng.randint(1, 3), b.rng.randint(1, 3)
    scale = b.const(np.array(0.1, np.float32))
    zero = b.const(np.array(1, np.uint8))
    w = b.const(b.array((2, c, k, k), "u8"))
    args = [b.rand((1, c, 5, 6), "u8"), scale, zero, w, scale, zero, scale, zero]
    if b.chance(0.5):
        args.append(b.const(b.array((2,), "i32")))
    b.op(op, *args, strides=[b.pick(1, 2)] * 2, auto_pad=b.pick("NOTSET", "SAME_UPPER"))


@sweep("QLinearMatMul", repeats=8)
def qlinear_matmul(b: Build, op: str) -> None:
    m, k, n = (b.rng.randint(1, 4) for _ in range(3))
    batch = b.shape(b.rng.randint(0, 2), 2, 3)
    kind = b.pick("u8", "i8")
    scale, zero = b.const(np.array(0.1, np.float32)), b.const(b.array((), kind))
    left, right = b.rand((*batch, m, k), kind), b.rand(b.pick((k, n), (*batch, k, n)), kind)
    b.op(op, left, scale, zero, right, scale, zero, scale, zero)
