"""Fused experts of aiconfigurator's tables, timed in replayed graphs.

The experts that a router would choose for each token were drawn beforehand.

They become rows of the class ``experts``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from perfc.analyzers.features.classes.experts import ExpertsKernel
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.machine import load_machine

from ..data.rows import Rows
from . import TableSource, numbers, read_parquet, target_of, versioned

if TYPE_CHECKING:
    import pandas as pd

    from perfc.analyzers.features.classes import Array

FILE = "aic_moe.parquet"
TYPES: dict[str, tuple[str, dict[str, float]]] = {
    "bfloat16": ("bf16", {}),
    "fp8": ("f8e4m3", {}),
    "fp8_block": ("f8e4m3", {"scale_block": 128}),
    "nvfp4": ("f4e2m1", {"scale_block": 16}),
    "w4a8_mxfp4_mxfp8": ("f8e4m3", {"weight_bits": 4, "scale_block": 32}),
    "w4a16_mxfp4": ("bf16", {"weight_bits": 4, "scale_block": 32}),
    "int4_wo": ("bf16", {"weight_bits": 4, "scale_block": 128}),
}
"""Type that products are computed in, and parameters of the class for its weights, by the source's
type names; ``scale_block`` is the number of weights that share a scale."""
KERNELS: tuple[tuple[str, ExpertsKernel], ...] = (
    ("marlin", ExpertsKernel.MARLIN),
    ("deepgemm", ExpertsKernel.DEEP_GEMM),
    ("xpu", ExpertsKernel.ONE_API),
    ("min_latency", ExpertsKernel.LOW_LATENCY),
    ("cutlass", ExpertsKernel.CUTLASS),
    ("nongated", ExpertsKernel.CUTLASS),
    ("trtllm", ExpertsKernel.TENSORRT_LLM),
    ("triton", ExpertsKernel.TRITON),
    ("vllm_fused_moe", ExpertsKernel.TRITON),
)
"""Family of a kernel by a word in its name. The first word that a name holds counts, so that
special words come before general ones."""
TORCH_FLOW = {8: ExpertsKernel.CUTLASS, 9: ExpertsKernel.TRITON, 10: ExpertsKernel.TENSORRT_LLM}
"""Family of kernels whose name says only TensorRT-LLM, by major compute capability."""
UNGATED = frozenset(
    {(2688, 1856), (2048, 5120), (1024, 2688), (4096, 2688), (1024, 5120), (8192, 5120)}
)
"""Extents of a token and of the inside of an expert in Nemotron-H's models, whose experts have no
gate; the table does not say which rows are theirs."""
# start of the name of a distribution of tokens over experts, before its exponent
POWER_LAW = "power_law_"
AUTOTUNED = "flashinfer_cutlass"
"""Kernels whose tactic FlashInfer's tuner chooses. The tuner did not run for these tables, and
without it FlashInfer has good tactics for Blackwell alone. On Hopper it takes the first tactic,
which needs three to six times as long as TensorRT-LLM's tuned one; products with scales per block
have one tactic there."""
HOPPER = 9
"""Major compute capability of Hopper."""


class AicMoe(TableSource):
    """``aic_moe.parquet``: aiconfigurator's tables of fused experts, Apache-2.0.

    Times are those of the rank with the busiest experts, which gets all tokens, without exchanges.
    A framework that has several versions on one machine keeps its plain name for the newest.
    """

    name: ClassVar[str] = "aic_moe"
    files: ClassVar[tuple[str, ...]] = (FILE,)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Yield the blocks by device, type, framework and version."""
        frame = read_parquet(folder / FILE)
        for device, _, label, dtype, block in versioned(frame, "moe_dtype"):
            machine = load_machine(target_of(device))
            computed, constants = TYPES[dtype]
            yield Rows(
                "experts",
                machine.name,
                computed,
                Protocol.GRAPH,
                label,
                columns(block, Sheet(machine), constants),
                block["latency_us"].to_numpy(np.float64) * 1e-6,
                block["power_w"].to_numpy(np.float64),
            )


def columns(block: pd.DataFrame, sheet: Sheet, constants: Mapping[str, float]) -> dict[str, Array]:
    """Return the shape parameters of a block under perfc's names, and those of its type."""
    numbers_of = partial(numbers, block)
    hidden, inner = numbers_of("hidden_size"), numbers_of("inter_size")
    has_blocks = bool(constants.get("scale_block"))
    is_ungated = [(int(h), int(i)) in UNGATED for h, i in zip(hidden, inner, strict=True)]
    draw = block["distribution"].astype(str)
    # exponent of the power law that experts were drawn by; 0 for an even draw
    skew = draw.where(draw.str.startswith(POWER_LAW), f"{POWER_LAW}0").str.removeprefix(POWER_LAW)
    sources = block["kernel_source"].astype(str)
    return {
        "tokens": numbers_of("num_tokens"),
        "hidden": hidden,
        "inner": inner / numbers_of("moe_tp_size"),
        "chosen": numbers_of("topk"),
        "experts": numbers_of("num_experts"),
        "ranks": numbers_of("moe_ep_size"),
        # weights of an expert: gate, up and down; without a gate there are two
        "matrices": np.where(is_ungated, 2.0, 3.0),
        "skew": skew.to_numpy(np.float64),
        "kernel": sources.map(
            {s: float(kernel_of(s, sheet, has_blocks=has_blocks)) for s in sources.unique()}
        ).to_numpy(np.float64),
        **{name: np.full(len(block), float(value)) for name, value in constants.items()},
    }


def kernel_of(name: str, sheet: Sheet, *, has_blocks: bool = False) -> ExpertsKernel:
    """Return the family of a kernel by its name, its machine, and whether blocks share scales."""
    if AUTOTUNED in name and int(sheet.generation) == HOPPER and not has_blocks:
        return ExpertsKernel.UNTUNED_CUTLASS
    named = next((kernel for word, kernel in KERNELS if word in name), None)
    return named or TORCH_FLOW.get(int(sheet.generation), ExpertsKernel.UNKNOWN)
