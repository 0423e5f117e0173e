"""The baseline as a table and as JSON."""

from __future__ import annotations

import json

from perfc.diff.figures import Metric
from perfc.report.document import Amount, Cell, Column, Document, Name, Section, Table

from .baseline import KEYS, Baseline

SCHEMA = "perfc-baseline/1"
COLUMNS = (
    Metric.TIME,
    Metric.FLOP,
    Metric.TRAFFIC,
    Metric.PARAMETERS,
    Metric.PEAK_MEMORY,
    Metric.ENERGY,
    Metric.FLOOR,
)


def document(known: Baseline, name: str) -> Document:
    """One row for each model and setting; ``name`` is the file's."""
    columns = (
        Column("model", "model", is_name=True),
        Column("setting", "on", is_name=True, wraps=True),
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
    """Every entry, sorted."""
    models = [
        {
            "path": case.model,
            "target": case.target,
            "runtime": case.runtime,
            "dtype": case.dtype,
            **dict(case.others),
            "dims": dict(case.dims),
            "sizes": dict(entry.sizes),
            "digest": entry.digest,
            "lower_bounds": sorted(KEYS[m] for m, f in entry.figures.items() if f.is_bound),
            **{KEYS[m]: f.value for m, f in entry.figures.items()},
        }
        for case, entry in sorted(known.entries.items())
    ]
    tree = {"schema": SCHEMA, "digest": known.predictor, "models": models}
    return json.dumps(tree, indent=2, sort_keys=True) + "\n"
