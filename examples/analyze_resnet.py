"""Analyze ResNet-50 for two targets and print what bounds it.

    python examples/analyze_resnet.py

Prints, for each target, the floor and the sustained time of one run at batch 8, the five kernels
that take the most time with the ceiling that binds each, and the peak memory.
"""

from __future__ import annotations

from pathlib import Path

import perfc

MODEL = Path(__file__).parent / "models" / "resnet50.onnx.gz"


def main() -> None:
    """Print the two summaries."""
    for target in ("a100", "t4"):
        report = perfc.analyze(MODEL, target, dims={"batch": 8})
        roofline = report.roofline
        print(f"{target}: {roofline.time_s * 1e3:.2f} ms, floor {roofline.floor_s * 1e3:.2f} ms")
        print(f"  multiply-accumulates: {report.cost.work.mac}")
        slowest = sorted(roofline.kernels, key=lambda k: -k.time_s)[:5]
        for k in slowest:
            share = k.time_s / roofline.time_s
            print(
                f"  {share:5.1%}  {k.time_s * 1e6:7.1f} us  {k.binding.value:18}  {k.kernel.label}"
            )
        peak_bytes, node = report.liveness.peak(report.env)
        where = f" at {node.name}" if node is not None else ""
        print(f"  peak activations: {peak_bytes / 2**20:.1f} MiB{where}")


if __name__ == "__main__":
    main()
