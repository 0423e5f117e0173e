"""Kernels and collectives of serving frameworks, measured for AIConfigurator.

Names of columns are those its collectors write (``collector/helper.py``, ``log_perf``) and its
loaders read; the tables themselves could not be looked into.  Two layouts are known, and which one
the pinned commit has could not be seen: the tables of a framework lie in
``SYSTEM/FRAMEWORK/VERSION``, later in ``SYSTEM/FAMILY/FRAMEWORK/VERSION``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from perfc.common.extras import install
from perfc.errors import MissingExtraError

from ..source import (
    FetchError,
    PublicSource,
    checked,
    entry,
    files_in,
    measured,
    number,
    pandas,
    read_table,
)

if TYPE_CHECKING:
    import pandas as pd

# folders of the repository that may hold the tables
SYSTEMS = ("aic-core/src/aiconfigurator_core/systems", "src/aiconfigurator/systems")
# Columns of AIConfigurator's tables: the published name, and the name in our table. The columns of
# `ROW` are in every table, power is in some.
ROW = {"device": "device", "kernel_source": "kernel_source", "latency": "latency_us"}
POWER = {"power": "power_w"}
# columns of products, of attention, and of attention with a cache of keys and values
GEMM = {"gemm_dtype": "dtype", "m": "m", "n": "n", "k": "k"}
HEADS = {
    "batch_size": "batch_size",
    "isl": "input_len",
    "num_heads": "num_heads",
    "head_dim": "head_dim",
    "attn_dtype": "attn_dtype",
}
CACHED = {"num_key_value_heads": "num_key_value_heads", "kv_cache_dtype": "kv_cache_dtype"}
# cached tokens before a step, and the sliding window; tables without them have neither
STEP = {"step": "kv_step", "window_size": "window_size"}
# columns of mixtures of experts
ROUTED = {
    name: name
    for name in (
        "moe_dtype",
        "num_tokens",
        "hidden_size",
        "inter_size",
        "topk",
        "num_experts",
        "moe_tp_size",
        "moe_ep_size",
        "distribution",
    )
}
# columns of attention over latents (MLA), and of the products that absorb its projections
LATENTS = {
    name: name
    for name in ("mla_dtype", "kv_cache_dtype", "num_heads", "batch_size", "isl", "tp_size", "step")
}
ABSORBED = {
    "bmm_dtype": "bmm_dtype",
    "num_tokens": "num_tokens",
    "num_heads": "num_heads",
    "op_name": "op_name",
}
# columns of layers with a state: `SCANNED` are those of Mamba-2, `CORRECTED` those of gated delta
# nets
STATES = {
    name: name for name in ("phase", "batch_size", "seq_len", "d_model", "d_conv", "model_name")
}
SCANNED = STATES | {name: name for name in ("d_state", "nheads", "head_dim", "n_groups")}
CORRECTED = STATES | {
    name: name for name in ("num_k_heads", "head_k_dim", "num_v_heads", "head_v_dim")
}
PLAIN = {
    # attention without causality, with as many key heads as heads
    "aic_attention_encoder": ("encoder_attention_perf", HEADS),
    # the fused experts of the busiest rank, by how tokens were drawn
    "aic_moe": ("moe_perf", ROUTED),
    # attention over latents; `step` tokens are cached before the `isl` new ones
    "aic_mla_context": ("context_mla_perf", LATENTS),
    "aic_mla_generation": ("generation_mla_perf", LATENTS),
    # the products, one a head, before and after single tokens attend to latents
    "aic_mla_bmm": ("mla_bmm_perf", ABSORBED),
    # Mamba-2: convolutions, and scans of prompts
    "aic_mamba2": ("mamba2_perf", SCANNED),
    # gated delta nets: convolutions, prompts and single tokens
    "aic_gdn": ("gdn_perf", CORRECTED),
}
"""Stem of the files and columns, by table: these tables have the columns of the files."""
# columns of collectives
MESSAGES = {"num_gpus": "num_gpus", "message_size": "message_elements"}
US_PER_MS = 1000
"""AIConfigurator's tables have milliseconds, ours microseconds."""
MAX_SHEET_BYTES = 1 << 20
"""Maximum bytes of a data sheet of a system."""
RENAMED = {"TRTLLM": "trtllm", "VLLM": "vllm", "SGLang": "sglang", "SGLANG": "sglang"}
"""Frameworks by the spellings of their folders."""
MISFILED = {"NVIDIA GB300": "gb300"}
"""Systems by the device of rows that lie in the folder of another system."""
ABOVE_PEAK = {
    ("a100_sxm", "trtllm", "1.0.0"),
    ("b200_sxm", "trtllm", "1.3.0rc15"),
    ("gb200", "trtllm", "1.3.0rc17"),
}
"""Tables by whose times decode steps would read memory up to 1.8 times faster than its peak."""


