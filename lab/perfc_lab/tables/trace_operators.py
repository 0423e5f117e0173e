"""Read the kernels of Kineto traces, each with its time and its operator as a model of one node.

A kernel belongs to the operator with the same number, ``External id``. Shapes and layouts of
operands are the operator's ``Input Dims`` and ``Input Strides``.
"""

from __future__ import annotations

import ast
import gzip
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from perfc.analyzers.estimators.laws.indexing import hardness
from perfc.ir import DType, Module, record
from perfc.passes.inference.placement import contiguous

from .h200_operators import module_of

# types of elements by PyTorch's names in traces
TYPES = {"c10::Half": DType.F16, "c10::BFloat16": DType.BF16, "float": DType.F32}
LAYOUTS = ("nchwToNhwc", "nhwcToNchw", "batched_transpose")
"""Words in the names of kernels that change the layout of a convolution's tensors."""
# functions of one tensor by the operator of PyTorch; those of `clamp_min_` and `relu_` have the
# traffic of ReLU6
UNARY = {"gelu": "gelu", "silu": "silu", "clamp_min_": "relu6", "neg": "neg", "relu_": "relu6"}


@record
class TraceRow:
    """Kernels of a trace with equal operators, operands and names, as one row.

    Args:
        name: operator of PyTorch.
        module: the operator as a model.
        kernel: name of the kernel.
        device: name of the device.
        time_s: mean time of one kernel.
        count: number of such kernels.
        indexed: share of elements whose address is computed.
        crossed: share of elements read along another axis than written.
        helper: purpose of a kernel that an operator launches in addition to its main one; "" for
            that.
        is_last: whether channels are the last axis of feature maps in memory.
    """

    name: str
    module: Module
    kernel: str
    device: str
    time_s: float
    count: int
    indexed: float = 0.0
    crossed: float = 0.0
    helper: str = ""
    is_last: bool = False


def opened(path: Path) -> tuple[str, list[Any], dict[object, Any]]:
    """Return the device of a trace, its events, and its operators by number."""
    with gzip.open(path) as file:
        data = json.load(file)
    events = data["traceEvents"]
    calls = {e["args"].get("External id"): e for e in events if e.get("cat") == "cpu_op"}
    return data["deviceProperties"][0]["name"], events, calls


def rows(path: Path) -> Iterator[TraceRow]:
    """Yield the kernels of operators that perfc can describe in one node."""
    device, events, calls = opened(path)
    groups: dict[tuple[str, str, str], list[float]] = {}
    call_args: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    seen: Counter[tuple[int, str]] = Counter()
    # in the order of time, so that `nth` counts the kernels of a call as they ran
    for e in sorted(events, key=lambda e: float(e.get("ts", 0))):
        call = calls.get(e["args"].get("External id")) if e.get("cat") == "kernel" else None
        if call is None:
            continue
        shown = json.dumps([call["args"].get(k) for k in ("Input Dims", "Input Strides")])
        # the second kernel of one name in a call does other work than the first: both have a row
        nth = seen[call["args"]["External id"], e["name"]]
        seen[call["args"]["External id"], e["name"]] += 1
        # the start of a name is enough, as C++ names of templates are long
        key = call["name"], f"{e['name'][:90]} {nth}", shown
        groups.setdefault(key, []).append(float(e["dur"]))
        call_args[key] = call["args"]
    for (name, kernel, shown), times in groups.items():
        short = name.removeprefix("aten::")
        args = call_args[name, kernel, shown]
        description = described(short, kernel, args)
        if description is not None:
            module, indexed, crossed, helper = description
            mean = sum(times) / len(times) * 1e-6
            yield TraceRow(
                short,
                module,
                kernel,
                device,
                mean,
                len(times),
                indexed,
                crossed,
                helper,
                is_last(args),
            )


def is_last(args: Mapping[str, Any]) -> bool:
    """Return True if the first operand is a feature map whose channels are next to each other."""
    dims, strides = args["Input Dims"][0], args["Input Strides"][0]
    is_map = len(dims) == 4 and all(isinstance(d, int) for d in dims)
    return is_map and strides[1] == 1 < dims[1]


