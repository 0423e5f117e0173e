"""Prints kernels and device times of traces of eager PyTorch, by class, next to predictions.

    python benchmarks/eager_traces.py TRACES

Lines of a trace are of its last forward pass, as profiles begin within an earlier one. Predicted
times are without waits for launches.

Traces: AMD-AGI/TraceLens @171dd747, MIT: Qwen1.5-0.5B in bf16, 16 sequences of 559 tokens,
transformers from July 2025 (`query.contiguous()` of 4.48 to 4.55), no head.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import perfc
from perfc.ir.graph import Node
from perfc.ir.op import Kind
from perfc.ir.ops.movement.movement import Contiguous
from perfc.ir.ops.movement.slice import Concat

QWEN = {
    "model_type": "qwen2",
    "architectures": ["Qwen2Model"],
    "hidden_act": "silu",
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "max_position_embeddings": 32768,
    "num_attention_heads": 16,
    "num_hidden_layers": 24,
    "num_key_value_heads": 16,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "sliding_window": 32768,
    "torch_dtype": "bfloat16",
    "use_sliding_window": False,
    "vocab_size": 151936,
}
VERSION = "4.52"
SIZES = {"batch": 16, "seq": 559}
TRACES = {"h100_Qwen": "h100", "mi300_Qwen": "mi300x"}
FIRST = "indexSelect"
"""Part of the name of the first kernel of a pass: the look-up of tokens."""
CLASSES = ("product", "attention", "elementwise", "reduction", "copy and cast", "concatenation")
NAMES = (
    (r"gemm|Cijk|cutlass::Kernel2", "product"),
    (r"flash|attn_fwd", "attention"),
    (r"CatArray", "concatenation"),
    (r"reduce_kernel", "reduction"),
    (r"direct_copy|bfloat16_copy", "copy and cast"),
)
"""Patterns of kernel names, the first that matches; others are elementwise."""


@dataclass(frozen=True)
class ClassTimes:
    """Kernels of a forward pass by class: how many, and their times in seconds."""

    counts: Counter[str] = field(default_factory=Counter[str])
    times_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    low_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    high_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


def measured(path: Path) -> ClassTimes:
    """Return the kernels of the last whole forward pass of a trace."""
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    kernels = sorted((e for e in events if e.get("cat") == "kernel"), key=lambda e: float(e["ts"]))
    start = max(i for i, e in enumerate(kernels) if FIRST in e["name"])
    total = ClassTimes()
    for kernel in kernels[start:]:
        name = kernel["name"]
        kind = next((k for pattern, k in NAMES if re.search(pattern, name)), "elementwise")
        total.counts[kind] += 1
        total.times_s[kind] += kernel["dur"] * 1e-6
    return total


def predicted(config: Path, target: str) -> ClassTimes:
    """Return the predicted kernels of the same pass."""
    report = perfc.analyze(
        config, target, runtime="transformers", runtime_version=VERSION, dims=SIZES
    )
    total = ClassTimes()
    for kernel, estimate in zip(report.kernels.kernels, report.prediction.kernels, strict=True):
        kind = class_of(kernel.anchor)
        total.counts[kind] += 1
        total.times_s[kind] += estimate.device_s
        total.low_s[kind] += min(estimate.low_s, estimate.device_s)
        total.high_s[kind] += estimate.high_s
    return total


def class_of(node: Node) -> str:
    """Return the class of a kernel by its operator."""
    match node.op:
        case Concat():
            return "concatenation"
        case Contiguous():
            return "copy and cast"
        case op if op.mnemonic == "cast":
            return "copy and cast"
        case op:
            kinds = {Kind.MATMUL: "product", Kind.ATTENTION: "attention"}
            return kinds.get(op.kind, "reduction" if op.kind is Kind.REDUCTION else "elementwise")


def table(folder: Path) -> list[str]:
    """Return the lines of the table of all traces in a folder."""
    lines = [
        "| trace | class | kernels | predicted | measured ms | predicted | ratio | interval |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    with tempfile.TemporaryDirectory() as place:
        config = Path(place) / "config.json"
        config.write_text(json.dumps(QWEN), encoding="utf-8")
        for start, target in TRACES.items():
            real = measured(next(folder.glob(f"{start}*.json.gz")))
            ours = predicted(config, target)
            lines += [line(target, kind, real, ours, (kind,)) for kind in CLASSES]
            lines.append(line(target, "all", real, ours, CLASSES))
    return lines


def line(target: str, name: str, real: ClassTimes, ours: ClassTimes, kinds: tuple[str, ...]) -> str:
    """Return one line: the sums over some classes."""
    columns = (real.counts, ours.counts, real.times_s, ours.times_s, ours.low_s, ours.high_s)
    n, m, time, guess, low, high = (sum(column[k] for k in kinds) for column in columns)
    held = "holds" if low <= time <= high else f"{low * 1e3:.2f} to {high * 1e3:.2f}"
    return (
        f"| {target} | {name} | {n:.0f} | {m:.0f} | {time * 1e3:.2f} | {guess * 1e3:.2f} "
        f"| {guess / time:.2f} | {held} |"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with the traces")
    print("\n".join(table(parser.parse_args().folder)))