class Place(NamedTuple):
    """Machine and runtime of a table, as its folder says."""

    system: str
    framework: str
    version: str


class AiConfigurator(PublicSource):
    """Kernels, collectives and data sheets.

    Times are means over replays of recorded graphs that go through several copies of the weights.
    Of each system and framework the newest version is kept, and every version with power.  Products
    whose time is the host's, those of vLLM in blocked fp8, are marked ``host_bound``, decode steps
    of versions that read faster than memory ``suspect``.
    """

    name: ClassVar[str] = "aiconfigurator"
    title: ClassVar[str] = "kernels of serving frameworks on data-centre GPUs"
    url: ClassVar[str] = "https://github.com/ai-dynamo/aiconfigurator"
    commit: ClassVar[str] = "095f58a51c4c"
    licence: ClassVar[str] = "Apache-2.0"
    folders: ClassVar[tuple[str, ...]] = SYSTEMS
    tables: ClassVar[tuple[str, ...]] = (
        "aic_gemm",
        "aic_attention_context",
        "aic_attention_generation",
        "aic_attention_encoder",
        "aic_moe",
        "aic_mla_context",
        "aic_mla_generation",
        "aic_mla_bmm",
        "aic_mamba2",
        "aic_gdn",
        "aic_comm",
        "aic_systems",
    )

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return a table of each kind of kernel, of all systems."""
        return {
            "aic_gemm": joined(clone, "gemm_perf", products),
            "aic_attention_context": joined(clone, "context_attention_perf", attention),
            "aic_attention_generation": joined(clone, "generation_attention_perf", decoding),
            **{
                table: joined(clone, stem, partial(timed, columns=columns))
                for table, (stem, columns) in PLAIN.items()
            },
            "aic_comm": pandas().concat(
                [
                    joined(clone, "nccl_perf", collectives).assign(table="nccl"),
                    joined(clone, "custom_allreduce_perf", reductions).assign(
                        table="custom_allreduce"
                    ),
                ],
                ignore_index=True,
            ),
            "aic_systems": sheets(clone),
        }


def joined(clone: Path, stem: str, rows: Callable[[Path, Place], pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of a kind of kernel: each framework's newest version, and all with power."""
    # files are sorted: of a table that is there as Parquet and as text, Parquet comes first
    paths: dict[Place, Path] = {}
    for path in files_in(clone, *(f"{root}/data/**/{stem}.*" for root in SYSTEMS)):
        parts = path.relative_to(clone.resolve()).parts
        inside = parts[parts.index("data") + 1 :]
        if path.suffix in (".parquet", ".txt") and len(inside) >= 4:
            # SYSTEM, perhaps FAMILY, FRAMEWORK, VERSION, file
            framework, version = inside[-3:-1]
            place = Place(inside[0], RENAMED.get(framework, framework), version)
            paths.setdefault(place, path)
    newest: dict[tuple[str, str], tuple[int, ...]] = {}
    for system, framework, version in paths:
        newest_so_far = newest.get((system, framework), ())
        newest[system, framework] = max(newest_so_far, numbers(version))
    frames = []
    for place, path in paths.items():
        frame = rows(path, place)
        is_newest = numbers(place.version) == newest[place.system, place.framework]
        if is_newest or ("power_w" in frame and bool(frame["power_w"].notna().any())):
            frames.append(frame)
    return pandas().concat(frames, ignore_index=True)


def timed(
    path: Path, place: Place, columns: Mapping[str, str], optional: Mapping[str, str] = POWER
) -> pd.DataFrame:
    """Return rows of one file, in µs, with the system, framework and version of its folder."""
    frame = read_table(path, {**ROW, **columns}, optional)
    frame = measured(frame, path, "latency_us")
    frame["latency_us"] *= US_PER_MS
    if "power_w" in frame:
        # 0 and texts stand for no measurement
        power_w = pandas().to_numeric(frame["power_w"], errors="coerce")
        frame["power_w"] = power_w.where(power_w > 0)
    return frame.assign(
        framework=place.framework,
        version=place.version,
        system=frame["device"].map(MISFILED.get).fillna(place.system),
    )


def products(path: Path, place: Place) -> pd.DataFrame:
    """Return the products ``y[m,n] = x[m,k] W[k,n]``."""
    frame = timed(path, place, GEMM, {**POWER, "power_limit": "power_limit_w"})
    # of vLLM's products in blocked fp8 the host takes longer than the kernel
    is_blocked = frame["dtype"].eq("fp8_block")
    return frame.assign(host_bound=is_blocked & (place.framework == "vllm"))


