"""Published measurements of served models, as rows, and the host models that are fitted to them.

Readers of tables yield `ServedRow`. `replay` simulates each row and counts its steps, and `learn`
fits the host time of a step to the counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from perfc.ir.record import record
from perfc.passes.runtimes import Batching

__all__ = ["ServedRow", "ServerSettings", "ServingQuantity"]


class ServingQuantity(Enum):
    """Quantity that a row measured."""

    TTFT_S = "time to first token"
    TPOT_S = "time per output token"
    TOKENS_PER_S = "output tokens a second"
    ENERGY_J = "energy per output token"
    MEMORY_BYTES = "most memory of all GPUs"

    __hash__ = object.__hash__  # by identity, which is faster than the hash of a name


@record
class ServerSettings:
    """Settings of the server of a published run; 0, False and None stand for its defaults.

    Args:
        token_budget: maximum tokens of a step.
        max_num_seqs: maximum sequences that run at once.
        looks_every: decode steps after which the scheduler looks for new requests again.
        batching: how a step combines prompts and decodes.
        evicts: whether sequences may be preempted, so their whole output is not reserved.
        recorded_tokens: tokens of the largest step that is captured as a CUDA graph.
        longest: tokens of the longest sequence that the server is configured for.
        utilization: share of device memory that the server takes.
    """

    token_budget: int = 0
    max_num_seqs: int = 0
    looks_every: int = 0
    batching: Batching | None = None
    evicts: bool = False
    recorded_tokens: int = 0
    longest: int = 0
    utilization: float = 0.0


@record
class ServedRow:
    """A model served in one way, and what was measured.

    Args:
        source: name of the table.
        name: name of the row.
        model: name of the model in the source.
        target: name of the machine.
        runtime: serving runtime.
        version: version of the runtime; "" if unknown.
        weights: format of the linear layers.
        cache: element type of keys and values; "" for that of activations.
        tensor: ranks that share every product.
        expert: ranks that divide the experts among them (expert parallelism); 1 where each rank has
            a part of every expert.
        attention_data: number of groups of ranks with separate sequences.
        engines: number of equal replicas.
        isl: tokens of a prompt.
        osl: tokens of an answer.
        concurrency: concurrent users of all engines; 0 for as many as the memory holds.
        is_static: whether one fixed batch runs to its end, with all prompts in one step.
        prefill: where prefill is disaggregated, the ranks of a prefill worker, how many of them
            divide its experts, and the number of workers; else empty.
        is_eager: whether the host launched every kernel, without CUDA graphs.
        measured: measured values by quantity.
        dataset: data set of the requests, or a note on how the row was read; "" if neither.
        drafted: draft tokens that a step verifies per sequence, in addition to the next token.
        settings: settings of the server.
        requests: number of requests of a run that was measured from start to end; 0 where only its
            steady state was measured.
        distinct_prompts: number of prompts that users send repeatedly, which a prefix cache then
            holds; 0 where all are new.
        pipeline: pipeline stages of an engine.
        measured_on: day of the run, as 2026-03-25; "" if unknown.
    """

    source: str
    name: str
    model: str
    target: str
    runtime: str
    version: str
    weights: str
    cache: str
    tensor: int
    expert: int
    attention_data: int
    engines: int
    isl: int
    osl: int
    concurrency: int
    is_static: bool
    prefill: tuple[int, int, int] | tuple[()]
    is_eager: bool
    measured: Mapping[ServingQuantity, float]
    dataset: str = ""
    drafted: int = 0
    settings: ServerSettings = ServerSettings()
    requests: int = 0
    distinct_prompts: int = 0
    pipeline: int = 1
    measured_on: str = ""

    @property
    def run(self) -> tuple[str | float, ...]:
        """Return a key of the run: rows with equal figures are one run that was published twice."""
        return self.source, *(self.measured[q] for q in ServingQuantity if q in self.measured)

    @property
    def release(self) -> str:
        """Return the number in the version: ``0.11`` of ``post-v0.11@main``."""
        return self.version.removeprefix("post-").lstrip("v").split("@")[0]

    @property
    def gpus(self) -> int:
        """Return the number of GPUs of the row."""
        ranks = self.tensor * self.pipeline * self.attention_data * self.engines
        if self.prefill:
            prompt_ranks, _, workers = self.prefill
            ranks += prompt_ranks * workers
        return ranks


MIXTURES = ("deepseek", "gpt-oss", "moe", "mixtral", "a22b", "a3b", "llama 4", "minimax")
"""Texts in the names of models with experts, in lower case."""


def is_mixture(model: str) -> bool:
    """Return True if the name of a model in a source is that of a mixture of experts."""
    return any(part in model.lower() for part in MIXTURES)
