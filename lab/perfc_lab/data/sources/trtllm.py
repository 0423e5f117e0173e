"""Offline throughput of TensorRT-LLM, from its performance page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..markdown import cells_of, number_of, page_text
from ..source import FetchError, PublicSource, files_in, pandas

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "docs/source/performance"
PAGE = f"{FOLDER}/perf-overview.md"
LENGTHS = re.compile(r"(\d+)/(\d+)")
COLUMN = re.compile(
    r"(?P<gpu>[\w ]+) TP(?P<tp>\d+)(?:,PP(?P<pp>\d+))?(?:,DEP(?P<dep>\d+))? ?"
    r"\((?P<precision>FP\d+)\)"
)
COUNT = re.compile(r"\d+ GPUs?")
"""Head of a column whose card is in the line above its table."""
RENAMED = ("RTX 6000 Pro", "RTX PRO 6000")
"""The page's name of a card, and its maker's."""
VERSION = "v1.0"
COLUMNS = (
    "version", "model", "gpu", "precision", "batch", "tp", "pp", "dep", "isl", "osl", "metric",
    "value", "total_output_tokens_per_s",
)  # fmt: skip
METRIC = "output_tokens_per_s"


class TrtLlm(PublicSource):
    """``perf-overview.md`` of v1.0: tokens a second of all GPUs under requests at an infinite rate.

    Pages of older versions have tables of other forms, which ``--commit`` of them does not read.
    """

    name: ClassVar[str] = "trtllm"
    title: ClassVar[str] = "offline throughput of language models under TensorRT-LLM 1.0"
    url: ClassVar[str] = "https://github.com/NVIDIA/TensorRT-LLM"
    commit: ClassVar[str] = "00f37686aa854010d68bcbd0f4ab000221541ca6"
    licence: ClassVar[str] = "Apache-2.0"
    folders: ClassVar[tuple[str, ...]] = (FOLDER,)
    tables: ClassVar[tuple[str, ...]] = ("trtllm_throughput",)

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return a row a model, GPU, deployment and pair of lengths."""
        path = files_in(clone, PAGE)[0]
        rows = list(measured_cells(page_text(path), path))
        if not rows:
            raise FetchError("no table of throughput", where=str(path), hint="another commit?")
        frame = pandas().DataFrame(rows, columns=list(COLUMNS))
        whole = dict.fromkeys(("batch", "tp", "pp", "dep", "isl", "osl"), "Int32")
        return {"trtllm_throughput": frame.astype(whole)}


def measured_cells(text: str, path: Path) -> Iterator[tuple[object, ...]]:
    """Yield a row a cell of the tables under headings that name models.

    Raises:
        FetchError: a head or a cell of a throughput table that cannot be read.
    """
    model, card = "", ""
    heads: list[re.Match[str]] = []
    for line in text.splitlines():
        if line.startswith("#"):
            model, card, heads = line.lstrip("# "), "", []
        elif not line.startswith("|"):
            card, heads = line.strip().replace(*RENAMED) or card, []
        elif "(ISL/OSL)" in line:
            heads = [head_of(cell, path) for cell in cells_of(line)[1:]]
        elif heads and (lengths := LENGTHS.fullmatch(cells_of(line)[0])):
            for head, cell in zip(heads, cells_of(line)[1:], strict=False):
                if cell:
                    rate = number_of(cell, path)
                    gpu = card if COUNT.fullmatch(head["gpu"]) else head["gpu"]
                    yield (
                        VERSION, model, gpu, head["precision"].lower(), None, int(head["tp"]),
                        int(head["pp"] or 1), int(head["dep"] or 0), int(lengths[1]),
                        int(lengths[2]), METRIC, rate, rate,
                    )  # fmt: skip


def head_of(cell: str, path: Path) -> re.Match[str]:
    """Return what the head of a column says of its GPU and deployment."""
    head = COLUMN.fullmatch(cell)
    if head is None:
        raise FetchError(f"no GPU and ranks in {cell[:60]!r}", where=str(path))
    return head
