"""Read operators that were measured on an H200, each as a model of one node with its time.

The files are those of `datasets/h200`. Laws of kernels are fitted to one half of the operators, and
compared with the other.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.ir import (
    UNKNOWN,
    DType,
    Graph,
    Known,
    Loc,
    Module,
    Node,
    Op,
    TensorType,
    Value,
    record,
)
from perfc.ir.ops import operator

from ..splitting import grouped
from .own_runs import measured_rows

FILE = Path(__file__).parents[3] / "datasets" / "h200" / "operators.csv.gz"
SWEEP = FILE.with_name("mtd.csv.gz")
"""File of a sweep of convolutions."""
# family of the rows of the sweep, which become those of family "conv"
SWEPT = "mtd_conv"
LAWS = FILE.with_name("laws.csv.gz")
"""File of operators with the kernels of one call; no law is fitted to these."""
_DATA = data_next_to(__file__)
NAMES, EXTENTS, KINDS = _DATA["names"], _DATA["extents"], _DATA["kinds"]
"""Operators of perfc by their name in the files; extents, families and kinds of `FILE` by those of
`LAWS`."""
# a cell of `LAWS` has hundreds of kernels, longer than the default limit of 128 KiB
csv.field_size_limit(1 << 30)


@record
class OperatorRow:
    """An operator that was measured.

    Args:
        family: kind of operator in the file.
        dtype: ``fp16``, ``bf16``, ``fp32`` or ``tf32``.
        params: extents by name, as in `_made`, and other parameters.
        module: the operator as a model.
        time_s: time in a recorded graph, with its inputs in the cache if they fit; for rows with
            kernels their sum, if that is shorter.
        kernels: names and microseconds of the kernels of one call, if they were recorded.
    """

    family: str
    dtype: str
    params: Mapping[str, Any]
    module: Module
    time_s: float
    kernels: Sequence[tuple[str, float]] = ()

    @property
    def is_last(self) -> bool:
        """Return True if channels are the last axis of the feature maps in memory."""
        return bool(self.params.get("cl"))


def rows(path: Path = FILE) -> Iterator[OperatorRow]:
    """Yield the operators of a file that perfc can describe in one node, in their order."""
    for row in measured_rows(path):
        if "kernels" in row:  # the file is `LAWS`
            yield from _recorded(row)
            continue
        params = json.loads(row["params"])
        # the sweep has forward convolutions without groups, dilation and bias; `f` is their filters
        if row["family"] == SWEPT and row["pass"] == "fwd":
            row["family"] = "conv"
            params |= {"co": params["f"], "g": 1, "d": 1, "bias": 0}
        module = module_of(row["family"], params, type_of(row["dtype"]))
        if module is not None and row["hot_us"]:
            time_s = float(row["hot_us"]) * 1e-6
            yield OperatorRow(row["family"], row["dtype"], params, module, time_s)


def _recorded(row: Mapping[str, str]) -> Iterator[OperatorRow]:
    """Yield the operator of a row of `LAWS`, with its parameters as in `FILE`."""
    # defaults of parameters that the row of another kind of operator lacks
    p = {"d": 1, "tb": 0, "op": "", "kind": "", **json.loads(row["parameters"])}
    p |= {new: p[old] for new, old in EXTENTS.items() if old in p and new not in p}
    # the pooling of `LAWS` is padded by half its window; `g` of attention is queries per key head
    p |= {"n": p.get("n", p.get("elements")), "p": p.get("k", 0) // 2, "op": p["kind"]}
    p |= {"hkv": p.get("h", 0) // p.get("g", 1), **KINDS.get(p["kind"], {})}
    # a mask takes the place of causality, and a single query is the last token: it sees all keys
    if p.get("mask") or p.get("q") == 1:
        p["causal"] = 0
    module = module_of(p.get("family", row["family"]), p, type_of(row["type"]))
    if module is not None:
        kernels = json.loads(row["kernels"])
        # the time of a short call includes gaps of the host, the sum of kernels the trials of other
        # algorithms: the smaller of the two has less of what is not the operator
        time_s = min(float(row["hot_us"]), sum(time_us for _, time_us in kernels)) * 1e-6
        yield OperatorRow(row["family"], row["type"], p, module, time_s, kernels)


def type_of(name: str) -> DType:
    """Return the element type by its name in a file; operands of TF32 are stored in f32."""
    # "fp16" is F16, "bf16" is BF16, "tf32" is F32
    return DType[name.upper().replace("P", "").replace("TF", "F")]


def halves(path: Path = FILE) -> tuple[list[OperatorRow], list[OperatorRow]]:
    """Return rows to fit and rows to judge: every second of a family and type, by its extents."""
    fit, judge = [], []
    for group in grouped(rows(path), lambda row: (row.family, row.dtype)).values():
        group.sort(key=lambda r: json.dumps(r.params))
        fit += group[::2]
        judge += group[1::2]
    return fit, judge


def module_of(family: str, p: Mapping[str, Any], dtype: DType) -> Module | None:
    """Return the operator as a model; None for a family that is several operators or gradients."""
    operator_and_operands = _made(family, p, dtype)
    if operator_and_operands is None:
        return None
    op, *operands = operator_and_operands
    inputs = tuple(operands)
    # operands of known content, as the axes of a reduction, are no inputs of the model
    graph_inputs = tuple(v for v in inputs if v.known is None)
    nodes: tuple[Node, ...] = ()
    # `tb`: the second operand is stored transposed, so that a node transposes it first
    if family == "bmm" and p["tb"]:
        stored = Value("T", TensorType(dtype, (p["b"], p["n"], p["k"])))
        right = Value("B", UNKNOWN)
        nodes = (Node(operator("transpose")(perm=(0, 2, 1)), (stored,), (right,)),)
        graph_inputs, inputs = (graph_inputs[0], stored), (inputs[0], right)
    result = Value("Y", UNKNOWN)
    node = Node(op, inputs, (result,), loc=Loc(family, family))
    return Module(Graph(family, graph_inputs, (result,), (*nodes, node)), ())


def _made(family: str, p: Mapping[str, Any], dtype: DType) -> tuple[Any, ...] | None:
    """Return an operator and its operands; None for a family that is no single operator.

    Args:
        family: kind of operator in a file.
        p: extents: ``b`` batch, ``c`` channels, ``ci`` and ``co`` those of input and result, ``h``
            height or heads, ``w`` width, ``k`` window or reduced axis, ``s`` stride, ``p`` padding,
            ``g`` groups, ``d`` dilation or width of a head.
        dtype: type of the elements.
    """

    def t(*shape: int, of: DType = dtype, name: str = "") -> Value:
        """Return a tensor; operands of one operator need different names."""
        return Value(name or f"x{len(shape)}_{'_'.join(map(str, shape))}", TensorType(of, shape))

    def image() -> Value:
        """Return a feature map."""
        return t(p["b"], p["c"], p["h"], p["w"])

    match family:
        case "gemm" | "llm_gemm":
            bias = [t(p["n"], name="bias")] if p["bias"] else []
            product = operator("gemm")(transB=1)
            return product, t(p["m"], p["k"], name="A"), t(p["n"], p["k"], name="B"), *bias
        case "bmm":
            left, right = (p["b"], p["m"], p["k"]), (p["b"], p["k"], p["n"])
            return operator("matmul")(), t(*left, name="A"), t(*right, name="B")
        case "conv" | "conv1x1" | "dwconv" | "gconv" | "grouped" | "depthwise":
            filters = t(p["co"], p["ci"] // p["g"], p["k"], p["k"], name="W")
            bias = [t(p["co"], name="bias")] if p["bias"] else []
            return _conv(p), t(p["b"], p["ci"], p["h"], p["w"], name="X"), filters, *bias
        case "batchnorm" | "batch_norm":
            of = DType.F32 if p.get("weights") == "f32" else dtype
            each = [t(p["c"], of=of, name=n) for n in ("scale", "shift", "mean", "var")]
            return operator("batch_norm")(), image(), *each
        case "groupnorm" | "group_norm":
            each = [t(p["c"], name=n) for n in ("scale", "shift")]
            return operator("group_norm")(num_groups=p["g"]), image(), *each
        case "layernorm" | "layer_norm" | "rmsnorm":
            each = [t(p["cols"], name=n) for n in ("scale", "shift")]
            op = operator("rms_norm" if family == "rmsnorm" else "layer_norm")(axis=-1)
            # RMS normalisation has no shift
            return op, t(p["rows"], p["cols"]), *each[: 1 if family == "rmsnorm" else 2]
        case "softmax":
            return operator("softmax")(axis=-1), t(p["rows"], p["cols"])
        case "pool":
            name = "max_pool" if p["op"] == "max" else "average_pool"
            window, pads = (p["k"],) * 2, (p["p"],) * 4
            return operator(name)(kernel_shape=window, strides=(p["s"],) * 2, pads=pads), image()
        case "adpool" if p["o"] == 1:  # adaptive pooling to one position
            return operator("global_average_pool")(), image()
        case "sdpa":
            op = operator("attention")(is_causal=int(p["causal"]))
            cached = (p["b"], p["hkv"], p["kv"], p["d"])
            query = t(p["b"], p["h"], p["q"], p["d"], name="Q")
            mask = [t(p["q"], p["kv"], name="mask")] if p.get("mask") else []
            return op, query, t(*cached, name="K"), t(*cached, name="V"), *mask
    return _streamed(family, p, dtype, t)


def _streamed(family: str, p: Mapping[str, Any], dtype: DType, t: Any) -> tuple[Any, ...] | None:
    """Return operator and operands of families that stream tensors; ``t`` makes a tensor."""
    match family:
        case "unary" | "pointwise":
            return operator(NAMES.get(p["op"], p["op"]))(), t(p["n"])
        case "binary" if "bcast" in p["op"]:
            n, c = p["n"], p["c"]
            name = NAMES[p["op"]]
            # `c` values of the second operand, along the rows or for each channel of the first
            if n % c:
                return None
            other = t(c, name="b") if p["op"].endswith("row") else t(c, 1, name="b")
            first = t(n // c, c) if p["op"].endswith("row") else t(1, c, n // c)
            return operator(name)(), first, other
        # an operator of a tensor and a number reads one tensor, as a negation does
        case "binary" if p["op"] == "add_scalar":
            return operator("neg")(), t(p["n"])
        case "binary" if p["op"] in ("sub", "mul", "div", "pow"):
            return operator(p["op"])(), t(p["n"]), t(p["n"], name="b")
        case "cast":
            to = type_of(p["op"][3:])  # "to_fp16"
            # the type of the row is the narrow one, on whichever side of the cast
            source = DType.F32 if to is not DType.F32 else dtype
            return operator("cast")(to=to), t(p["n"], of=source)
        case "concat":
            # `cs`: extents along the joined axis, the first or the second
            shapes = [(p["b"], c, p["h"], p["h"]) for c in p["cs"]]
            if p["dim"] == 0:
                shapes = [(c, p["b"], p["h"], p["h"]) for c in p["cs"]]
            each = [t(*shape, name=f"x{i}") for i, shape in enumerate(shapes)]
            return operator("concat")(axis=p["dim"]), *each
        case "reduce" if p["op"] in ("mean", "sum"):
            axes = Value("axes", TensorType(DType.I64, (1,)), Known((1,), (p["dim"] % 2,)))
            return operator(f"reduce_{p['op']}")(), t(p["rows"], p["cols"]), axes
        case "gather":
            index = t(p["n"], p["d"], of=DType.I64, name="index")
            # a table of `v` rows of `d` elements
            return operator("gather_elements")(axis=0), t(p["v"], p["d"]), index
        case "embedding":
            return operator("gather")(axis=0), t(p["v"], p["d"]), t(p["n"], of=DType.I64)
        case _:
            return None


def _conv(p: Mapping[str, Any]) -> Op:
    """Return a convolution with a square window, from the extents of a row."""
    return operator("conv")(
        group=p["g"],
        kernel_shape=(p["k"],) * 2,
        strides=(p["s"],) * 2,
        pads=(p["p"],) * 4,
        dilations=(p["d"],) * 2,
    )  # type: ignore[call-arg]
