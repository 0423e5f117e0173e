"""TensorRT-LLM before 0.12: engines that TensorRT compiles, all-reduces separate from norms."""

from dataclasses import replace

from perfc.ir import Kind

from . import EngineKind, trtllm

TABLE = replace(
    trtllm.TABLE,
    name="trtllm-compiled",
    title="TensorRT-LLM before 0.12, engines that TensorRT compiles",
    epilogue={**trtllm.TABLE.epilogue, Kind.COLLECTIVE: frozenset()},
    engine=EngineKind.of("trtllm", "0.11"),
    aliases=(),
    newest=trtllm.TABLE.name,
    before=(0, 12),
    source="TensorRT-LLM, docs/source/performance/perf-best-practices.md: residual sums and norms "
    "join the sum over ranks by the experimental --reduce_fusion alone, which perf-overview.md of "
    "0.11 disables; tensorrt_llm/plugin/plugin.py before it has no such setting",
)
