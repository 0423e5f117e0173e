"""Chapter 3 of the thesis: profiling a weather model from the operator to the cloud."""

from __future__ import annotations

from . import Seed, faithful, ours

MTD = "examples/mtd"
SEED = Seed(
    "Thesis, Chapter 3 (MTD from the operator to the cloud)",
    (
        faithful("Table 3.1", "data sheets of V100 and A100", f"{MTD}/machines.py"),
        faithful("Figure 3.2", "the U-Net, 3,525,650 parameters", f"{MTD}/network.py"),
        ours(
            "Figures 3.3 and 3.4",
            "peak throughput of HBM, L1 and L2, and of products, by probes",
            "perfc's own kernels; sizes, loops and products differ from the text; the targets have "
            "the thesis's ceilings",
            "docs/calibrate.md",
            f"{MTD}/machines.py",
        ),
        faithful(
            "Section 3.3.2.2",
            "time, flop and bytes from hardware counters (Eqs. 3.3 to 3.6)",
            "docs/ncu.md",
            "perfc/measuring/ncu",
        ),
        ours(
            "Figures 3.5 and 3.6",
            "rooflines of the convolution, measured",
            "predicted, a chart a factor; the measured sweep runs on any processor, and with "
            "counters where a GPU is",
            f"{MTD}/operators.py",
            f"{MTD}/conv2d.py",
        ),
        ours(
            "Section 3.4.1",
            "what batch, strides, kernel and filters change",
            "24 sentences on rates are tested on predicted or measured rates, 7 on cache misses "
            "need counters",
            f"{MTD}/conclusions.py",
            f"{MTD}/conv2d.py",
        ),
        ours(
            "Table 3.2",
            "epochs of V100 and A100: time, use of GPU, memory and tensor cores, power",
            "predicted beside the thesis's figures; loading, losses and temperatures are not",
            f"{MTD}/training.py",
            f"{MTD}/energy.py",
        ),
        ours(
            "Section 3.4.3",
            "one to four GPUs",
            "predicted; perfc plan does so for any network",
            f"{MTD}/distributed.py",
            "perfc/commands/workloads/plan.py",
        ),
        ours(
            "Table 3.3",
            "inference: time, use of tensor cores and GPU",
            "predicted; the batch, which is not stated, is taken for 1 and 8",
            f"{MTD}/inference.py",
        ),
        ours(
            "Section 3.4.4",
            "the slice by utilisation",
            "by the thesis's rule, by memory and by both with time; predicted, as no A100 is "
            "divided here",
            f"{MTD}/slices.py",
            "perfc/commands/analysis/mig.py",
        ),
        faithful(
            "Section 3.4.5, Table 3.4",
            "prices of clouds",
            f"{MTD}/cloud_cost.py",
            "perfc/commands/analysis/cost.py",
        ),
    ),
)
