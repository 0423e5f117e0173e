"""Layers and attention of language models in vLLM, profiled for LLMServingSim.

The columns are those of files of the public repository; where the older profiler's files lie at the
pinned commit could not be seen, so both of its known folders are looked into.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..source import FetchError, PublicSource, files_in, measured, pandas, read_table

if TYPE_CHECKING:
    import pandas as pd

# folders of the newer profiler and of the older one
NEW = "profiler/perf"
OLD = ("profiler/v0/perf_models", "llm_profile/perf_models")
NS_PER_US = 1000
"""Tables of layers have nanoseconds, ours microseconds."""
US_PER_MS = 1000
"""Tables of attention have milliseconds."""
# a batch: tokens of a prompt's chunk and before it, sequences that decode and their tokens
BATCHES = {name: name for name in ("prefill_chunk", "kv_prefill", "n_decode", "kv_decode")}


class LlmServingSim(PublicSource):
    """Kernel times of layers by tokens, and of attention by batch; experts' tables are left out."""

    name: ClassVar[str] = "llmservingsim"
    title: ClassVar[str] = "layers and attention of language models in vLLM"
    url: ClassVar[str] = "https://github.com/casys-kaist/LLMServingSim"
    commit: ClassVar[str] = "5daddb21a545"
    licence: ClassVar[str] = "MIT"
    folders: ClassVar[tuple[str, ...]] = (NEW, *OLD)
    tables: ClassVar[tuple[str, ...]] = ("llmservingsim_layers", "llmservingsim_attention")

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return both profilers' rows, with the column ``profiler``."""
        layers: list[pd.DataFrame] = []
        attention: list[pd.DataFrame] = []
        new = [f"{NEW}/*/**/tp*/{name}.csv" for name in ("dense", "per_sequence", "attention")]
        old = [f"{root}/*/**/tp*/{name}.csv" for root in OLD for name in ("layers", "attention")]
        for path in files_in(clone, *new, *old):
            match path.stem:
                case "dense":
                    layers.append(new_layers(path, "tokens"))
                case "per_sequence":
                    layers.append(new_layers(path, "sequences"))
                case "layers":
                    layers.append(old_layers(path))
                # attention.csv of both profilers
                case _ if "perf_models" in path.parts:
                    attention.append(old_attention(path))
                case _:
                    attention.append(new_attention(path))
        if not layers or not attention:
            raise FetchError("no rows of both kinds", where=str(clone), hint="another commit?")
        return {
            "llmservingsim_layers": pandas().concat(layers, ignore_index=True),
            "llmservingsim_attention": pandas().concat(attention, ignore_index=True),
        }


def placed(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Add columns from the folders: ``DEVICE/MODEL/DTYPE/tpN``; older ones have no DTYPE."""
    is_old = "perf_models" in path.parts
    root = path.parts.index("perf_models" if is_old else "perf")
    device, *model, shards = path.parts[root + 1 : -1]
    dtype = "bf16_or_fp16" if is_old else model.pop()
    if not model or not shards[2:].isdecimal():
        raise FetchError("a folder that says no model and shards", where=str(path))
    return frame.assign(
        device=device,
        model="/".join(model),
        dtype=dtype,
        tensor_parallel=int(shards[2:]),
        profiler="v0_torch_profiler" if is_old else "v1_vllm0.19",
    )


def new_layers(path: Path, x_name: str) -> pd.DataFrame:
    """Return the mean of three eager runs in vLLM by layer and number of tokens or sequences."""
    frame = read_table(path, {"layer": "layer", x_name: "x", "time_us": "latency_us"})
    frame = measured(frame, path, "x", "latency_us")
    return placed(frame.assign(x_name=x_name, kv_cache=0), path)


def old_layers(path: Path) -> pd.DataFrame:
    """Return the times by PyTorch's profiler: in ns in the file, in µs here."""
    columns = {"layer_name": "layer", "input": "x", "kv_cache": "kv_cache"}
    frame = read_table(path, {**columns, "latency(ns)": "latency_us"})
    frame = measured(frame, path, "x", "latency_us")
    frame["latency_us"] /= NS_PER_US
    return placed(frame.assign(x_name="tokens"), path)


def new_attention(path: Path) -> pd.DataFrame:
    """Return the batches that mix a prompt's chunk with steps of decoding."""
    frame = read_table(path, {**BATCHES, "time_us": "latency_us"})
    return placed(measured(frame, path, *BATCHES, "latency_us"), path)


def old_attention(path: Path) -> pd.DataFrame:
    """Return prompts and steps of decoding, with medians in ms in the file and in µs here.

    No row has both.
    """
    columns = {
        "batch_size": "batch",
        "prefill_chunk_size": "prefill_chunk",
        "kv_cache_size": "kv",
        "is_prefill": "is_prefill",
    }
    times = {f"time_stats.attn_{kind}.median": kind for kind in ("prefill", "decode")}
    frame = read_table(path, {**columns, **times})
    is_prefill = frame["is_prefill"].astype(str).str.lower().eq("true")
    # A row is a prompt or a step of decoding, and columns of the other kind are empty. Only the
    # chunk of a step is 0, since `measured` below leaves out rows where it is no number.
    frame = frame.assign(
        is_prefill=is_prefill,
        latency_us=frame["prefill"].where(is_prefill, frame["decode"]),
        prefill_chunk=frame["prefill_chunk"].where(is_prefill, 0),
        kv_prefill=frame["kv"].where(is_prefill),
        n_decode=frame["batch"].where(~is_prefill),
        kv_decode=frame["kv"].where(~is_prefill),
    )
    frame = measured(frame, path, "latency_us", "prefill_chunk", "batch")
    frame["latency_us"] *= US_PER_MS
    return placed(frame.drop(columns=["kv", "prefill", "decode"]), path)
