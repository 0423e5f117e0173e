"""Attention of LLMServingSim's profiles: prompts after cached tokens, and single tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..features.classes.attention import AttentionKernel
from ..features.rows import Protocol, Rows
from . import Source, read_parquet, target_of

if TYPE_CHECKING:
    import pandas as pd

    from ..features.classes import Array

HEADS: dict[str, tuple[int, int]] = {
    "meta-llama/Llama-3.1-8B": (32, 8),
    "meta-llama/Llama-3.1-70B": (64, 8),
    "mistralai/Mixtral-8x7B-v0.1": (32, 8),
    "microsoft/Phi-mini-MoE-instruct": (32, 8),
    "Qwen/Qwen3-30B-A3B-Instruct-2507": (32, 4),
}
"""Heads of queries, and of keys and values, by the models' published configurations."""
HEAD_DIM = 128.0
TARGETS = {"A6000": "rtx-a6000"}
"""Devices whose names are no target's."""
OLD = "v0_torch_profiler"


class LlmServingSimAttention(Source):
    """``llmservingsim_attention.parquet``: vLLM's attention kernels, MIT.

    Steps that mix prompts with single tokens are no row of a class. The older profiler states
    tokens of a cache in a way that fits neither one sequence nor all, so that its single tokens
    are left out; of its prompts ``kv_prefill`` counts the new tokens, of the newer one's not.
    """

    name: ClassVar[str] = "llmservingsim_attention"
    files: ClassVar[tuple[str, ...]] = ("llmservingsim_attention.parquet",)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Blocks by device, profiler, model and its shards."""
        frame = read_parquet(folder / self.files[0]).fillna({"n_decode": 0})
        frame = frame[frame["model"].isin(list(HEADS))]
        keys = ["device", "profiler", "model", "tensor_parallel"]
        for (device, profiler, model, shards), block in frame.groupby(keys, observed=True):
            prompts = block[(block["prefill_chunk"] > 0) & (block["n_decode"] == 0)]
            tokens = block[(block["prefill_chunk"] == 0) & (block["n_decode"] > 0)]
            heads = [n / float(str(shards)) for n in HEADS[str(model)]]
            for name, part in (("attention_prefill", prompts), ("attention_decode", tokens)):
                if not len(part) or (part is tokens and profiler == OLD):
                    continue
                shape = {"heads": heads[0], "kv_heads": heads[1], "head_dim": HEAD_DIM}
                kernel = AttentionKernel.UNKNOWN if profiler == OLD else AttentionKernel.FLASH_2
                constant = {n: np.full(len(part), v) for n, v in shape.items()}
                constant["kernel"] = np.full(len(part), float(kernel))
                yield Rows(
                    name,
                    target_of(TARGETS.get(str(device), str(device))),
                    "bf16",
                    Protocol.KERNELS,
                    "vllm",
                    constant | lengths(part, old=profiler == OLD),
                    part["latency_us"].to_numpy(np.float64) * 1e-6,
                )


def lengths(part: pd.DataFrame, *, old: bool) -> dict[str, Array]:
    """Batch, new tokens and those that they see."""

    def column(name: str) -> Array:
        found: Array = part[name].to_numpy(np.float64)
        return found

    chunk = column("prefill_chunk")
    if chunk[0] == 0:
        return {"batch": column("n_decode"), "cached_len": column("kv_decode")}
    seen = column("kv_prefill") + (0 if old else chunk)
    return {"batch": np.ones(len(part)), "query_len": chunk, "kv_len": seen}
