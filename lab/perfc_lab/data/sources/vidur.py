"""Operators of language models and collectives, timed for the simulator Vidur.

CSV files become the tables ``vidur_mlp`` and ``vidur_network``.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..source import FetchError, PublicSource, checked, files_in, measured, pandas, read_table

if TYPE_CHECKING:
    import pandas as pd

# statistics of repeated calls, one column for each
STATISTICS = ("min", "max", "mean", "median", "std")
# extents of a model, the same in every row of its file
CONSTANTS = ("n_head", "n_kv_head", "n_embd", "n_expanded_embd", "vocab_size", "use_gated_mlp")
US_PER_MS = 1000
"""Microseconds per millisecond: Vidur's tables have milliseconds, perfc's microseconds."""
# columns of collectives by their published names
NETWORK = {
    "num_workers": "num_workers",
    "devices_per_node": "devices_per_node",
    "max_devices_per_node": "max_devices_per_node",
    "rank": "rank",
    "size": "size_bytes",
}


class Vidur(PublicSource):
    """``data/profiling``: sums of kernel times without launch gaps, and collectives.

    Operators lie in ``compute/DEVICE/MODEL/mlp.csv``, collectives in ``network/SYSTEM/NAME.csv``.
    """

    name: ClassVar[str] = "vidur"
    title: ClassVar[str] = "operators of language models and collectives on A100, A40 and H100"
    url: ClassVar[str] = "https://github.com/microsoft/vidur"
    commit: ClassVar[str] = "7d47513363ec"
    licence: ClassVar[str] = "MIT"
    folders: ClassVar[tuple[str, ...]] = ("data/profiling/compute", "data/profiling/network")
    tables: ClassVar[tuple[str, ...]] = ("vidur_mlp", "vidur_network")

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return a row per operator, tokens and shards, and a row per collective, size and rank."""
        root = (clone / "data" / "profiling" / "compute").resolve()
        parts = []
        for path in files_in(clone, "data/profiling/compute/*/*/*/mlp.csv"):
            device, *model, _ = path.relative_to(root).parts
            parts += operators(path, device, "/".join(model))
        return {
            "vidur_mlp": pandas().concat(parts, ignore_index=True),
            "vidur_network": collectives(clone),
        }


def collectives(clone: Path) -> pd.DataFrame:
    """Return the collectives; ``suspect`` marks files that repeat another system's byte by byte."""
    seen: set[bytes] = set()
    parts = []
    for path in files_in(clone, "data/profiling/network/*/*.csv"):
        op = path.stem
        times = {f"time_stats.{op}.{s}": f"latency_{s}_us" for s in STATISTICS}
        frame = read_table(path, {**times, **NETWORK})
        frame = measured(frame, path, *times.values(), "size_bytes")
        frame[list(times.values())] *= US_PER_MS
        # files come in the order of their names: the first of equal files counts as the original
        digest = sha256(path.read_bytes()).digest()
        is_copy = digest in seen
        parts.append(frame.assign(system=path.parent.name, collective=op, suspect=is_copy))
        seen.add(digest)
    return pandas().concat(parts, ignore_index=True)


def operators(path: Path, device: str, model: str) -> list[pd.DataFrame]:
    """Return the rows of one file, a table per operator."""
    with checked(path).open(encoding="utf-8") as stream:
        header = stream.readline(100_000).strip().split(",")
    # columns of times are named "time_stats.OPERATOR.STATISTIC"
    names = [h.split(".")[1] for h in header if h.startswith("time_stats.") and h.endswith(".min")]
    if not names:
        raise FetchError("no times of operators", where=str(path))
    result = []
    for op in names:
        times = {f"time_stats.{op}.{s}": f"latency_{s}_us" for s in STATISTICS}
        other = {"num_tokens": "num_tokens", "num_tensor_parallel_workers": "tensor_parallel"}
        frame = read_table(path, {**times, **other, **{c: c for c in CONSTANTS}})
        frame[list(times.values())] *= US_PER_MS
        frame = frame.assign(device=device, model=model, op=op, dtype="fp16")
        result.append(with_extents(frame, op))
    return result


def with_extents(frame: pd.DataFrame, op: str) -> pd.DataFrame:
    """Return rows of a product with its extents on one shard; other rows as they are."""
    shards = frame["tensor_parallel"]
    width = frame["n_embd"]
    head = width // frame["n_head"]
    gated = frame["use_gated_mlp"].astype(int) + 1  # 2 where gate and up are one product
    heads = frame["n_head"] // shards
    # with fewer key heads than shards, each shard has a copy of one key head
    kv_heads = (frame["n_kv_head"] // shards).clip(lower=1)
    expanded = frame["n_expanded_embd"] // shards
    products = {
        "attn_pre_proj": ((heads + 2 * kv_heads) * head, width),
        "attn_post_proj": (width, heads * head),
        "mlp_up_proj": (gated * expanded, width),
        "mlp_down_proj": (width, expanded),
    }
    if op in products:
        n, k = products[op]
        return frame.assign(gemm_m=frame["num_tokens"], gemm_n=n, gemm_k=k)
    return frame
