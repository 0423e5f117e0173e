"""The machines: data sheets and measured ceilings, table 3.1 and figures 3.3 to 3.5.

    python examples/mtd/machines.py

The dissertation's numbers stand beside those of the shipped targets. Its ceilings are from Stream
kernels of Cuda-Bench, from cuBLAS products of 16,384 rows, and from one block a multiprocessor that
reads one buffer again and again; `perfc calibrate` takes others, which docs/calibrate.md names.
"""

from __future__ import annotations

from collections.abc import Iterator

import tables
import thesis

from perfc.machine import load_machine


def sheets() -> Iterator[tuple[object, ...]]:
    """Table 3.1 beside the shipped targets."""
    for gpu, name in thesis.TARGETS.items():
        facts, sheet = load_machine(name).facts, thesis.SHEETS[gpu]
        shipped = {
            "FP64, Tflop/s": ("compute.vector.f64.peak_flop_per_s", sheet.f64, 1e12),
            "FP32, Tflop/s": ("compute.vector.f32.peak_flop_per_s", sheet.f32, 1e12),
            "tensor cores, Tflop/s": ("compute.matrix.f16.peak_flop_per_s", sheet.tensor, 1e12),
            "memory, GiB": ("memory.device.capacity_bytes", sheet.memory_bytes, 1 << 30),
        }
        for title, (key, value, unit) in shipped.items():
            found = facts.get(key)
            ours = "-" if found is None else f"{found.value / unit:,.1f}"
            yield f"{gpu} {title}", f"{value / unit:,.1f}", ours


def ceilings() -> Iterator[tuple[object, ...]]:
    """The ceilings of figures 3.3 to 3.5 beside those of the shipped targets."""
    for gpu, name in thesis.TARGETS.items():
        machine, measured = load_machine(name), thesis.CEILINGS[gpu]
        shipped = {
            "FP32": ("compute.vector.f32.sustained_flop_per_s", measured.f32),
            "FP16": ("compute.vector.f16.sustained_flop_per_s", measured.f16),
            "tensor cores": ("compute.matrix.f16.sustained_flop_per_s", measured.tensor),
            "HBM": ("memory.device.sustained_bandwidth_bytes_per_s", measured.device),
            "L2": ("memory.l2.sustained_bandwidth_bytes_per_s", measured.l2),
            "L1": ("memory.l1.sustained_bandwidth_bytes_per_s", measured.l1),
        }
        for title, (key, value) in shipped.items():
            yield f"{gpu} {title}", f"{value / 1e9:,.1f}", f"{machine.facts[key].value / 1e9:,.1f}"


def main() -> None:
    """Print both tables."""
    tables.show("Data sheets (table 3.1)", ["", "thesis", "target"], sheets())
    header = ["ceiling, Gflop/s or GB/s", "thesis", "target"]
    tables.show("Measured ceilings (3.3.2.1, figures 3.3 and 3.4)", header, ceilings())
    tables.say(
        "Table 3.1 calls the tensor cores' row 32-bit: 125 and 312 Tflop/s are those of 16 bits. "
        "The ceilings of the targets are the dissertation's own."
    )


if __name__ == "__main__":
    main()
