"""Weights cost nothing: one graph with 1 KB and with 1.5 GB of weights inside the file.

    python benchmarks/weightless.py
    python benchmarks/weightless.py --command "python -m perfc analyze {model} --target a100"

The large file is sparse: its weights are a hole, written in no time and read as zeros.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.arguments import parser_of

LAYERS = 96
LARGE_BYTES = 3 << 29
SMALL_BYTES = 1 << 10
LIMIT_RATIO = 1.3
"""Time or memory with the large file over that with the small one, at most."""

READ = "import sys; from perfc.frontend.source import open_model; open_model(sys.argv[1])"


def varint(number: int) -> bytes:
    """Return an integer in the wire format of protobuf, seven bits a byte."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def build(path: Path, weight_bytes: int) -> None:
    """Write a chain of MatMul and Relu whose weights take ``weight_bytes`` together."""
    from onnx import TensorProto, helper

    inner = max(1, weight_bytes // LAYERS // 4 // 16)
    shapes = [(16, inner) if layer % 2 == 0 else (inner, 16) for layer in range(LAYERS)]
    nodes = []
    value = "x"
    for layer in range(LAYERS):
        nodes.append(helper.make_node("MatMul", [value, f"w{layer}"], [f"m{layer}"]))
        nodes.append(helper.make_node("Relu", [f"m{layer}"], [f"r{layer}"]))
        value = f"r{layer}"
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 16])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, None)],
    )
    tensors: list[tuple[bytes, int]] = []
    for layer, shape in enumerate(shapes):
        elements = 4 * shape[0] * shape[1]
        tensor = TensorProto(name=f"w{layer}", dims=shape, data_type=TensorProto.FLOAT)
        # fields with a length: 0x4a is the raw data of a tensor, 0x2a a weight of the graph, 0x3a
        # below the graph of the model
        head = tensor.SerializeToString() + b"\x4a" + varint(elements)
        tensors.append((b"\x2a" + varint(len(head) + elements) + head, elements))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    model.ClearField("graph")
    graph_bytes = graph.SerializeToString()
    length = len(graph_bytes) + sum(len(head) + elements for head, elements in tensors)
    with path.open("wb") as file:
        file.write(model.SerializeToString() + b"\x3a" + varint(length) + graph_bytes)
        for head, elements in tensors:
            file.write(head)
            file.seek(elements, os.SEEK_CUR)
        file.truncate()


def run(command: list[str]) -> tuple[float, float]:
    """Return the wall time in seconds and the peak resident memory in bytes of one process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{shlex.join(command)} exits with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024  # bytes on macOS, KiB on Linux
    return time.perf_counter() - start, usage.ru_maxrss * unit


def main() -> int:
    parser = parser_of(__doc__, repeat=7)
    parser.add_argument("--command", help="what to run, with {model} for the file")
    parser.add_argument("--build", nargs=2, metavar=("PATH", "BYTES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        build(Path(options.build[0]), int(options.build[1]))
        return 0
    template = shlex.split(options.command) if options.command else [sys.executable, "-c", READ]
    if not any("{model}" in part for part in template):
        template.append("{model}")
    times_s: dict[str, float] = {}
    peaks: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        samples: dict[str, list[tuple[float, float]]] = {"small": [], "large": []}
        for name, nbytes in (("small", SMALL_BYTES), ("large", LARGE_BYTES)):
            # In a separate process: a child's peak includes that of the parent it came from.
            path = f"{folder}/{name}.onnx"
            subprocess.run([sys.executable, __file__, "--build", path, str(nbytes)], check=True)
        for _ in range(options.repeat + 1):
            for name, runs in samples.items():
                path = f"{folder}/{name}.onnx"
                runs.append(run([part.replace("{model}", path) for part in template]))
        for name, runs in samples.items():
            times_s[name] = statistics.median(time_s for time_s, _ in runs[1:])  # without warm-up
            peaks[name] = statistics.median(peak for _, peak in runs[1:])
            size = os.path.getsize(f"{folder}/{name}.onnx")
            print(f"{name}: {size:>13,} B  {times_s[name]:.3f} s  {peaks[name] / 2**20:.1f} MiB")
    ratios = times_s["large"] / times_s["small"], peaks["large"] / peaks["small"]
    print(f"ratio: time {ratios[0]:.2f}, peak memory {ratios[1]:.2f} (limit {LIMIT_RATIO})")
    return 0 if max(ratios) <= LIMIT_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
