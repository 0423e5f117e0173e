"""Served language models at one concurrency, as AIConfigurator's authors measured them.

One CSV file becomes the table ``aic_serving``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..source import PublicSource, files_in, measured, read_table, whole_numbers
from .aiconfigurator import SYSTEMS, AiConfigurator

if TYPE_CHECKING:
    import pandas as pd

FILE = "silicon_sample.csv"
"""The one table of the source."""
# degrees of parallelism of a deployment
RANKS = ("tp_size", "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size")
# columns of each stage of a disaggregated deployment: prefill and decode run on separate GPUs
DISAGGREGATED = tuple(
    f"{stage}_{name}"
    for stage in ("prefill", "decode")
    for name in ("batch_size", "num_workers", *RANKS)
)
# required columns, under their published names
SAME = (
    "backend",
    "backend_version",
    "model_path",
    "system",
    "mode",
    "isl",
    "osl",
    "gemm_quant_mode",
    "moe_quant_mode",
)
# columns of times by their published names; milliseconds
TIMES = {"silicon_ttft_ms": "ttft_ms", "silicon_tpot_ms": "tpot_ms"}
OPTIONAL = ("concurrency", "precision", "measured", "image", "batch_size", *RANKS, *DISAGGREGATED)
"""Columns that older dumps lack, or whose published names could not be seen: empty then."""


class AicServing(PublicSource):
    """``silicon_sample.csv``: TTFT and TPOT of a configuration, aggregated or disaggregated.

    Names of columns are those that the repository's own scripts read (``tools``); the table itself
    could not be looked into.
    """

    name: ClassVar[str] = "aic_serving"
    title: ClassVar[str] = "measured TTFT and TPOT of served language models"
    url: ClassVar[str] = AiConfigurator.url
    commit: ClassVar[str] = AiConfigurator.commit
    licence: ClassVar[str] = AiConfigurator.licence
    folders: ClassVar[tuple[str, ...]] = SYSTEMS
    tables: ClassVar[tuple[str, ...]] = ("aic_serving",)

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return the rows that have both latencies."""
        # a commit has one of the folders
        path = files_in(clone, *(f"{folder}/{FILE}" for folder in SYSTEMS))[0]
        columns = {"id": "row_id", **{name: name for name in SAME}, **TIMES}
        frame = read_table(path, columns, {name: name for name in OPTIONAL})
        frame = measured(frame, path, *TIMES.values(), "isl", "osl")
        counts = ("concurrency", "batch_size", *RANKS, *DISAGGREGATED)
        return {"aic_serving": whole_numbers(frame, path, *counts)}
