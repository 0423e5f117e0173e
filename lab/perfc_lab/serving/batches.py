"""Read fixed batches of the table ``argonne_batches``, and call ``perfc.llm`` for each.

The sequences of a fixed batch start together and have equal lengths.
"""

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
"""Shipped configuration by the model of the table; Deci's model is not shipped and left out."""
MACHINES = {"A100": "a100-sxm4-40gb", "MI300X": "mi300x"}  # rows of others are left out
RUNTIMES = {
    "vLLM": (VLLM, "0.6"),
    "TensorRT-LLM": ("trtllm", "0.11"),
    "llama.cpp": (LLAMA_CPP, ""),
}
"""Runtime and version by the framework of the table; perfc has no runtime for Deepspeed-MII."""


@record
class FixedBatch:
    """A batch of sequences that start together, and its measured time.

    Args:
        model: shipped configuration.
        target: name of the machine.
        runtime: runtime that was benchmarked.
        version: its version; "" if unknown.
        gpus: ranks of tensor parallelism; for llama.cpp, pipeline stages.
        tokens: tokens of each prompt, and as many of each answer.
        batch: number of sequences; for llama.cpp, tokens of a chunk of the prompt of one sequence.
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
        row: the measured batch.
        time_s: predicted time.
        low_s: lower end of the 90 % interval.
        high_s: upper end of the interval.
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
    """Return the prediction of `perfc.llm` for a row, or the cause as text if there is none."""
    try:
        report = perfc.llm(row.model, row.target, **row.options())
    except PerfcError as error:
        return error.message
    return _of_report(row, report) or "it does not fit in memory"


def _of_report(row: FixedBatch, report: ServingReport) -> BatchAnswer | None:
    """Return the answer of a report: for a batch, or for one request; None without any."""
    if report.batch is not None:
        return BatchAnswer(row, report.batch.time_s, report.batch.low_s, report.batch.high_s)
    if report.latencies is None or report.tpot_band is None:
        return None
    # for one request the mean time is its time; the interval of TPOT is taken for all of it
    time_s, band = report.latencies.end_to_end.mean, report.tpot_band
    return BatchAnswer(row, time_s, time_s * band.low, time_s * band.high)
