"""Matrix products of serving frameworks, replayed from recorded graphs for AIConfigurator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..source import PublicSource, files_in, pandas, read_table

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "src/aiconfigurator/systems/data"
COLUMNS = {
    "device": "device", "framework": "framework", "version": "version", "gemm_dtype": "dtype",
    "kernel_source": "kernel_source", "m": "m", "n": "n", "k": "k", "latency": "latency_us",
}  # fmt: skip
POWER = {"power": "power_w", "power_limit": "power_limit_w"}
US_PER_MS = 1000
RENAMED = {"TRTLLM": "trtllm", "VLLM": "vllm", "SGLang": "sglang", "SGLANG": "sglang"}
MISFILED = {"NVIDIA GB300": "gb300"}
"""Rows that lie in the folder of another system."""


class AiConfigurator(PublicSource):
    """``gemm_perf`` of every system: graph replay, several copies of the weights, average.

    Of each system and framework the newest version is kept, and every version with power. Products
    whose time is the host's, those of vLLM in blocked fp8, are marked ``host_bound``.
    """

    name: ClassVar[str] = "aiconfigurator"
    title: ClassVar[str] = "matrix products of serving frameworks on data-centre GPUs"
    url: ClassVar[str] = "https://github.com/ai-dynamo/aiconfigurator"
    commit: ClassVar[str] = "095f58a51c4c"
    licence: ClassVar[str] = "Apache-2.0"
    folders: ClassVar[tuple[str, ...]] = (FOLDER,)
    tables: ClassVar[tuple[str, ...]] = ("aic_gemm",)

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """One table of all systems."""
        found: dict[tuple[str, str], list[tuple[tuple[int, ...], pd.DataFrame]]] = {}
        for path in files_in(clone, f"{FOLDER}/*/*/*/gemm_perf.*"):
            system, framework, version = path.parts[-4:-1]
            frame = rows_of(path, system, framework, version)
            found.setdefault((system, framework), []).append((numbers(version), frame))
        parts = []
        for versions in found.values():
            newest = max(n for n, _ in versions)
            parts += [f for n, f in versions if n == newest or f["power_w"].notna().any()]
        return {"aic_gemm": pandas().concat(parts, ignore_index=True)}


def rows_of(path: Path, system: str, framework: str, version: str) -> pd.DataFrame:
    """Rows of one file; power where it has some."""
    try:
        frame = read_table(path, {**COLUMNS, **POWER})
    except Exception as error:
        if "no column 'power" not in str(error):
            raise
        frame = read_table(path, COLUMNS).assign(power_w=float("nan"), power_limit_w=float("nan"))
    # what lies in a folder is of its framework and version, whatever case a row writes them in
    frame["framework"] = RENAMED.get(framework, framework)
    frame["version"] = version
    frame["latency_us"] *= US_PER_MS
    frame["system"] = frame["device"].map(MISFILED).fillna(system)
    is_blocked = frame["dtype"].eq("fp8_block")
    return frame.assign(host_bound=is_blocked & (frame["framework"] == "vllm"))


def numbers(version: str) -> tuple[int, ...]:
    """A version for comparing: ``1.3.0rc15`` before ``1.3.0``, after ``1.2.0``."""
    head, _, candidate = version.partition("rc")
    digits = [int(d) for d in head.split(".") if d.isdecimal()]
    return (*digits, int(candidate) if candidate.isdecimal() else 1_000_000)
