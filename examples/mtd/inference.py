"""Level 4, inference: one forward pass, and the MIG profile it needs, table 3.3.

    python examples/mtd/inference.py

The dissertation's wall-clock times are of a whole TensorFlow call; times their GPU utilisation they
give the time of kernels, which stands beside ours. It does not say the batch size: 1 and 8 are
shown. A MIG profile is chosen as section 3.4.4 does, by utilisation: below 25 % of the device seven
instances, below 50 % three, below 75 % two, else the whole.
"""

from __future__ import annotations

import network
import tables
import thesis

import perfc
from perfc.api import Report

GIB = 1 << 30


def profile(utilisation: float) -> str:
    """The MIG profile of section 3.4.4."""
    return next(name for most, name in thesis.MIG_PROFILES if utilisation < most or most == 1.0)


def analyzed(gpu: str, precision: str, batch: int) -> Report:
    """The network on a GPU."""
    return perfc.analyze(
        network.PATH,
        thesis.TARGETS[gpu],
        dims={"batch": batch},
        runtime="eager",
        layout=thesis.LAYOUT,
        dtype=tables.DTYPES[precision],
    )


def memory_bytes(report: Report) -> float:
    """Activations at their peak, and weights."""
    return report.liveness.peak(report.env)[0] + 4 * (thesis.TRAINABLE + thesis.NON_TRAINABLE)


def _beside() -> str:
    """Our kernel times at batch 8 over the dissertation's, GPU by GPU."""
    parts = []
    for (gpu, precision), measured in thesis.INFERENCE.items():
        kernels_s = measured.wall_s * measured.gpu_utilisation
        share = analyzed(gpu, precision, 8).roofline.sustained_s / kernels_s
        parts.append(f"{share:.2f} ({gpu} {precision})")
    return ", ".join(parts)


def main() -> None:
    """Print kernel times, utilisation and profiles."""
    rows = []
    for (gpu, precision), measured in thesis.INFERENCE.items():
        kernels_s = measured.wall_s * measured.gpu_utilisation
        found = {b: analyzed(gpu, precision, b) for b in (1, 8)}
        used = found[1].roofline.sustained_s / measured.wall_s
        rows.append(
            (
                f"{gpu} {precision}",
                *(f"{1e3 * r.roofline.floor_s:.2f}" for r in found.values()),
                *(f"{1e3 * r.roofline.sustained_s:.2f}" for r in found.values()),
                f"{1e3 * kernels_s:.2f}",
                f"{1e3 * measured.wall_s:.0f}",
                tables.percent(used),
                tables.percent(measured.gpu_utilisation),
                tables.percent(tables.tensor_share(found[1])),
                tables.percent(measured.tensor_utilisation),
                profile(used) if gpu == "A100" else "-",
                profile(measured.gpu_utilisation) if gpu == "A100" else "-",
            )
        )
    header = ["GPU, precision", "floor b1", "floor b8", "busy b1", "busy b8"]
    header += ["thesis", "wall", "used b1", "usage", "tensor", "thesis", "MIG", "thesis MIG"]
    tables.show("One forward pass: ms, and shares of the wall-clock time (table 3.3)", header, rows)
    report = analyzed("A100", "mixed", 1)
    whole = report.roofline
    longest = max(whole.kernels, key=lambda k: k.sustained_s)
    tables.say(
        f"A100, mixed, batch 1: {whole.sustained_s * 1e3:.2f} ms of kernels, "
        f"{whole.launch_gap_s * 1e3:.2f} ms more waiting for {len(whole.kernels)} launches, "
        f"{memory_bytes(report) / GIB:.3f} GiB: an instance of 5 GB holds it. The longest kernel, "
        f"{longest.kernel.anchor.name}, is bound by {longest.binding.value}. Batch 8 takes "
        f"{_beside()} of the dissertation's kernel times; its batch size is not stated. A100 in "
        "single precision is farthest: we take its products to run on tensor cores in TF32, as it "
        "says they can, and it measured 16 % of their time there. The wall-clock times are the "
        "framework's: kernels are 1 to 8 % of them there, too."
    )


if __name__ == "__main__":
    main()
