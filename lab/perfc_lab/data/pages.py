"""Read measured models and training runs from Markdown pages, each described by a TOML file.

A description has patterns of headings, columns and cells, whose named groups become fields of a
row; `page_sources` yields a source for each file of ``sources/pages``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from perfc.common.fitted import data_next_to
from perfc.common.toml_file import parse, read_text
from perfc.ir.record import frozen

from .markdown import MarkdownTable, number_of, page_text, tables_of
from .source import FetchError, PublicSource, files_in, pandas

if TYPE_CHECKING:
    import pandas as pd

# one TOML file a publication
FOLDER = Path(__file__).parent / "sources" / "pages"
# name of the table of inference
WHOLE_MODELS = "whole_models"
MOST_ROWS = 10_000
"""Maximum times of a publication; the largest one read has 2,610."""
LARGEST_COUNT = 1_000_000
"""Maximum of a whole number in a table."""
_DATA = data_next_to(__file__)
COLUMNS: tuple[str, ...] = (*_DATA["columns"],)
"""Columns of `whole_models` that pages have something for."""
WHOLE: tuple[str, ...] = (*_DATA["whole"],)
"""Columns of whole numbers of a training run: GPUs, batches, lengths and degrees of parallelism."""
RUN_COLUMNS: tuple[str, ...] = (*_DATA["run_columns"],)
"""Columns of `llm_train_throughput` that pages have something for."""
# a device without its maker and series
GPU = re.compile(r"(?:NVIDIA |Tesla |Jetson |AGX )*(Xavier NX|\w+)")
CELL = r"(?P<time>\d[\d.,]*(?:e[+-]?\d+)?)"
"""Time in a cell, where the description has no pattern of its own."""
ABSENT = re.compile(r"[\s*]*(?:[-–—/×x]*|N/?A|OOM)[\s*]*(?:ms)?[\s*]*", re.IGNORECASE)
"""Cell of what was not measured."""
# texts of a row by name of the field
Fields = dict[str, str]
# pairs of patterns: the name of a column, and its cells
Labels = tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]


@frozen
class PageForm:
    """Columns of times in tables of one form; named groups of its patterns are fields of the rows.

    Args:
        under: patterns, each of which must match the file's name, a heading above the table or the
            line of text before it.
        times: pattern of the names of columns of times.
        labels: pattern of a column's name, and pattern of its cells; rows with other cells are left
            out.
        optional: patterns as those of ``labels``, for columns that a table may lack.
        cell: pattern of each ``time`` in a cell.
        rate: True if the cells are samples per second.
        total: True if the times of a row are added to one time.
        exact: True if each row must have a cell for each column; else rows are cut or padded, as
            GitHub shows them.
        fields: fields of all rows; ``{name}`` stands for another field.
        values: by field, the word of our table for a word of the page; looked up after ``{name}``
            is filled in.
    """

    times: re.Pattern[str]
    labels: Labels
    optional: Labels
    under: tuple[re.Pattern[str], ...]
    cell: re.Pattern[str]
    rate: bool
    total: bool
    exact: bool
    fields: Mapping[str, str]
    values: Mapping[str, Mapping[str, str]]

    def read(
        self, table: MarkdownTable, facts: Fields, path: Path
    ) -> Iterator[tuple[Fields, float]]:
        """Yield the fields of each time of a table, and the time or rate.

        Raises:
            FetchError: a cell without a number, or a row of another length.
        """
        # nearest first, so that a pattern matches the innermost heading that has it
        texts = (table.lead, *table.headings[::-1], facts["file"])
        above = [next((m for t in texts if (m := p.search(t))), None) for p in self.under]
        # a table is of the form if it has columns of times, all labels, and matches above it
        columns = {i: m for i, name in enumerate(table.head) if (m := self.times.fullmatch(name))}
        labels = list(located(self.labels, table.head))
        if not columns or len(labels) < len(self.labels) or None in above:
            return
        labels += located(self.optional, table.head)
        for match in above:
            facts = {**facts, **groups(match)}
        for row in table.rows:
            if self.exact and len(row) != len(table.head):
                what = f"{len(row)} cells of {len(table.head)} in {row[0][:40]!r}"
                raise FetchError(what, where=str(path))
            row = (row + ("",) * len(table.head))[: len(table.head)]
            fields = dict(facts)
            for i, cell in labels:
                if (match := cell.fullmatch(row[i])) is None:
                    break
                fields |= groups(match)
            else:  # every label matched
                times = [
                    (self.named({**fields, **groups(column), **parsed}), number_of(time, path))
                    for i, column in columns.items()
                    for parsed, time in self.in_cell(row[i], path)
                ]
                # rounded, since sums of decimal fractions are inexact
                if self.total and times:
                    times = [(times[0][0], round(sum(time for _, time in times), 9))]
                yield from times

    def in_cell(self, cell: str, path: Path) -> Iterator[tuple[Fields, str]]:
        """Yield the times in a cell, each with the fields that the cell has for it."""
        if ABSENT.fullmatch(cell):
            return
        parsed = [groups(match) for match in self.cell.finditer(cell)]
        if not parsed:
            raise FetchError(f"{cell[:40]!r} is no number", where=str(path))
        for fields in parsed:
            yield fields, fields["time"]

    def named(self, fields: Fields) -> Fields:
        """Return fields in the words of the table; those of the row replace those of the form."""
        merged = {**self.fields, **fields}
        blank = defaultdict(str, merged)
        # only texts of the description are templates: braces in a page's text stay as they are
        merged = {k: v if k in fields else v.format_map(blank).strip() for k, v in merged.items()}
        return {k: self.values.get(k, {}).get(v, v) for k, v in merged.items()}


def located(labels: Labels, head: tuple[str, ...]) -> Iterator[tuple[int, re.Pattern[str]]]:
    """Yield the first column that each label names, with the pattern of its cells."""
    for named, cell in labels:
        if (i := next((i for i, n in enumerate(head) if named.fullmatch(n)), None)) is not None:
            yield i, cell


def groups(match: re.Match[str] | None) -> Fields:
    """Return the named groups that matched."""
    return {k: v for k, v in match.groupdict().items() if v is not None} if match else {}


class PageSource(PublicSource):
    """A publication of whole models, as a file of ``sources/pages`` describes it.

    Means are of grade A, as in `whole_models`; percentiles and suspect rows of C.
    """

    files: ClassVar[tuple[str, ...]]
    forms: ClassVar[tuple[PageForm, ...]]
    facts: ClassVar[tuple[re.Pattern[str], ...]]
    """Patterns of a page's text, whose named groups are fields of its rows."""
    graphs: ClassVar[tuple[tuple[re.Pattern[str], str], ...]]
    """Files of graphs by patterns of models; what follows ``timm__`` is in lower case."""
    suspect: ClassVar[re.Pattern[str]]
    """Pattern of rows of grade C: of model, device, precision and batch, with spaces between."""
    columns: ClassVar[tuple[str, ...]] = COLUMNS
    whole: ClassVar[tuple[str, ...]] = ("n_gpus", "seq_len", "batch")
    """Columns of whole numbers."""

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return the rows of every page."""
        rows: list[Mapping[str, object]] = []
        for path in files_in(clone, *self.files):
            name = path.relative_to(clone.resolve()).as_posix()
            rows += islice(self.rows_of(page_text(path), name, path), MOST_ROWS + 1)
            if len(rows) > MOST_ROWS:
                raise FetchError(f"more than {MOST_ROWS} times", where=str(path))
        if not rows:
            hint = "another commit?"
            raise FetchError("no table of latencies", where=str(clone / self.files[0]), hint=hint)
        frame = pandas().DataFrame(rows, columns=list(self.columns)).drop_duplicates()
        return {self.tables[0]: frame.astype(dict.fromkeys(self.whole, "Int32"))}

    def rows_of(self, text: str, name: str, path: Path) -> Iterator[Mapping[str, object]]:
        """Yield the rows of a page.

        Raises:
            FetchError: a time or a count is no number, or a table has another form.
        """
        facts: Fields = {"file": name}
        for pattern in self.facts:
            facts |= groups(pattern.search(text))
        for table in tables_of(text):
            for form in self.forms:
                for fields, time in form.read(table, facts, path):
                    yield self.row(fields, time, form.rate, path)

    def row(self, fields: Fields, time: float, rate: bool, path: Path) -> Mapping[str, object]:
        """Return a row of the table by column."""
        for name in ("model", "device", "runtime", "precision"):
            if not fields.get(name):
                raise FetchError(f"no {name} of a time", where=str(path), hint="another commit?")
        model, size = fields["model"], fields.get("size", "")
        # a square, "224x224", is written 224, as in names of graphs
        height, _, width = size.partition("x")
        size = height if width == height else size
        batch = count(fields, "batch", path)
        if not time:
            raise FetchError(f"a time of 0 of {model[:40]!r}", where=str(path))
        percentile = fields.get("percentile", "mean")
        run = f"{model} {fields['device']} {fields['precision'].lower()} {batch}"
        is_plain = percentile == "mean" and not self.suspect.match(run)
        graph = self.graph_of(f"{model} {fields.get('variant', '')}".strip(), size)
        sides = size if "x" in size else f"{size}x{size}"
        return {
            "source": self.name,
            "device": fields["device"],
            "gpu": gpu_of(fields["device"]),
            "n_gpus": 1,
            "runtime": fields["runtime"],
            "runtime_version": fields.get("runtime_version", ""),
            "precision": fields["precision"].lower(),
            "mode": "inference",
            "model": model,
            # the shape of one input: channels (3, of a color image, by default), height, width
            "input_shape": f"{fields.get('channels', '3')}x{sides}" if size else None,
            "seq_len": count(fields, "seq_len", path) if "seq_len" in fields else None,
            "batch": batch,
            "latency_ms": batch * 1e3 / time if rate else time,
            "percentile": percentile,
            "measure": fields.get("measure", "model"),
            "includes_io": False,  # copies of inputs and outputs are not in the time
            "grade": "A" if is_plain else "C",
            "source_file": fields["file"],
            "graph": graph,
            # which rows the graph fits: those of its size, or of any length of the sequence
            "graph_size_match": None if graph is None else "same" if size else "any seq",
        }

    def graph_of(self, model: str, size: str) -> str | None:
        """Return the file of a model's graph.

        None if no pattern matches the model, or if the template of the first that does is empty.
        """
        for pattern, template in self.graphs:
            if match := pattern.fullmatch(model):
                name = match.expand(template).replace("{size}", size)
                name = name.lower() if name.startswith("timm__") else name
                return f"{name}.onnx.gz" if name else None
        return None


class RunPageSource(PageSource):
    """A publication of training runs: tokens a second of a GPU, and how the model was divided."""

    columns: ClassVar[tuple[str, ...]] = RUN_COLUMNS
    whole: ClassVar[tuple[str, ...]] = WHOLE

    def row(self, fields: Fields, time: float, rate: bool, path: Path) -> Mapping[str, object]:
        """Return a row of the table by column; numbers that a page leaves open are absent."""
        # 0 stands for a number that is left open
        known_fields = {
            name: value for name, value in fields.items() if name not in WHOLE or value != "0"
        }
        for name in ("model", "system", "gpus", "gbs", "mbs", "seq"):
            if not known_fields.get(name):
                raise FetchError(f"no {name} of a run", where=str(path), hint="another commit?")
        # absent texts are empty; the source, the rate and whole numbers replace those of the page
        return {
            **{name: known_fields.get(name, "") for name in RUN_COLUMNS},
            "source": self.name.replace("_", "-"),
            "tokens_per_s_per_gpu": time,
            **{
                name: count(known_fields, name, path) if name in known_fields else None
                for name in WHOLE
            },
        }


def count(fields: Fields, name: str, path: Path) -> int:
    """Return a field that is a whole number.

    Raises:
        FetchError: the field is no whole number, or out of range.
    """
    value = fields.get(name, "")
    # at most seven digits, as `LARGEST_COUNT` has: converting a very long text takes long
    if not (value.isdecimal() and len(value) < 8 and 0 < int(value) <= LARGEST_COUNT):
        raise FetchError(f"{value[:40]!r} is no {name}", where=str(path))
    return int(value)


def gpu_of(device: str) -> str:
    """Return the family of a device."""
    parsed = GPU.match(device)
    return "CPU" if device.startswith("Xeon") else parsed[1] if parsed else device


def page_sources() -> Iterator[PublicSource]:
    """Yield the sources that the files of ``sources/pages`` describe."""
    for path in sorted(FOLDER.glob("*.toml")):
        yield page_source(path.stem, parse(read_text(path), path))


def page_source(name: str, described: Mapping[str, Any]) -> PublicSource:
    """Return the source of a description.

    Args:
        name: name of the source.
        described: ``title``, ``url``, ``commit``, ``licence``, ``files`` and ``tables``, which have
            what `PageForm` has; optionally ``earlier``, ``facts``, ``graphs``, ``suspect``,
            ``fields`` and ``values`` of all tables, and ``table``: another than `whole_models`.
    """
    files = tuple(described["files"])
    members = {
        "name": name,
        **{key: described[key] for key in ("title", "url", "commit", "licence")},
        "earlier": tuple(described.get("earlier", ())),
        "folders": tuple(sorted({file.rpartition("/")[0] for file in files} - {""})),
        "tables": (f"{described.get('table', WHOLE_MODELS)}_{name}",),
        "files": files,
        "forms": tuple(form_of(table, described) for table in described["tables"]),
        "facts": tuple(re.compile(fact) for fact in described.get("facts", ())),
        "graphs": tuple((re.compile(p), t) for p, t in described.get("graphs", ())),
        # by default a pattern that nothing matches
        "suspect": re.compile(described.get("suspect", "(?!)")),
    }
    base = PageSource if described.get("table", WHOLE_MODELS) == WHOLE_MODELS else RunPageSource
    kind: type[PublicSource] = type(f"PageSource_{name}", (base,), members)
    return kind()


def form_of(table: Mapping[str, Any], described: Mapping[str, Any]) -> PageForm:
    """Return the form of a table; its fields and values come before those of all tables."""
    labels, optional = (
        tuple((re.compile(named), re.compile(cell)) for named, cell in table.get(key, {}).items())
        for key in ("labels", "optional")
    )
    return PageForm(
        times=re.compile(table["times"]),
        labels=labels,
        optional=optional,
        under=tuple(re.compile(pattern) for pattern in table.get("under", ())),
        cell=re.compile(table.get("cell", CELL)),
        rate=table.get("rate", False),
        total=table.get("total", False),
        exact=table.get("exact", False),
        fields={**described.get("fields", {}), **table.get("fields", {})},
        values={**described.get("values", {}), **table.get("values", {})},
    )
