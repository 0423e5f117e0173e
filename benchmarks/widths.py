"""How wide the ranges that `perfc analyze` prints by default are, and if runtimes are in order.

    python benchmarks/widths.py [--models examples/models] [--targets a100,t4]

A cell is a model, a target, a runtime, a precision and a batch. It prints the share of cells whose
range is at most a factor of three, the widest cells, and every cell in which TensorRT is expected
to be slower than ONNX Runtime, or that slower than eager PyTorch.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import perfc
from perfc.errors import PerfcError

TARGETS = "a100,h100,v100-sxm2-32gb,t4,a10,l4,rtx4090,l40s"
RUNTIMES = ("tensorrt", "ort", "eager", "inductor")
IN_ORDER = ("tensorrt", "ort", "eager")
DTYPES = ("f16", "f32")
BATCHES = (1, 8, 64)
MODELS = ("resnet50", "bert-base", "gpt2", "vit-b16")
NARROW, WIDE = 3.0, 6.0
WORST = 20
Cell = tuple[str, str, str, int, str]


def cells(folder: Path, targets: list[str]) -> dict[Cell, tuple[float, float, str]]:
    """Expected time, upper over lower end, and who answers, of every cell that can be analysed."""
    found: dict[Cell, tuple[float, float, str]] = {}
    for name in MODELS:
        for path in sorted(folder.glob(f"{name}*.onnx*"))[:1]:
            for dtype in DTYPES:
                base = perfc.analyze(path, targets[0], dtype=dtype, batch=1)
                for target, batch, runtime in itertools.product(targets, BATCHES, RUNTIMES):
                    try:
                        total = base.under(target, runtime=runtime, batch=batch).prediction.total
                    except PerfcError as error:
                        print(f"left out: {error}")
                        continue
                    ratio = total.high_s / total.low_s if total.low_s else float("inf")
                    key = name, target, dtype, batch, runtime
                    found[key] = total.time_s, ratio, total.predictor or "kernels"
    return found


def main() -> None:
    """Print the three lists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=Path("examples/models"))
    parser.add_argument("--targets", default=TARGETS)
    asked = parser.parse_args()
    found = cells(asked.models, asked.targets.split(","))
    ratios = sorted(ratio for _, ratio, _ in found.values())
    narrow = sum(r <= NARROW for r in ratios) / len(ratios)
    wide = sum(r > WIDE for r in ratios)
    print(
        f"{len(ratios)} cells, {narrow:.1%} within a factor of {NARROW:g}, {wide} beyond {WIDE:g}"
    )
    for key, (time_s, ratio, who) in sorted(found.items(), key=lambda c: -c[1][1])[:WORST]:
        print(f"  {' '.join(map(str, key))}: {1e3 * time_s:.3g} ms, range {ratio:.2f}, {who}")
    wrong = 0
    for key, (time_s, _, who) in found.items():
        *rest, runtime = key
        if runtime not in IN_ORDER[1:]:
            continue
        faster = IN_ORDER[IN_ORDER.index(runtime) - 1]
        before = found.get((*rest, faster))  # type: ignore[arg-type]
        if before is not None and before[0] > time_s:
            wrong += 1
            ratio = before[0] / time_s
            print(f"  {' '.join(map(str, rest))}: {faster} {ratio:.2f} times {runtime} ({who})")
    print(f"{wrong} pairs out of order")


if __name__ == "__main__":
    main()
