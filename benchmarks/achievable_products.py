"""The fastest matrix product that was measured of an accelerator against what is said of it.

    python benchmarks/achievable_products.py DATA

Rows are those of `ml_engineering_mamf`: of each accelerator the shape with the highest rate, in
bf16 and fp8, under PyTorch. Nothing that ships is learned from them. Whether a row is of bf16 or
fp8 tells the rate that its source says the sheet states.

Needs pandas and pyarrow.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean

import perfc
from perfc.machine import Unit, load_machine

TABLE = "ml_engineering_mamf.parquet"
TARGETS = {
    "NVIDIA A100 SXM": "a100-sxm4-80gb", "NVIDIA A100 PCIe": "a100-pcie-80gb",
    "NVIDIA H100 SXM": "h100-sxm5-80gb", "NVIDIA H200 SXM": "h200-sxm-141gb",
    "NVIDIA GH200 SXM": "gh200-144gb", "NVIDIA B200 SXM": "b200-sxm-180gb",
    "NVIDIA B300 SXM": "b300-sxm-270gb", "NVIDIA GB200 SXM": "gb200-186gb",
    "AMD MI300X": "mi300x", "AMD MI325X": "mi325x", "AMD MI355X": "mi355x",
}  # fmt: skip
HALF, NARROW = "bf16", "f8e4m3"
ALIKE = 0.1
"""How far the stated rate of a row may be from the sheet's, to be of that type."""


def main() -> None:
    """Print each row, then the mean error of each type."""
    import pandas as pd

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    rows = pd.read_parquet(parser.parse_args().data / TABLE)
    errors: dict[str, list[float]] = {HALF: [], NARROW: []}
    print("accelerator, type, Tflop/s measured and expected, from, to, error")
    for row in rows[rows.accelerator.isin(list(TARGETS))].itertuples():
        target = TARGETS[str(row.accelerator)]
        stated = load_machine(target).entry(Unit.MATRIX, HALF).nominal.value / 1e12
        dtype = HALF if abs(row.theory_tflops / stated - 1) < ALIKE else NARROW
        m, n, k = map(int, str(row.best_shape).split("x"))
        time = perfc.op("matmul", target, m=m, n=n, k=k, dtype=dtype).prediction.total.time
        low, mid, high = (2e-12 * m * n * k / end for end in (time.high, time.mid, time.low))
        error = mid / row.mamf_tflops - 1
        errors[dtype].append(error)
        print(
            f"{target:16} {dtype:6} {row.mamf_tflops:7.0f} {mid:7.0f} {low:7.0f} {high:7.0f} "
            f"{error:+.0%}"
        )
    for dtype, found in errors.items():
        print(f"{dtype}: {mean(map(abs, found)):.1%} in the mean, bias {mean(found):+.1%}")


if __name__ == "__main__":
    main()
