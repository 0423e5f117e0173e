"""Find the batch sizes at which GPT-2 stops being bound by launches, and where it no longer fits.

    python examples/sweep_batch.py

The model is analyzed once; each point evaluates its formulas. Prints a table of batch sizes on
three targets, then where the bound changes and the first batch size that does not fit.
"""

from __future__ import annotations

from pathlib import Path

import perfc
from perfc.study.sweep.text import capacity_in_words, in_words

MODEL = Path(__file__).parent / "models" / "gpt2.onnx.gz"


def main() -> None:
    """Print the table and the changes."""
    found = perfc.sweep(MODEL, ["t4", "a100", "h100"], batch="1:64:*2", seq=128, top=0)
    for p in found.points:
        per_sequence_s = p.time_s / p.dims["batch"]
        print(
            f"{p.target:16} batch {p.dims['batch']:3}  {p.time_s * 1e3:7.2f} ms"
            f"  {per_sequence_s * 1e3:6.2f} ms a sequence  {p.regime.value}-bound"
        )
    for crossover, capacity in zip(found.crossovers, found.capacities, strict=True):
        print(f"{crossover.target}: {in_words(crossover.spans, 'batch')}")
        print(f"{crossover.target}: {capacity_in_words(capacity)}")


if __name__ == "__main__":
    main()
