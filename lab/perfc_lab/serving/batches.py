"""Read fixed batches of ``argonne_batches``, and call ``perfc.llm`` for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import perfc
from perfc.errors import PerfcError
from perfc.ir.record import record
from perfc.machine import load_machine
from perfc.serving.output.report import ServingReport
from perfc_lab.command_line import command_line
from perfc_lab.tables import read_parquet

TABLE = "argonne_batches"
VLLM, LLAMA_CPP = "vllm", "llamacpp"
CONFIGS = {
    "meta-llama/Llama-2-7b-hf": "llama-2-7b",
    "meta-llama/Llama-2-70b-hf": "llama-2-70b",
    "meta-llama/Meta-Llama-3-8B": "llama-3-8b",
    "meta-llama/Meta-Llama-3-70B": "llama-3-70b",
    "Qwen/Qwen2-7B": "qwen2-7b",
}
"""Shipped configurations of the models; Deci's is not shipped."""
MACHINES = {"A100": "a100-sxm4-40gb", "MI300X": "mi300x"}
RUNTIMES = {
    "vLLM": (VLLM, "0.6"),
    "TensorRT-LLM": ("trtllm", "0.11"),
    "llama.cpp": (LLAMA_CPP, ""),
}
"""Runtimes and their versions; perfc has none of Deepspeed-MII."""


@record
class FixedBatch:
    """Sequences that start together, and how long they took.

    Args:
        model: shipped configuration.
        target: name of the machine.
        runtime: runtime that was benchmarked.
        version: its version; "" if unknown.
        gpus: ranks of tensor parallelism; of llama.cpp stages of layers.
        tokens: tokens of a prompt, and of an answer.
        batch: sequences; of llama.cpp tokens of a prompt's chunk of one sequence.
        time_s: measured time from the first step to the last token.
    """

    model: str
    target: str
    runtime: str
    version: str
    gpus: int
    tokens: int
    batch: int
    time_s: float

    @property
    def is_single(self) -> bool:
        """Return True for one sequence whose prompt is computed in chunks."""
        return self.runtime == LLAMA_CPP

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of `perfc.llm` for this row."""
        keywords: dict[str, Any] = {
            "isl": self.tokens,
            "osl": self.tokens,
            "runtime": self.runtime,
            "dtype": "f16",
        }
        if self.is_single:
            # llama.cpp reads prompts in chunks of its batch size, and divides layers over GPUs
            return keywords | {
                "token_budget": self.batch,
                "requests": 1,
                "parallel": {"pp": self.gpus},
            }
        # all sequences start at once, without a server
        return keywords | {
            "runtime_version": self.version,
            "concurrency": self.batch,
            "requests": self.batch,
            "offline": True,
            "parallel": {"tp": self.gpus},
        }

    def command(self) -> str:
        """Return the command line of the same call."""
        return command_line("perfc", "llm", self.model, "-t", self.target, options=self.options())


@record
class BatchAnswer:
    """A row and the prediction of the public call.

    Args:
        row: measured.
        time_s: predicted time.
        low_s: lower end of its 90 % interval.
        high_s: upper end.
    """

    row: FixedBatch
    time_s: float
    low_s: float
    high_s: float


def fixed_batches(folder: Path) -> Iterator[FixedBatch]:
    """Yield the rows of the table whose model and runtime perfc has.

    Raises:
        DataError: the table is missing.
    """
    for r in read_parquet(folder / f"{TABLE}.parquet").itertuples():
        model, runtime = CONFIGS.get(str(r.model)), RUNTIMES.get(str(r.framework))
        machine = MACHINES.get(str(r.machine))
        # rows that ran only prompts have no decode time
        if getattr(r, "prompt_alone", False) or not (model and runtime and machine):
            continue
        yield FixedBatch(
            model,
            load_machine(machine).name,
            *runtime,
            int(r.num_gpus),
            int(r.tokens_in_and_out),
            int(r.batch),
            float(r.batch_latency_s),
        )


def answered(row: FixedBatch) -> BatchAnswer | str:
    """Return what `perfc.llm` predicts for a row, or why it predicts nothing."""
    try:
        report = perfc.llm(row.model, row.target, **row.options())
    except PerfcError as error:
        return error.message
    return _of_report(row, report) or "it does not fit in memory"


def _of_report(row: FixedBatch, report: ServingReport) -> BatchAnswer | None:
    """Return time and interval of a report: of a batch, or of the one request of a server."""
    if report.batch is not None:
        return BatchAnswer(row, report.batch.time_s, report.batch.low_s, report.batch.high_s)
    if report.latencies is None or report.tpot_band is None:
        return None
    # a single request: its mean is its time, and the band of TPOT stands for that of all of it
    time_s, band = report.latencies.end_to_end.mean, report.tpot_band
    return BatchAnswer(row, time_s, time_s * band.low, time_s * band.high)
