"""Attention of aiconfigurator's tables: prompts, single tokens and encoders, graph replay.

They become rows of the classes ``attention_prefill`` and ``attention_decode``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from perfc.analyzers.features.classes.attention import AttentionKernel
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.ir.tensors.types import bits_of, dtype_named
from perfc.machine import load_machine

from ..data.rows import Rows
from . import TableSource, numbers, read_parquet, target_of, versioned

if TYPE_CHECKING:
    import pandas as pd

    from perfc.analyzers.features.classes import Array

CONTEXT, GENERATION, ENCODER = (
    f"aic_attention_{name}.parquet" for name in ("context", "generation", "encoder")
)
KERNELS: dict[str, AttentionKernel] = {
    "torch_flow": AttentionKernel.TENSORRT_LLM,
    "trtllm_mha": AttentionKernel.TENSORRT_LLM,
    "vllm_flashinfer_trtllmprefill": AttentionKernel.TENSORRT_LLM,
    "vllm_flashinfer_trtllmdecode": AttentionKernel.TENSORRT_LLM,
    "torch_flow_flashinfer": AttentionKernel.FLASHINFER,
    "flashinfer": AttentionKernel.FLASHINFER,
    "vllm_flashinfer": AttentionKernel.FLASHINFER,
    "vllm_flashinfer_fiprefill": AttentionKernel.FLASHINFER,
    "vllm_flashinfer_fidecode": AttentionKernel.FLASHINFER,
    "triton": AttentionKernel.TRITON,
    "vllm_triton_attn": AttentionKernel.TRITON,
    "vllm_flash_attn_fa2": AttentionKernel.FLASH_2,
    "vllm_vit_flash_attn_fa2": AttentionKernel.FLASH_2,
    "fa3": AttentionKernel.FLASH_3,
    "vllm_flash_attn_fa3": AttentionKernel.FLASH_3,
    "vllm_vit_flash_attn_fa3": AttentionKernel.FLASH_3,
    "flash_attention_v3": AttentionKernel.FLASH_3,
    "vllm_flash_attn_fa4": AttentionKernel.FLASH_4,
    "vllm_vit_flash_attn_fa4": AttentionKernel.FLASH_4,
    "flash_attention_v4": AttentionKernel.FLASH_4,
}
"""Kernels by the source's names; for a plain ``flash_attention`` the machine decides
(`kernel_of`)."""
NARROW_VALUES = ("sglang", 192, 128)
"""Framework, extent of a key and extent of its value, where they differ. SGLang's rows with heads
of 192 have values of 128, as MiMo-V2 has them: with values of 192 they would exceed the memory
bandwidth of an H100 by 7 %, with 128 they are as fast as heads of 128 and 256."""


class AicAttention(TableSource):
    """``aic_attention_*.parquet``: aiconfigurator's attention tables, Apache-2.0.

    Rows flagged ``suspect`` are left out. So are rows of single tokens whose window holds every
    cached token: they repeat rows without a window, except those of vLLM on RTX PRO 6000, of which
    one in ten takes five times as long. A framework that has several versions on one machine
    keeps its plain name for the newest.
    """

    name: ClassVar[str] = "aic_attention"
    files: ClassVar[tuple[str, ...]] = (CONTEXT, GENERATION, ENCODER)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Yield the blocks by class, device, type, framework and version."""
        for file in self.files:
            frame = read_parquet(folder / file)
            if "suspect" in frame:
                frame = frame[~frame["suspect"]]
            if file == GENERATION:
                frame = frame[~holds_all(frame)]
            for device, framework, label, dtype, block in versioned(frame, "attn_dtype"):
                machine = load_machine(target_of(device))
                yield Rows(
                    "attention_decode" if file == GENERATION else "attention_prefill",
                    machine.name,
                    dtype_named(dtype).code,
                    Protocol.GRAPH,
                    label,
                    columns(file, block, framework, Sheet(machine)),
                    block["latency_us"].to_numpy(np.float64) * 1e-6,
                    block["power_w"].to_numpy(np.float64),
                )


def holds_all(frame: pd.DataFrame) -> pd.Series[bool]:
    """Return True for each row of single tokens whose window holds all cached tokens."""
    window = frame["window_size"]
    return (window > 0) & (window > frame["kv_step"])


def columns(file: str, block: pd.DataFrame, framework: str, sheet: Sheet) -> dict[str, Array]:
    """Return the shape parameters of a block, under their names here."""
    numbers_of = partial(numbers, block)
    result = {
        name: numbers_of(column)
        for name, column in (("batch", "batch_size"), ("heads", "num_heads"))
    }
    result["head_dim"] = numbers_of("head_dim")
    sources = block["kernel_source"].astype(str)
    result["kernel"] = np.array([float(kernel_of(source, sheet)) for source in sources])
    if file == ENCODER:
        zeros = np.zeros(len(block))
        return result | {
            "query_len": numbers_of("input_len"),
            "kv_len": numbers_of("input_len"),
            "kv_heads": result["heads"],
            "causal": zeros,
        }
    narrow_framework, key_dim, value_dim = NARROW_VALUES
    # a value extent of 0 stands for that of the keys
    result |= {
        "kv_heads": numbers_of("num_key_value_heads"),
        "window": numbers_of("window_size"),
        "cache_bits": block["kv_cache_dtype"].astype(str).map(bits_of).to_numpy(np.float64),
        "value_dim": np.where(
            (result["head_dim"] == key_dim) & (framework == narrow_framework), value_dim, 0.0
        ),
    }
    # a step has one new token for each sequence, after the cached ones
    if file == GENERATION:
        return result | {"cached_len": numbers_of("kv_step")}
    return result | {
        "query_len": numbers_of("input_len"),
        "kv_len": numbers_of("input_len") + numbers_of("kv_step"),
    }


def kernel_of(name: str, sheet: Sheet) -> AttentionKernel:
    """Return the family of a kernel; plain FlashAttention is the one built for the machine."""
    listed = KERNELS.get(name)
    if listed is not None:
        return listed
    if "flash_att" not in name:
        return AttentionKernel.UNKNOWN
    # Major compute capability; 0 where the machine is not NVIDIA's. The only such machine of the
    # source is Intel's Arc Pro B60, whose kernels count to the family of oneAPI.
    match int(sheet.generation):
        case 0:
            return AttentionKernel.ONE_API
        case 9:
            return AttentionKernel.FLASH_3
        case 10:
            return AttentionKernel.FLASH_4
        case _:
            return AttentionKernel.FLASH_2
