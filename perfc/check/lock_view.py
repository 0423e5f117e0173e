"""The baseline as a table and as JSON."""

from __future__ import annotations

import json

from perfc.diff.figures import Metric
from perfc.report.document import Amount, Cell, Column, Document, Name, Section, Table
from perfc.report.units import Unit

from .baseline import KEYS, SCHEMA, Baseline

COLUMNS = (
    Metric.TIME,
    Metric.FLOOR,
    Metric.FLOP,
    Metric.TRAFFIC,
    Metric.PARAMETERS,
    Metric.PEAK_MEMORY,
)


def document(known: Baseline) -> Document:
    """One row for each model and setting."""
    columns = (
        Column("model", "model", is_name=True),
        Column("setting", "on"),
        *(Column(m.key, m.title) for m in COLUMNS),
    )
    rows: list[tuple[Cell, ...]] = []
    for case, entry in sorted(known.entries.items()):
        cells: list[Cell] = [Name(case.model, case.model), case.setting]
        for metric in COLUMNS:
            f = entry.figures.get(metric)
            is_bound = f is not None and f.is_bound and metric.unit is not Unit.SECOND
            cells.append(Amount(f.value if f else None, metric.unit, None, is_bound))
        rows.append(tuple(cells))
    table = Table(columns, tuple(rows))
    return Document(f"baseline {known.path}", (Section("models", "models", (table,)),))


def to_json(known: Baseline) -> str:
    """Every entry, sorted."""
    models = [
        {
            "path": case.model,
            "target": case.target,
            "runtime": case.runtime,
            "dtype": case.dtype,
            "dims": dict(case.dims),
            "digest": entry.digest,
            **{KEYS[m]: f.value for m, f in entry.figures.items()},
        }
        for case, entry in sorted(known.entries.items())
    ]
    tree = {"schema": SCHEMA, "digest": known.predictor, "models": models}
    return json.dumps(tree, indent=2, sort_keys=True) + "\n"
