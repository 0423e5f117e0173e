"""Settings of TensorRT-LLM's benchmarks, as its performance overviews give them by version.

Source: ``docs/source/performance/perf-overview.md`` of each version, *Reproducing Benchmarked
Results*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfc.passes.runtimes import Batching

from . import ServerSettings, is_mixture

REQUESTS = 2000
"""Number of requests, which all arrive at once, in 0.10 and 0.11: ``prepare_dataset.py
--num-requests=2000``."""
CHUNKED = ServerSettings(token_budget=2048, max_num_seqs=2048, batching=Batching.MIXED)
"""Settings of engines that divide prompts into chunks: ``trtllm-build --max_batch_size 2048
--max_num_tokens 2048`` and ``gptManagerBenchmark --enable_chunked_context``."""
EVICTING = replace(CHUNKED, evicts=True)
"""Settings of 0.10, which adds ``--scheduler_policy max_utilization``; 0.11 has
``guaranteed_no_evict``. Here a prompt starts as soon as blocks for all of its tokens are free
(kvCacheManager.cpp, ``getNeededBlocksOneStep``), without blocks for its answer."""
SIZES: Mapping[tuple[str, int], tuple[int, int]] = {
    ("GPTJ 6B", 1): (2048, 128),
    ("LLaMA v2 7B", 1): (8192, 4096),
    ("LLaMA v2 70B", 2): (2048, 2048),
    ("LLaMA v2 70B", 4): (8192, 4096),
    ("LLaMA v2 70B", 8): (16384, 8192),
    ("LLaMA v3 8B", 1): (8192, 2048),
    ("LLaMA v3 70B", 4): (1024, 2048),
    ("LLaMA v3 70B", 8): (16384, 8192),
    ("Mistral 7B", 1): (8192, 4098),
    ("Mixtral 8x7B", 2): (3072, 2048),
    ("Mixtral 8x7B", 4): (8192, 8192),
    ("Falcon 180B", 4): (8192, 4096),
    ("Falcon 180B", 8): (8192, 2048),
}
"""Maximum tokens and sequences of a step in engines of 0.11, by model and GPUs: ``$max_num_tokens``
and ``$max_batch_size`` of its page."""
SIZES_OF_LENGTHS: Mapping[tuple[str, int, int, int], tuple[int, int]] = {
    ("GPTJ 6B", 1, 128, 128): (2048, 2048),
    ("LLaMA v2 70B", 4, 128, 4096): (8192, 256),
    ("LLaMA v2 70B", 8, 128, 2048): (16384, 1024),
}
"""The same by model, GPUs, and tokens of prompt and answer, for engines that 0.11 built for one
pair of lengths."""
OF_LENGTHS = {
    (128, 128): 30000,
    (128, 2048): 3000,
    (128, 4096): 1500,
    (500, 2000): 3000,
    (1000, 1000): 3000,
    (1000, 2000): 1500,
    (2048, 128): 3000,
    (2048, 2048): 1500,
    (5000, 500): 1500,
    (20000, 2000): 1000,
    (1024, 1024): 3000,
    (1024, 8192): 1500,
    (8192, 1024): 1500,
    (1024, 32768): 1000,
    (32768, 1024): 1000,
}
"""Number of requests of 1.0 and of the next version, by tokens of prompt and answer; the last five
are from the page of the next version, ``post-v1.0@`` and a commit."""
SHARES_NOTHING = "v1.0"
"""Version whose table calls the GPUs of a model with experts tensor parallel, although its command
sets ``enable_attention_dp: true``: each GPU has separate sequences, and a share of the experts."""


def settings_of(
    version: str, model: str, gpus: int, isl: int, osl: int
) -> tuple[ServerSettings, int]:
    """Return the settings of the engines of a benchmark, and its number of requests.

    Versions whose page does not give them have default settings and 0 requests.

    Args:
        version: version as the table writes it.
        model: name of the model in the table.
        gpus: number of GPUs that share the model.
        isl: tokens of a prompt.
        osl: tokens of an answer.
    """
    if version.startswith("0.10."):
        return EVICTING, REQUESTS
    if version.startswith("0.11."):
        sizes = SIZES_OF_LENGTHS.get((model, gpus, isl, osl)) or SIZES.get((model, gpus))
        sized = sizes and replace(CHUNKED, token_budget=sizes[0], max_num_seqs=sizes[1])
        return sized or CHUNKED, REQUESTS
    # the page of 1.0 has the version ``v1.0``, that of the next version ``post-v1.0@`` and a
    # commit; no page of 1.1 or later is read
    if "v1.0" not in version:
        return ServerSettings(), 0
    # trtllm-bench builds its engine for the longest request of the data set
    return ServerSettings(longest=isl + osl), OF_LENGTHS.get((isl, osl), 0)


def groups(version: str, model: str, tensor: int, divided: int) -> int:
    """Return the number of groups of GPUs with separate sequences; 1 if all share each product.

    Args:
        version: version as the table writes it.
        model: name of the model in the table.
        tensor: GPUs that the table calls tensor parallel.
        divided: groups with separate sequences by the table; 0 where the table has no number.
    """
    # only the table of 1.0 itself: a later page, ``post-v1.0@`` and a commit, gives the groups
    return tensor if version == SHARES_NOTHING and is_mixture(model) else max(1, divided)


def is_of_nvidia(model: str) -> bool:
    """Return True if a checkpoint in 8 bits is NVIDIA's: one scale per tensor, not per block.

    The only one is ``nvidia/Qwen3-235B-A22B-FP8``, quantised by ModelOpt.
    """
    return "qwen3" in model.lower()


def cache(model: str, precision: str, target: str) -> str:
    """Return the element type of cached keys and values; "" for that of activations.

    With checkpoints in 8 and 4 bits the cache has 8 bits. For gpt-oss that holds on Blackwell
    alone, by the page of the next version (``kv_cache_config: dtype: fp8  # Hopper: use auto``).
    """
    is_auto = precision == "fp16" or ("oss" in model.lower() and target.startswith("h"))
    return "" if is_auto else "f8e4m3"
