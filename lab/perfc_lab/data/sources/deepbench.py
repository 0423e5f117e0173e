"""Matrix products and convolutions of DeepBench, from its published spreadsheets.

Names of files and sheets are those of the public repository.  The spreadsheets could not be looked
into: tables are found by their headings, which are taken to be those its benchmarks print
(``gemm_bench.cu``, ``conv_bench.cu``), in full or as spelt here.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from perfc.common.extras import install
from perfc.errors import MissingExtraError

from ..source import MAX_FILE_BYTES, FetchError, PublicSource, checked, files_in, measured, pandas

if TYPE_CHECKING:
    import pandas as pd

NAME = re.compile(r"DeepBench_(?:NV|AMD)_(?P<device>[^_]+(?:_Pascal)?)")
# unit of time in a heading
UNIT = re.compile(r"\(?\b(usec|us|msec|ms)\b\)?")
# columns of times in our table
TIMES = ("forward_latency_us", "backward_input_latency_us", "backward_weight_latency_us")
# columns of our table, each with the headings that may stand for it
PRODUCT = {
    "m": ("m",),
    "n": ("n",),
    "k": ("k",),
    "a_transpose": ("a t", "a transpose", "a transposed"),
    "b_transpose": ("b t", "b transpose", "b transposed"),
    "forward_latency_us": ("time", "total time", "gemm time"),
}
CONVOLUTION = {
    "in_w": ("w", "input w"),
    "in_h": ("h", "input h"),
    "in_channels": ("c", "input c"),
    "batch": ("n", "batch n"),
    "out_channels": ("k", "output channels", "of filters"),
    "filter_w": ("f w", "filter w", "filter width"),
    "filter_h": ("f h", "filter h", "filter height"),
    "pad_w": ("pad w",),
    "pad_h": ("pad h",),
    "stride_w": ("stride w", "wstride"),
    "stride_h": ("stride h", "hstride"),
    "forward_latency_us": ("fwd time", "forward", "forward time"),
    "backward_input_latency_us": ("bwd inputs time", "backward wrt inputs"),
    "backward_weight_latency_us": ("bwd params time", "backward wrt parameters"),
    "forward_algorithm": ("fwd algo", "forward algorithm"),
}
OPTIONAL = {"a_transpose", "b_transpose", "forward_algorithm", *TIMES[1:]}
"""Columns that a table may lack: sheets of inference have no backward passes."""


class DeepBench(PublicSource):
    """``results/train`` and ``results/inference``: products and convolutions of each sheet.

    Left out: processors and phones, whose sheets are laid out otherwise, recurrent layers,
    all-reduces, and runs repeated with an older CUDA.
    """

    name: ClassVar[str] = "deepbench"
    title: ClassVar[str] = "matrix products and convolutions on GPUs from Maxwell to Turing"
    url: ClassVar[str] = "https://github.com/baidu-research/DeepBench"
    commit: ClassVar[str] = "da81ba782073"
    licence: ClassVar[str] = "Apache-2.0"
    folders: ClassVar[tuple[str, ...]] = ("results/train", "results/inference")
    tables: ClassVar[tuple[str, ...]] = ("deepbench_ops",)

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return a row a shape and device."""
        parts = []
        folders = ("train", "inference", "inference/server")
        for path in files_in(clone, *(f"results/{f}/DeepBench_*.xlsx" for f in folders)):
            match = NAME.fullmatch(path.stem)
            if match is not None:
                file = path.relative_to(clone.resolve())
                frame = tables_of(path).assign(device=match["device"], side=file.parts[1])
                parts.append(frame.assign(source_file=file.as_posix()))
        if not parts:
            raise FetchError("no spreadsheet of a GPU", where=str(clone), hint="another commit?")
        return {"deepbench_ops": pandas().concat(parts, ignore_index=True)}


def tables_of(path: Path) -> pd.DataFrame:
    """Return every table of products or convolutions in a spreadsheet.

    Raises:
        FetchError: there is none.
    """
    parts = []
    for sheet, cells in read_sheets(path).items():
        precision = right_of(cells, "precision")
        for start, row in enumerate(cells):
            headings = [heading(cell) for cell in row]
            for op, names in (("conv", CONVOLUTION), ("gemm", PRODUCT)):
                places = placed(headings, names)
                if places is not None:
                    frame = below(cells, start, places, row)
                    frame = measured(frame, path, "forward_latency_us")
                    parts.append(frame.assign(op=op, sheet=sheet, precision=precision))
                    break
    if not any(len(part) for part in parts):
        raise FetchError("no table of products or convolutions", where=str(path))
    return pandas().concat(parts, ignore_index=True)


def heading(cell: object) -> str:
    """Return a heading without its unit, punctuation and case."""
    text = UNIT.sub(" ", str(cell).lower()) if isinstance(cell, str) else ""
    return " ".join(re.split(r"[^a-z0-9]+", text)).strip()


def placed(headings: Sequence[str], names: Mapping[str, tuple[str, ...]]) -> dict[str, int] | None:
    """Return the position of each column of a table by name.

    None if the row has no heading for a column that is not optional.
    """
    places = {
        column: headings.index(next(s for s in spellings if s in headings))
        for column, spellings in names.items()
        if any(s in headings for s in spellings)
    }
    return places if set(names) - set(places) <= OPTIONAL else None


def below(
    cells: Sequence[Sequence[object]], start: int, places: Mapping[str, int], row: Sequence[object]
) -> pd.DataFrame:
    """Return rows under a heading, up to the first whose extents are no numbers; times in µs."""
    extents = [places[c] for c in places if c not in OPTIONAL and c not in TIMES]
    rows = []
    for line in cells[start + 1 :]:
        if not all(isinstance(line[i], int | float) for i in extents):
            break
        rows.append({column: line[i] for column, i in places.items()})
    frame = pandas().DataFrame(rows, columns=list(places))
    for column in TIMES:
        if column in places:
            unit = UNIT.search(str(row[places[column]]).lower())
            times = pandas().to_numeric(frame[column], errors="coerce")
            # "ms" or "msec"; microseconds where a heading names no unit
            frame[column] = times * (1000 if unit and unit[1].startswith("m") else 1)
    return frame


def right_of(cells: Sequence[Sequence[object]], name: str) -> str:
    """Return the text right of the first cell that says ``name``."""
    for row in cells:
        for cell, after in pairwise(row):
            if heading(cell) == name and isinstance(after, str):
                return after.strip()
    return ""


def read_sheets(path: Path) -> dict[str, list[list[object]]]:
    """Return the cells of the sheets of a spreadsheet that hold results, by their names.

    Raises:
        FetchError: the file is no spreadsheet, or too large when unpacked.
        MissingExtraError: openpyxl is not installed.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtraError("spreadsheets need openpyxl", hint=install("train")) from None
    try:
        with zipfile.ZipFile(checked(path)) as archive:
            # Python's objects of cells take several times the memory of the XML that has them
            if sum(info.file_size for info in archive.infolist()) > MAX_FILE_BYTES // 4:
                raise FetchError("too large when unpacked", where=str(path))
        book = load_workbook(path, read_only=True, data_only=True)
        return {
            str(sheet.title): [list(row) for row in sheet.iter_rows(values_only=True)]
            for sheet in book.worksheets
        }
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, TypeError, SyntaxError):
        raise FetchError("no spreadsheet", where=str(path)) from None
