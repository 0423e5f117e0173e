"""Fixed batches of language models on several accelerators, from Argonne's LLM-Inference-Bench.

One CSV file becomes the table ``argonne_batches``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..source import PublicSource, files_in, measured, read_table, whole_numbers

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "Plots"
COLUMNS = {
    "Hardware": "machine",
    "Num of Hardware": "num_gpus",
    "Framework": "framework",
    "Model": "model",
    "Input Output Length": "tokens_in_and_out",
    "Batch Size": "batch",
    "Latency": "batch_latency_s",
    "Throughput": "throughput_tokens_per_s",
}
"""Columns, named as the repository's own plots name them (`InferenceGraphPlotter`)."""
# columns of whole numbers
WHOLE = ("num_gpus", "tokens_in_and_out", "batch")
MAKER = r"(?i)\b(?:nvidia|amd|intel|habana|gpu)\b"
"""Words that are left out of a machine's name, such as ``Nvidia A100 GPU``."""


class Argonne(PublicSource):
    """``All_results.csv``: latency of a batch; prompt and answer have ``tokens_in_and_out`` each.

    Of llama.cpp, ``batch`` is the tokens of a chunk of the prompt of one sequence.
    """

    name: ClassVar[str] = "argonne"
    title: ClassVar[str] = "latencies of fixed batches of language models"
    url: ClassVar[str] = "https://github.com/argonne-lcf/LLM-Inference-Bench"
    commit: ClassVar[str] = "4211f5d4"
    licence: ClassVar[str] = "BSD-3-Clause"
    folders: ClassVar[tuple[str, ...]] = (FOLDER,)
    tables: ClassVar[tuple[str, ...]] = ("argonne_batches",)

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return the rows that have both latency and throughput."""
        path = files_in(clone, f"{FOLDER}/All_results.csv")[0]
        # the last two columns are latency and throughput
        frame = measured(read_table(path, COLUMNS), path, *list(COLUMNS.values())[-2:], *WHOLE)
        machine = frame["machine"].astype(str).str.replace(MAKER, "", regex=True).str.strip()
        frame = whole_numbers(frame.assign(machine=machine), path, *WHOLE)
        return {"argonne_batches": frame.drop_duplicates()}
