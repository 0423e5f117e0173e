"""Lower bounds of operators against the times of `datasets/h200/operators.csv.gz`."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from perfc.machine import load_machine
from perfc.measuring.trace.facts import Argument, OperatorCall, TensorArgument
from perfc.measuring.trace.floors import floor_of

OPERATORS = Path(__file__).parents[3] / "datasets" / "h200" / "operators.csv.gz"
WORDS = {"fp32": "float", "tf32": "float", "fp16": "c10::Half", "bf16": "c10::BFloat16"}
Params = Mapping[str, Any]
Made = Callable[..., TensorArgument]
UNARY = {
    "clamp": "clamp",
    "leaky": "leaky_relu",
    "erf": "erf",
    "hardsigmoid": "hardsigmoid",
    "abs": "abs",
    "exp": "exp",
    "sqrt": "sqrt",
    "copy": "clone",
    "relu6": "hardtanh",
    "tanh": "tanh",
    "gelu_tanh": "gelu",
    "silu": "silu",
    "gelu": "gelu",
    "elu": "elu",
    "mul_scalar": "mul",
    "neg": "neg",
}
BINARY = {"sub": "sub", "mul": "mul", "div": "div", "max": "maximum", "pow": "pow"}
REDUCED = {"mean": "mean", "sum": "sum", "var": "var", "amax": "amax"}


def convolution(p: Params, t: Made, *, is_backward: bool) -> tuple[str, list[Argument]]:
    image = t(p["b"], p["ci"], p["h"], p["w"])
    filters = t(p["co"], p["ci"] // p["g"], p["k"], p["k"])
    rest: list[Argument] = [(p["s"],) * 2, (p["p"],) * 2, (p["d"],) * 2, False, (0, 0), p["g"]]
    if not is_backward:
        return "convolution", [image, filters, None, *rest]
    out = [(p[a] + 2 * p["p"] - p["d"] * (p["k"] - 1) - 1) // p["s"] + 1 for a in "hw"]
    masks = {"both": (1, 1, 0), "input": (1, 0, 0), "weight": (0, 1, 0)}
    mask = masks.get(str(p["mask"]))
    return "convolution_backward", [t(p["b"], p["co"], *out), image, filters, None, *rest, mask]


def attention(p: Params, t: Made) -> tuple[str, list[Argument]]:
    query = t(p["b"], p["h"], p["q"], p["d"])
    cached = t(p["b"], p["hkv"], p["kv"], p["d"])
    causal = bool(p["causal"])
    return "_scaled_dot_product_flash_attention", [query, cached, cached, 0.0, causal]


def called(family: str, p: Params, t: Made) -> tuple[str, list[Argument]] | None:
    """Return the operator of a row; None for a family of several."""
    match family:
        case "gemm" | "llm_gemm":
            return "linear", [t(p["m"], p["k"]), t(p["n"], p["k"])]
        case "bmm":
            return "bmm", [t(p["b"], p["m"], p["k"]), t(p["b"], p["k"], p["n"])]
        case "conv" | "conv1x1" | "dwconv" | "gconv":
            return convolution(p, t, is_backward=False)
        case "conv_bwd":
            return convolution(p, t, is_backward=True)
        case "sdpa":
            return attention(p, t)
        case "unary":
            return UNARY[p["op"]], [t(p["n"])]
        case "binary" if p["op"] in BINARY:
            return BINARY[p["op"]], [t(p["n"])] * 2
        case "softmax":
            return "_softmax", [t(p["rows"], p["cols"]), -1, False]
        case "softmax_bwd":
            return "_softmax_backward_data", [t(p["rows"], p["cols"])] * 2
        case "layernorm":
            row = t(p["cols"])
            return "native_layer_norm", [t(p["rows"], p["cols"]), (p["cols"],), row, row, 1e-5]
        case "reduce":
            return REDUCED[p["op"]], [t(p["rows"], p["cols"]), (int(p["dim"]),), False]
        case "embedding":
            return "embedding", [t(p["v"], p["d"]), TensorArgument("long int", (p["n"],))]
        case "scan":
            return "cumsum", [t(p["rows"], p["cols"]), -1]
        case "batchnorm" | "bn_train":
            row = t(p["c"])
            image = t(p["b"], p["c"], p["h"], p["w"])
            return "native_batch_norm", [image, row, row, row, row]
        case "groupnorm":
            row = t(p["c"])
            return "native_group_norm", [t(p["b"], p["c"], p["h"], p["w"]), row, row]
        case "concat" if p["dim"] == 1:
            return "cat", [tuple(t(p["b"], c, p["h"], p["h"]) for c in p["cs"]), 1]
        case "pool" if p["op"] == "avg":
            image = t(p["b"], p["c"], p["h"], p["w"])
            return "avg_pool2d", [image, *((p[name],) * 2 for name in "ksp")]
        case _:
            return None


@pytest.mark.skipif(not OPERATORS.is_file(), reason="the data set is not part of this copy")
def test_no_floor_is_above_the_time_of_a_measured_operator() -> None:
    """Times are of CUDA graphs, with operands in the cache and out of it."""
    machine = load_machine("h200-sxm-141gb")
    above, seen, total = [], 0, 0
    with gzip.open(OPERATORS, "rt") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    for row in rows:
        total += 1
        word = WORDS[row["dtype"]]
        made = called(
            row["family"],
            json.loads(row["params"]),
            lambda *sizes, word=word: TensorArgument(word, tuple(sizes)),
        )
        times = [float(row[name]) * 1e-6 for name in ("hot_us", "cold_us") if row[name]]
        if made is None or not times:
            continue
        name, arguments = made
        call = OperatorCall(f"aten::{name}", tuple(arguments))
        floor = floor_of(call, machine, ("tf32",) if row["dtype"] == "tf32" else ("kernel",))
        assert floor is not None, (row["family"], row["params"])
        seen += 1
        if floor.floor_s > min(times):
            above.append((row["family"], row["dtype"], row["params"], floor.floor_s / min(times)))
    assert not above
    assert seen > 0.8 * total
