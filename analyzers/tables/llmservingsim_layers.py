"""Linear layers of LLMServingSim's profiles: matrix products that vLLM calls, by a profiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..features.rows import Protocol, Rows
from . import Source, read_parquet, target_of
from .llmservingsim_attention import HEAD_DIM, TARGETS
from .vidur_mlp import COMPUTED


@dataclass(frozen=True)
class Extents:
    """Extents of a model; ``inner`` of one expert where there are several."""

    hidden: int
    inner: int
    heads: int
    kv_heads: int
    vocabulary: int


MODELS: Mapping[str, Extents] = {
    "meta-llama/Llama-3.1-8B": Extents(4096, 14336, 32, 8, 128256),
    "meta-llama/Llama-3.1-70B": Extents(8192, 28672, 64, 8, 128256),
    "mistralai/Mixtral-8x7B-v0.1": Extents(4096, 14336, 32, 8, 32000),
    "microsoft/Phi-mini-MoE-instruct": Extents(4096, 960, 32, 8, 32064),
    "Qwen/Qwen3-30B-A3B-Instruct-2507": Extents(2048, 768, 32, 4, 151936),
    "Qwen/Qwen3-32B": Extents(5120, 25600, 64, 8, 151936),
}
"""From the models' published configurations."""
DENSE, STEP = 64, 16
"""Lengths up to the first are all kept, above only those at and behind multiples of the second:
two lengths side by side differ by noise, and the older profiler has every one up to 2048."""


class LlmServingSimLayers(Source):
    """``llmservingsim_layers.parquet``: products of shards of language models, MIT.

    Experts are whole where a model is sharded: so timed, at the rates of whole ones. They are left
    out there, as are layers that are no product.
    """

    name: ClassVar[str] = "llmservingsim_layers"
    files: ClassVar[tuple[str, ...]] = ("llmservingsim_layers.parquet",)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Blocks by device."""
        import pandas as pd

        frame = read_parquet(folder / self.files[0])
        frame = frame[(frame["x"] <= DENSE) | (frame["x"] % STEP <= 1)]
        keys = ["model", "tensor_parallel", "layer"]
        for device, block in frame.groupby("device", observed=True, sort=True):
            parts = []
            for (model, shards, layer), part in block.groupby(keys, observed=True, sort=True):
                own = MODELS.get(str(model))
                shape = width_and_depth(own, str(layer), int(shards)) if own else None
                if shape is not None:
                    parts.append(part.assign(n=shape[0], k=shape[1]))
            if not parts:
                continue
            whole = pd.concat(parts)
            columns = {"m": whole["x"], "n": whole["n"], "k": whole["k"]}
            yield Rows(
                "matmul",
                target_of(TARGETS.get(str(device), str(device))),
                COMPUTED,
                Protocol.KERNELS,
                "vllm",
                {name: column.to_numpy(np.float64) for name, column in columns.items()},
                whole["latency_us"].to_numpy(np.float64) * 1e-6,
            )


def width_and_depth(model: Extents, layer: str, shards: int) -> tuple[int, int] | None:
    """Columns and reduction of a layer's product on one machine; None for what is none."""
    head = int(HEAD_DIM)
    heads, kv_heads = model.heads * head // shards, model.kv_heads * head // shards
    inner = model.inner // shards
    match layer:
        case "q_proj":
            return heads, model.hidden
        case "k_proj" | "v_proj":
            return kv_heads, model.hidden
        case "qkv_proj":
            return heads + 2 * kv_heads, model.hidden
        case "o_proj":
            return model.hidden, heads
        case "gate_proj" | "up_proj":
            return inner, model.hidden
        case "gate_up_proj":
            return 2 * inner, model.hidden
        case "down_proj":
            return model.hidden, inner
        case "lm_head":
            return model.vocabulary // shards, model.hidden
        case "expert.w1" | "expert.w3" if shards == 1:
            return inner, model.hidden
        case "expert.w2" if shards == 1:
            return model.hidden, inner
        case _:
            return None