def calls(path: Path) -> list[TraceRow]:
    """Return a row per operator with equal operands: the mean time of all kernels of a call."""
    device, events, cpu = opened(path)
    # seconds of kernels and memory fills by the number of their call
    spent: dict[int, float] = {}
    for e in events:
        if e.get("cat") in ("kernel", "gpu_memset") and e["args"].get("External id") in cpu:
            number = e["args"]["External id"]
            spent[number] = spent.get(number, 0.0) + float(e["dur"]) * 1e-6
    groups: dict[str, tuple[str, Mapping[str, Any], list[float]]] = {}
    for number, time_s in spent.items():
        name, args = cpu[number]["name"].removeprefix("aten::"), cpu[number]["args"]
        key = json.dumps([name, args.get("Input Dims"), args.get("Input Strides")])
        groups.setdefault(key, (name, args, []))[2].append(time_s)
    result: list[TraceRow] = []
    for name, args, times in groups.values():
        # no kernel here: the name of a main kernel, so that no helper is described
        description = described(name, "batch_norm", args)
        if description is not None:
            module, indexed, crossed, _ = description
            mean, count = sum(times) / len(times), len(times)
            result.append(
                TraceRow(
                    name,
                    module,
                    "",  # all kernels of the call
                    device,
                    mean,
                    count,
                    indexed,
                    crossed,
                    is_last=is_last(args),
                )
            )
    return result


def fills(path: Path) -> list[float]:
    """Return the times of memory fills in seconds."""
    return [float(e["dur"]) * 1e-6 for e in opened(path)[1] if e.get("cat") == "gpu_memset"]


def described(
    name: str, kernel: str, args: Mapping[str, Any]
) -> tuple[Module, float, float, str] | None:
    """Return the model of an operator, and three fields of `TraceRow` for its kernel.

    The fields are ``indexed``, ``crossed`` and ``helper``. None if perfc has no model of one node.
    """
    dims, types = args.get("Input Dims") or [], args.get("Input type") or []
    strides, values = args.get("Input Strides") or [], args.get("Concrete Inputs") or []
    if name == "cat" and dims and dims[0] and strides:
        return joined(dims[0], strides[0])
    if not dims or not types or types[0] not in TYPES or not dims[0]:
        return None
    dtype, x = TYPES[types[0]], dims[0]
    indexed, crossed = addressing(dims, strides)
    # operands in PyTorch's order, shapes as `h200_operators.module_of` names extents
    match name:
        case "cudnn_convolution" | "miopen_convolution":
            return convolution(kernel, dims, values, dtype)
        case "native_batch_norm" if "memcpy" not in kernel and len(x) == 4:
            family, p = "batchnorm", dict(zip("bchw", x, strict=True))
            helper = "" if "batch_norm" in kernel else "statistics"
            return _of(family, p, dtype, helper=helper)
        case "max_pool2d_with_indices":
            # operands 1 to 3 are pairs of height and width as text, of which the first is read
            window, stride, pad = (ast.literal_eval(values[i])[0] for i in (1, 2, 3))
            p = dict(zip("bchw", x, strict=True)) | {"k": window, "s": stride, "p": pad}
            return _of("pool", p | {"op": "max"}, dtype)
        case "native_layer_norm":
            return _of("layernorm", {"rows": math.prod(x[:-1]), "cols": x[-1]}, dtype)
        case "_softmax":
            return _of("softmax", {"rows": math.prod(x[:-1]), "cols": x[-1]}, dtype)
        case "addmm":
            (m, k), n = dims[1], dims[2][1]  # operand 0 is the bias
            return _of("gemm", {"m": m, "n": n, "k": k, "bias": 1}, dtype)
        case "mm":
            return _of("gemm", {"m": x[0], "n": dims[1][1], "k": x[1], "bias": 0}, dtype)
        case "bmm":
            p = {"b": x[0], "m": x[1], "n": dims[1][2], "k": x[2], "tb": 0}
            return _of("bmm", p, dtype)
        case _ if name in UNARY:
            p = {"n": math.prod(x), "op": UNARY[name]}
            return _of("unary", p, dtype, indexed=indexed, crossed=crossed)
        case "mul" | "add" | "add_" | "sub" | "div":
            return binary(dims, dtype, indexed, crossed)
        case "copy_" if len(types) > 1 and types[1] in TYPES:
            if types[0] != types[1]:
                to = {DType.F16: "to_fp16", DType.F32: "to_fp32", DType.BF16: "to_bf16"}[dtype]
                return _of("cast", {"n": math.prod(x), "op": to}, TYPES[types[1]])
            p = {"n": math.prod(x), "op": "copy"}
            return _of("unary", p, dtype, indexed=indexed, crossed=crossed, helper="copy")
    return None


