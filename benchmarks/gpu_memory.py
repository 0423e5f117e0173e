"""Memory that MLPs took in training on a GPU, as GPUMemNet measured it, and perfc's footprint.

    python benchmarks/gpu_memory.py DATA [ROWS]

DATA has ``gpumemnet_mlp.parquet``, which nothing is learned from. The driver's context there is
that of its own libraries and is not known: the row of the fewest parameters gives it, and all
others are predicted with it. Prints the median error of the whole, and of the memory above the
context.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from onnx import TensorProto, helper, save

import perfc
from perfc.view.report.memory_sections.footprint import footprint

MIB = 1 << 20
OPTIMIZER = "adam"
"""Optimizer of every measured training."""
ACTIVATIONS = {
    "ReLU": "Relu",
    "Tanh": "Tanh",
    "Sigmoid": "Sigmoid",
    "ELU": "Elu",
    "GELU": "Gelu",
    "LeakyReLU": "LeakyRelu",
    "SELU": "Selu",
    "Softplus": "Softplus",
    "Mish": "Mish",
}
"""ONNX operator of each activation by its name in the table."""


def stored(name: str, *shape: int) -> TensorProto:
    """Return a weight without its content, which nothing here reads."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "nowhere"), ("length", str(4 * int(np.prod(shape))))):
        tensor.external_data.add(key=key, value=value)
    return tensor


def model(row: pd.Series, path: Path) -> None:
    """Write the network of a row as ONNX."""
    nodes, weights, now, width = [], [], "x", int(row.inputs)
    for i, (kind, units, _) in enumerate(ast.literal_eval(row.layers)):
        out = f"v{i}"
        if kind == "linear":
            weights += [stored(f"w{i}", units, width), stored(f"b{i}", units)]
            nodes.append(helper.make_node("Gemm", [now, f"w{i}", f"b{i}"], [out], transB=1))
            width = units
        elif kind.startswith("batch"):
            names = [f"{n}{i}" for n in ("scale", "bias")]
            names += [f"n{i}.{n}" for n in ("running_mean", "running_var")]
            weights += [stored(n, width) for n in names]
            nodes.append(helper.make_node("BatchNormalization", [now, *names], [out]))
        elif kind.startswith("drop"):
            nodes.append(helper.make_node("Dropout", [now], [out]))
        else:
            nodes.append(helper.make_node(ACTIVATIONS[kind], [now], [out]))
        now = out
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [int(row.batch), int(row.inputs)])
    y = helper.make_tensor_value_info(now, TensorProto.FLOAT, [int(row.batch), width])
    graph = helper.make_graph(nodes, "mlp", [x], [y], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)


def estimated(row: pd.Series, folder: Path) -> int:
    """Return the reserved bytes of a row's step."""
    path = folder / "mlp.onnx"
    model(row, path)
    report = perfc.analyze(str(path), "a100-40gb", runtime="eager", train=OPTIMIZER)
    return footprint(report).reserved_bytes


def main() -> None:
    """Print errors."""
    import tempfile

    table = pd.read_parquet(Path(sys.argv[1]) / "gpumemnet_mlp.parquet")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else len(table)
    table = table.sample(min(count, len(table)), random_state=0).reset_index(drop=True)
    with tempfile.TemporaryDirectory() as folder:
        ours = np.array([estimated(r, Path(folder)) for _, r in table.iterrows()]) / MIB
    theirs = table.max_gpu_memory_mib.to_numpy(float)
    least = int(table.parameters.to_numpy().argmin())
    context = theirs[least] - ours[least]
    whole = np.abs((ours + context) / theirs - 1)
    above = np.abs(ours / np.maximum(theirs - context, 1) - 1)
    print(f"{len(table)} rows, {OPTIMIZER}, context {context:.0f} MiB as the smallest row has it")
    print(
        f"whole: median {100 * np.median(whole):.2f} %, mean {100 * whole.mean():.2f} %, "
        f"nine in ten below {100 * np.quantile(whole, 0.9):.2f} %"
    )
    print(f"above the context: median {100 * np.median(above):.1f} %")


if __name__ == "__main__":
    main()