def attention(path: Path, place: Place) -> pd.DataFrame:
    """Return the prompts.

    Without the columns of `STEP`, prompts follow no cached tokens and have no window: 0 for both.
    """
    frame = timed(path, place, {**HEADS, **CACHED}, {**STEP, **POWER})
    return frame.assign(**{name: frame[name].fillna(0).astype(int) for name in STEP.values()})


def decoding(path: Path, place: Place) -> pd.DataFrame:
    """Return steps of decoding, one new token a sequence after ``kv_step`` cached ones."""
    frame = measured(attention(path, place), path, "kv_step")
    return frame.assign(suspect=tuple(place) in ABOVE_PEAK)


def collectives(path: Path, place: Place) -> pd.DataFrame:
    """Return the rows of NCCL, by operation."""
    columns = {**MESSAGES, "nccl_dtype": "dtype", "op_name": "op"}
    return library(timed(path, place, columns, {}))


def reductions(path: Path, place: Place) -> pd.DataFrame:
    """Return each framework's own all-reduce, replayed or called."""
    columns = {**MESSAGES, "allreduce_dtype": "dtype"}
    return library(timed(path, place, columns, {})).assign(op="all_reduce")


def library(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of collectives as our table has them: a library in place of a framework."""
    return frame.drop(columns="device").rename(columns={"framework": "library"})


def sheets(clone: Path) -> pd.DataFrame:
    """Return the data sheets that AIConfigurator keeps, a row a system."""
    rows = []
    for path in files_in(clone, *(f"{root}/*.yaml" for root in SYSTEMS)):
        sheet = read_yaml(path)
        if isinstance(sheet, dict) and "gpu" in sheet:
            rows.append(sheet_row(sheet, path))
    if not rows:
        raise FetchError("no data sheet of a system", where=str(clone), hint="another commit?")
    return pandas().DataFrame(rows).drop_duplicates("system", ignore_index=True)


def sheet_row(sheet: Mapping[str, object], path: Path) -> dict[str, object]:
    """Return one data sheet in our units; a rate that it does not give is unknown."""

    def of(part: str, key: str, unit: float = 1) -> float:
        # `unit` is the size of our unit in that of the data sheet: 1e12 FLOP/s for a TFLOP/s
        return number(sheet, path, part, key) / unit if holds(sheet, path, part, key) else NAN

    # a sheet without a rate of bf16 has one of f16, which counts as that of bf16
    half = "bfloat16_tc_flops" if holds(sheet, path, "gpu", "bfloat16_tc_flops") else ""
    return {
        "system": path.stem,
        # required, unlike the others
        "mem_bw_gbps": number(sheet, path, "gpu", "mem_bw") / 1e9,
        "mem_bw_empirical_scale": of("gpu", "mem_bw_empirical_scaling_factor"),
        "mem_const_latency_us": of("gpu", "mem_empirical_constant_latency", 1e-6),
        "memory_gib": of("gpu", "mem_capacity", 1 << 30),
        "bf16_tflops": of("gpu", half or "float16_tc_flops", 1e12),
        "int8_tops": of("gpu", "int8_tc_flops", 1e12),
        "fp8_tflops": of("gpu", "fp8_tc_flops", 1e12),
        "fp4_tflops": of("gpu", "fp4_tc_flops", 1e12),
        "power_w": of("gpu", "power"),
        "sm_version": of("gpu", "sm_version"),
        "num_gpus_per_node": of("node", "num_gpus_per_node"),
        "intra_node_bw_gbps": of("node", "intra_node_bw", 1e9),
        "inter_node_bw_gbps": of("node", "inter_node_bw", 1e9),
    }


# a rate that a data sheet does not give
NAN = float("nan")


def holds(sheet: Mapping[str, object], path: Path, part: str, key: str) -> bool:
    """Return True if a data sheet gives a number."""
    inside = entry(sheet, path, part)
    return isinstance(inside, dict) and inside.get(key) is not None


def read_yaml(path: Path) -> object:
    """Return a small YAML file, its plain values alone.

    Raises:
        FetchError: the file is not YAML, or too large.
        MissingExtraError: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError:
        raise MissingExtraError("data sheets need yaml", hint=install("train")) from None
    if path.stat().st_size > MAX_SHEET_BYTES:
        raise FetchError(f"larger than {MAX_SHEET_BYTES} bytes", where=str(path))
    try:
        return yaml.safe_load(checked(path).read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError):
        raise FetchError("no YAML", where=str(path)) from None


def numbers(version: str) -> tuple[int, ...]:
    """Return a version for comparing: ``1.3.0rc15`` before ``1.3.0``, after ``1.2.0``."""
    head, _, candidate = version.partition("rc")
    digits = [int(d) for d in head.split(".") if d.isdecimal()]
    # a release follows all of its candidates
    return (*digits, int(candidate) if candidate.isdecimal() else 1_000_000)