def _of(
    family: str,
    p: Mapping[str, Any],
    dtype: DType,
    *,
    indexed: float = 0.0,
    crossed: float = 0.0,
    helper: str = "",
) -> tuple[Module, float, float, str] | None:
    """Return the result of `described` for an operator of `module_of`; None if it has no model."""
    module = module_of(family, p, dtype)
    return None if module is None else (module, indexed, crossed, helper)


def binary(
    dims: list[list[int]], dtype: DType, indexed: float, crossed: float
) -> tuple[Module, float, float, str] | None:
    """Return the result of `described` for a function of two tensors, or of a tensor and a number.

    The model is `neg` for any function that reads one tensor, and `mul` for two: traffic is equal.
    """
    n = math.prod(dims[0])
    # an operand without extents or of one element is a number
    if len(dims) < 2 or math.prod(dims[1] or [1]) == 1:
        return _of("unary", {"n": n, "op": "neg"}, dtype, indexed=indexed, crossed=crossed)
    if math.prod(dims[1]) == n:
        return _of("binary", {"n": n, "op": "mul"}, dtype, indexed=indexed, crossed=crossed)
    # else the second operand is broadcast; one value per channel is the bias of a convolution
    c = math.prod(dims[1])
    is_bias = len(dims[1]) == 4 and dims[1][0] == dims[1][2] == 1
    p = {"n": n, "c": c, "op": "add_bcast_row"}
    return _of("binary", p, dtype, indexed=1.0, helper="bias" if is_bias else "")


def joined(
    dims: list[list[int]], strides: list[list[int]]
) -> tuple[Module, float, float, str] | None:
    """Return the result of `described` for a concatenation of tensors.

    The element type of the tensors is not read and taken as f16. The model joins rows: a tensor
    has as many rows as the one with the fewest, of any length.
    Tensors with gaps or permuted axes need computed addresses.
    """
    if any(len(d) != len(dims[0]) for d in dims) or len(dims[0]) < 2:
        return None
    dense = all(tuple(s) == contiguous(tuple(d)) for d, s in zip(dims, strides, strict=True))
    rows_count = min(math.prod(d) // d[-1] for d in dims)
    p = {"b": rows_count, "h": 1, "cs": [math.prod(d) // rows_count for d in dims], "dim": 1}
    return _of("concat", p, DType.F16, indexed=0.0 if dense else 1.0)


def convolution(
    kernel: str, dims: list[list[int]], values: list[str], dtype: DType
) -> tuple[Module, float, float, str] | None:
    """Return the result of `described` for a convolution, or for a change of layout around it.

    None for a window that is not square.
    """
    # input and filters; `depth` is the input channels of a group
    (b, ci, h, w), (co, depth, k, across) = dims[0], dims[1]
    # padding, stride and dilation begin at operand 2, or at 3 after the bias that MIOpen's have
    first = 2 if values[2] else 3
    pad, stride, dilation = (ast.literal_eval(v)[0] for v in values[first : first + 3])
    if k != across:
        return None
    p = {
        "b": b,
        "ci": ci,
        "co": co,
        "h": h,
        "w": w,
        "k": k,
        "s": stride,
        "p": pad,
        "d": dilation,
        "g": ci // depth,
        "bias": 0,
    }
    # kernels that change a layout run before and after the convolution; the second kernel of one
    # name before it (its name ends with 1) converts the weights
    helper = ""
    if any(word in kernel for word in LAYOUTS):
        is_out = LAYOUTS[1] in kernel
        helper = "layout out" if is_out else "weights" if kernel.endswith("1") else "layout in"
    family = "conv" if p["g"] == 1 else "dwconv" if p["g"] == ci else "gconv"
    return _of(family, p, dtype, helper=helper)


def addressing(dims: list[Any], strides: list[Any]) -> tuple[float, float]:
    """Return the shares of elements with a computed address, and read across the result's order."""
    tensors = [
        (tuple(d), tuple(s))
        for d, s in zip(dims, strides, strict=False)
        if d and s and len(d) == len(s) and all(isinstance(x, int) for x in d)
    ]
    shape = max((d for d, _ in tensors), key=math.prod, default=())
    return hardness(shape, tensors)
