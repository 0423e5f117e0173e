"""Latent attention (MLA) of aiconfigurator's tables: prompts of expanded keys, steps of latents.

They become rows of the class ``latent_attention``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from perfc.analyzers.features.classes.latent_attention import LatentKernel
from perfc.analyzers.features.rows import Protocol
from perfc.ir.tensors.types import bits_of, dtype_named

from ..data.rows import Rows
from . import TableSource, numbers, read_parquet, target_of, versioned

if TYPE_CHECKING:
    import pandas as pd

    from perfc.analyzers.features.classes import Array

CONTEXT, GENERATION = "aic_mla_context.parquet", "aic_mla_generation.parquet"
EXPANDED, LATENT = (192.0, 128.0), (576.0, 512.0)
"""Extents of a key and a value of DeepSeek's heads, expanded and as latents; a key includes 64
elements with the rotary position."""
# kernels by the source's names
KERNELS: dict[str, LatentKernel] = {
    "default": LatentKernel.TENSORRT_LLM,
    "flash_attention": LatentKernel.FLASH,
    "trtllm_mla": LatentKernel.TENSORRT_LLM_LATENT,
    "triton": LatentKernel.TRITON,
    "vllm_triton_mla": LatentKernel.TRITON,
    "vllm_flashmla": LatentKernel.FLASH_MLA,
    "vllm_flash_attn_mla": LatentKernel.FLASH_EXPANDED,
}
CALLED = frozenset({("vllm", "0.14.0")})
"""Frameworks and versions whose calls were evidently timed one by one, without a graph: their
shortest calls take 100 to 200 µs whatever they do, those of all others 8 to 20 µs."""


class AicMla(TableSource):
    """``aic_mla_*.parquet``: aiconfigurator's tables of latent attention, Apache-2.0.

    Decoding steps have the extents of latents, prompts those of expanded keys and values; the
    parameter ``kernel`` says which prompts are computed over latents nevertheless. A
    framework that has several versions on one machine keeps its plain name for the newest.
    """

    name: ClassVar[str] = "aic_mla"
    files: ClassVar[tuple[str, ...]] = (CONTEXT, GENERATION)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Yield the blocks by device, type, framework, version and file."""
        for file in self.files:
            frame = read_parquet(folder / file)
            for device, framework, label, dtype, block in versioned(frame, "mla_dtype"):
                version = str(block["version"].iloc[0])
                yield Rows(
                    "latent_attention",
                    target_of(device),
                    dtype_named(dtype).code,
                    Protocol.EAGER if (framework, version) in CALLED else Protocol.GRAPH,
                    label,
                    columns(block, is_prompt=file == CONTEXT),
                    block["latency_us"].to_numpy(np.float64) * 1e-6,
                    block["power_w"].to_numpy(np.float64),
                )


def columns(block: pd.DataFrame, *, is_prompt: bool) -> dict[str, Array]:
    """Return the shape parameters of a block by the names that the kernel class uses."""
    numbers_of = partial(numbers, block)
    # steps multiply queries into the space of latents; prompts expand latents to keys and values
    key, value = EXPANDED if is_prompt else LATENT
    constant = np.ones(len(block))
    return {
        "batch": numbers_of("batch_size"),
        "query_len": numbers_of("isl"),
        "kv_len": numbers_of("isl") + numbers_of("step"),
        "heads": numbers_of("num_heads"),
        "head_dim": key * constant,
        "value_dim": value * constant,
        "cache_bits": block["kv_cache_dtype"].astype(str).map(bits_of).to_numpy(np.float64),
        "kernel": block["kernel_source"].astype(str).map(KERNELS).to_numpy(np.float64),
    }
