"""Chapter 3 of the thesis: profiling a weather model from the operator to the cloud."""

from __future__ import annotations

from . import Seed, faithful, missing, ours

MTD = "examples/mtd"
SEED = Seed(
    "Thesis, Chapter 3 (MTD from the operator to the cloud)",
    (
        faithful("Figure 3.2", "the U-Net, 3,525,650 parameters", f"{MTD}/network.py"),
        ours(
            "Figures 3.3 and 3.4",
            "peak throughput of HBM, L1 and L2 by probes",
            "perfc's own kernels; sizes and loops differ from the text",
            "docs/calibrate.md",
        ),
        ours(
            "Figures 3.5 and 3.6",
            "rooflines of the convolution, measured",
            "predicted; the measured sweep needs a GPU",
            f"{MTD}/operators.py",
        ),
        ours(
            "Table 3.2",
            "epochs of V100 and A100",
            "predicted beside the thesis's figures",
            f"{MTD}/training.py",
        ),
        ours("Section 3.4.3", "one to four GPUs", "predicted", f"{MTD}/distributed.py"),
        ours("Table 3.3", "inference, tensor cores", "predicted", f"{MTD}/inference.py"),
        faithful("Section 3.4.5", "prices of clouds", f"{MTD}/cloud_cost.py"),
        missing("Section 3.4.4", "utilisation of slices", "needs an A100 that is divided"),
    ),
)
