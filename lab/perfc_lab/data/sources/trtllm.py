"""Offline throughput of TensorRT-LLM, from its performance pages.

Tables of Markdown pages of three forms become the table ``trtllm_throughput``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..markdown import MarkdownTable, number_of, page_text, tables_of
from ..source import FetchError, PublicSource, files_in, pandas

if TYPE_CHECKING:
    import pandas as pd

# page of versions from 0.10 on
FOLDER = "docs/source/performance"
PAGE = f"{FOLDER}/perf-overview.md"
STATIC_PAGE = f"{FOLDER}.md"
"""Page of versions up to 0.9, whose batches are static."""
# tokens of prompt and answer in a cell
LENGTHS = re.compile(r"(\d{1,7})/(\d{1,7})")
COUNT = re.compile(r"\d{1,7}")
"""A whole number, such as a degree of parallelism."""
# head of a column: GPU, degrees of parallelism, precision
COLUMN = re.compile(
    r"(?P<gpu>[\w ]+) TP(?P<tp>\d{1,4})(?:,PP(?P<pp>\d{1,4}))?(?:,DEP(?P<dep>\d{1,4}))? ?"
    r"\((?P<precision>FP\d+)\)"
)
UNNAMED = re.compile(r"\d+ GPUs?")
"""Head of a column whose card is in the line above its table."""
RENAMED = ("RTX 6000 Pro", "RTX PRO 6000")
"""The page's name of a card, and its maker's."""
# heading above tables of static batches
CARDS = re.compile(r"(\w+) GPUs \((FP\d+)\)")
# version in the text of a page
VERSION = re.compile(r"(?:generated using version |updated for v)(\d+\.\d+\.\d+)")
FIRST, NEWEST = "0.5.0", "v1.0"
"""Versions of pages that print none."""
COLUMNS = (
    "version",
    "model",
    "gpu",
    "precision",
    "batch",
    "tp",
    "pp",
    "dep",
    "isl",
    "osl",
    "metric",
    "value",
    "total_output_tokens_per_s",
)
# metrics: of all GPUs, and of one
TOTAL, PER_GPU = "output_tokens_per_s", "output_tokens_per_s_per_gpu"
METRICS = {
    "Throughput (out tok/s)": TOTAL,
    "Throughput (out tok/s/GPU)": PER_GPU,
    "1st Token Latency (ms)": "first_token_latency_ms",
}
"""Metrics by the last column of a page with static batches."""


class TrtLlm(PublicSource):
    """Tokens a second of all GPUs, of versions 1.0 and 0.6.1.

    Up to 0.9 batches are static, and the page has latencies of first tokens besides. Later ones
    have requests at an infinite rate. ``--commit`` of a release from 0.5 to 0.12 reads its page.
    """

    name: ClassVar[str] = "trtllm"
    title: ClassVar[str] = "offline throughput of language models under TensorRT-LLM"
    url: ClassVar[str] = "https://github.com/NVIDIA/TensorRT-LLM"
    commit: ClassVar[str] = "00f37686aa854010d68bcbd0f4ab000221541ca6"
    earlier: ClassVar[tuple[str, ...]] = ("138f96d45f90b9667426f7c47297d8c06bafac73",)
    licence: ClassVar[str] = "Apache-2.0"
    folders: ClassVar[tuple[str, ...]] = (FOLDER,)
    tables: ClassVar[tuple[str, ...]] = ("trtllm_throughput",)

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return a row a model, GPU, deployment and pair of lengths."""
        path = files_in(clone, PAGE, STATIC_PAGE)[0]
        text = page_text(path)
        version_text = VERSION.search(text)
        version = version_text[1] if version_text else NEWEST if path.match(PAGE) else FIRST
        rows = [(version, *row) for table in tables_of(text) for row in measured(table, path)]
        if not rows:
            raise FetchError("no table of throughput", where=str(path), hint="another commit?")
        frame = pandas().DataFrame(rows, columns=list(COLUMNS))
        whole = dict.fromkeys(("batch", "tp", "pp", "dep", "isl", "osl"), "Int32")
        return {"trtllm_throughput": frame.astype(whole)}


def measured(table: MarkdownTable, path: Path) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a table of throughput, in the order of `COLUMNS` after the version.

    Another table has none.

    Raises:
        FetchError: a head or a cell that cannot be read.
    """
    if "(ISL/OSL)" in table.head[0]:
        yield from by_deployment(table, path)
    elif table.head[2:3] == ("GPU",):
        yield from by_card(table, path)
    elif table.head[-1] in METRICS and (cards := CARDS.search(" ".join(table.headings))):
        yield from static(table, cards, path)


def by_deployment(table: MarkdownTable, path: Path) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a table that has a column a GPU and deployment, and is of one model."""
    heads = [head_of(cell, path) for cell in table.head[1:]]
    model, card = table.headings[-1] if table.headings else "", table.lead.replace(*RENAMED)
    for row in table.rows:
        if lengths := LENGTHS.fullmatch(row[0]):
            for head, cell in zip(heads, row[1:], strict=False):
                if cell:
                    rate = number_of(cell, path)
                    gpu = card if UNNAMED.fullmatch(head["gpu"]) else head["gpu"]
                    yield (
                        model,
                        gpu,
                        head["precision"].lower(),
                        None,
                        int(head["tp"]),
                        int(head["pp"] or 1),
                        int(head["dep"] or 0),
                        int(lengths[1]),
                        int(lengths[2]),
                        TOTAL,
                        rate,
                        rate,
                    )


def by_card(table: MarkdownTable, path: Path) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a table that has a column a GPU and type; empty cells repeat upper ones."""
    # the second head is a row whose third cell is "Precision"
    model, lengths, precisions = "", None, ("",) * len(table.head)
    for row in table.rows:
        if row[2:3] == ("Precision",):
            precisions = row
        lengths = LENGTHS.fullmatch(row[1] if row[1:] else "") or lengths
        model = row[0] or model
        if lengths and row[2:] and COUNT.fullmatch(row[2]):
            for card, precision, cell in zip(table.head[3:], precisions[3:], row[3:], strict=False):
                if cell:
                    rate = number_of(cell, path)
                    yield (
                        model,
                        re.split(r"[ -]", card)[0],
                        precision.lower(),
                        None,
                        int(row[2]),
                        1,  # pages of this form name no pipeline ranks
                        0,  # and no DEP
                        int(lengths[1]),
                        int(lengths[2]),
                        TOTAL,
                        rate,
                        rate,
                    )


def static(table: MarkdownTable, cards: re.Match[str], path: Path) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a table of static batches, a line a measurement."""
    metric = METRICS[table.head[-1]]
    for row in table.rows:
        if row[0] and row[-1] and all(COUNT.fullmatch(cell) for cell in row[1:-1]):
            # tables of first tokens have no length of the output
            batch, tp, isl, *osl = map(int, row[1:-1])
            value = number_of(row[-1], path)
            rate = {TOTAL: value, PER_GPU: value * tp}.get(metric)  # None for a latency
            yield (
                row[0],
                cards[1],
                cards[2].lower(),
                batch,
                tp,
                1,
                0,
                isl,
                osl[0] if osl else 1,
                metric,
                value,
                rate,
            )


def head_of(cell: str, path: Path) -> re.Match[str]:
    """Return what the head of a column says of its GPU and deployment."""
    head = COLUMN.fullmatch(cell)
    if head is None:
        raise FetchError(f"no GPU and ranks in {cell[:60]!r}", where=str(path))
    return head
