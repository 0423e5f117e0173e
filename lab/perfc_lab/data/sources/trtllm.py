"""Offline throughput of TensorRT-LLM, from its performance pages.

Markdown tables of three forms, which changed with the versions, become ``trtllm_throughput``.
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

# folder of the page of versions from 0.10 on
FOLDER = "docs/source/performance"
PAGE = f"{FOLDER}/perf-overview.md"
STATIC_PAGE = f"{FOLDER}.md"
"""Page of versions up to 0.9, which measured static batches: fixed numbers of requests."""
# tokens of prompt and answer in a cell
LENGTHS = re.compile(r"(\d{1,7})/(\d{1,7})")
COUNT = re.compile(r"\d{1,7}")
"""A whole number, such as a degree of parallelism."""
# head of a column: GPU, tensor, pipeline and data with expert parallelism (DEP), precision
COLUMN = re.compile(
    r"(?P<gpu>[\w ]+) TP(?P<tp>\d{1,4})(?:,PP(?P<pp>\d{1,4}))?(?:,DEP(?P<dep>\d{1,4}))? ?"
    r"\((?P<precision>FP\d+)\)"
)
UNNAMED = re.compile(r"\d+ GPUs?")
"""Head of a column that gives only a number of GPUs; the card is in the line above the table."""
RENAMED = ("RTX 6000 Pro", "RTX PRO 6000")
"""The page's name of a card, and the vendor's name that replaces it."""
# heading above tables of static batches
CARDS = re.compile(r"(\w+) GPUs \((FP\d+)\)")
# version in the text of a page
VERSION = re.compile(r"(?:generated using version |updated for v)(\d+\.\d+\.\d+)")
FIRST, NEWEST = "0.5.0", "v1.0"
"""Versions of pages that print none: the first static page, and the page at the pinned commit."""
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
# metrics of throughput: of all GPUs, and of each GPU
TOTAL, PER_GPU = "output_tokens_per_s", "output_tokens_per_s_per_gpu"
METRICS = {
    "Throughput (out tok/s)": TOTAL,
    "Throughput (out tok/s/GPU)": PER_GPU,
    "1st Token Latency (ms)": "first_token_latency_ms",
}
"""Metrics by the last column of a page with static batches."""


class TrtLlm(PublicSource):
    """Tokens a second of all GPUs, from the pages of versions 1.0 and 0.6.1.

    Versions up to 0.9 measured static batches, and latencies of first tokens too; later versions
    serve requests that all arrive at once. ``--commit`` of a release from 0.5 to 0.12 reads its
    page.
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
        """Return a row per model, GPU, deployment and pair of lengths."""
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
    """Yield the rows of a table, in the order of `COLUMNS` after the version.

    The head says which of the three forms the table has; tables of other heads have no rows.

    Raises:
        FetchError: a head or a cell cannot be read.
    """
    if "(ISL/OSL)" in table.head[0]:
        yield from by_deployment(table, path)
    elif table.head[2:3] == ("GPU",):
        yield from by_card(table, path)
    elif table.head[-1] in METRICS and (cards := CARDS.search(" ".join(table.headings))):
        yield from static(table, cards, path)


def by_deployment(table: MarkdownTable, path: Path) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a table of one model, with a column per GPU and deployment."""
    heads = [head_of(cell, path) for cell in table.head[1:]]
    # `lead` is the line above the table
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
                        None,  # no static batch
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
    """Yield the rows of a table with a column per GPU and type; empty cells repeat those above."""
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
                        1,  # this form has no pipeline parallelism
                        0,  # and no data with expert parallelism
                        int(lengths[1]),
                        int(lengths[2]),
                        TOTAL,
                        rate,
                        rate,
                    )


def static(table: MarkdownTable, cards: re.Match[str], path: Path) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a table of static batches, which has a measurement per line."""
    metric = METRICS[table.head[-1]]
    for row in table.rows:
        if row[0] and row[-1] and all(COUNT.fullmatch(cell) for cell in row[1:-1]):
            # columns: model, batch, TP, input, output, value; tables of first tokens have no output
            batch, tp, isl, *osl = map(int, row[1:-1])
            value = number_of(row[-1], path)
            # of all GPUs; None for a latency
            rate = {TOTAL: value, PER_GPU: value * tp}.get(metric)
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
    """Return the GPU and the deployment in the head of a column, as groups of `COLUMN`."""
    head = COLUMN.fullmatch(cell)
    if head is None:
        raise FetchError(f"no GPU and ranks in {cell[:60]!r}", where=str(path))
    return head
