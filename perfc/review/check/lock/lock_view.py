"""The baseline as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from perfc.ir import record
from perfc.ir.record import project
from perfc.review.diff.figures import Metric
from perfc.view.report.formats.document import Amount, Cell, Column, Document, Name, Section, Table
from perfc.view.report.formats.json_form import document_text

from .baseline import KEYS, Baseline, BaselineCase, Entry

SCHEMA = "perfc-baseline/1"
"""Schema of the JSON document."""
COLUMNS = (
    Metric.TIME,
    Metric.FLOP,
    Metric.TRAFFIC,
    Metric.PARAMETERS,
    Metric.PEAK_MEMORY,
    Metric.ENERGY,
    Metric.FLOOR,
)
"""Figures of the table, the most important first."""


@record
class EntryView:
    """Figures of one model and setting.

    Args:
        path: path of the model, relative to the folder of the budgets.
        target: name of the target.
        runtime: runtime.
        dtype: what-if precision; empty for the model's own.
        others: further deployment fields that differ from the default.
        dims: sizes in the budget.
        sizes: sizes of the model's extents.
        digest: digest of the model's file.
        lower_bounds: figures that are lower bounds.
        figures: figures by name, with the unit as suffix, in SI units.
    """

    path: str
    target: str
    runtime: str
    dtype: str
    others: Mapping[str, str | bool]
    dims: Mapping[str, int]
    sizes: Mapping[str, int]
    digest: str
    lower_bounds: tuple[str, ...]
    figures: Mapping[str, float]

    @classmethod
    def of(cls, case: BaselineCase, entry: Entry) -> EntryView:
        """Build the view of one entry."""
        return project(
            cls,
            case,
            path=case.model,
            others=dict(case.others),
            dims=dict(case.dims),
            sizes=dict(entry.sizes),
            digest=entry.digest,
            lower_bounds=tuple(entry.bounds),
            figures={KEYS[m]: f.value for m, f in entry.figures.items()},
        )


@record
class BaselineView:
    """Contents of the lock file.

    Args:
        digest: digest of the code and weights that computed the figures.
        models: one per model and setting.
    """

    digest: str
    models: tuple[EntryView, ...]


def document(known: Baseline, name: str) -> Document:
    """Build a document with one row per model and setting; ``name`` is the file's."""
    columns = (
        Column("model", is_name=True),
        Column("setting", "on", is_name=True, wraps=True),
        # narrow pages show the time only
        *(Column(m.key, m.title, is_spare=m is not Metric.TIME) for m in COLUMNS),
    )
    rows: list[tuple[Cell, ...]] = []
    for case, entry in sorted(known.entries.items()):
        cells: list[Cell] = [Name(case.model, case.model), entry.setting(case)]
        for metric in COLUMNS:
            f = entry.figures.get(metric)
            is_bound = f is not None and f.is_bound
            cells.append(Amount(f.value if f else None, metric.unit, None, is_bound))
        rows.append(tuple(cells))
    table = Table(columns, tuple(rows))
    return Document(f"baseline {name}", (Section("models", "models", (table,)),))


def to_json(known: Baseline) -> str:
    """Format every entry as JSON, sorted."""
    models = tuple(EntryView.of(case, entry) for case, entry in sorted(known.entries.items()))
    return document_text(SCHEMA, BaselineView(known.predictor, models), sort_keys=True)
