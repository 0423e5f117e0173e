"""List the fitted constants of perfc's TOML files, and write fitted records as such files.

Scripts of `perfc_lab.fits` write such files; boards name the constants that tested rows determined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import perfc
from perfc.common.fitted import (
    FILE_NAME,
    USUAL,
    ConstantOrigin,
    FittedConstant,
    read_constants,
)
from perfc.common.toml_file import written

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FOLDERS = ("analyzers", "passes", "serving", "distributed")
"""Folders of perfc that have such constants."""


def every_constant() -> Iterator[tuple[str, str, FittedConstant]]:
    """Yield the file, the name and the record of each fitted constant of perfc."""
    root = Path(perfc.__file__).parent
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob(FILE_NAME)):
            for name, constant in read_constants(path).items():
                yield path.relative_to(root.parent).as_posix(), name, constant


def as_toml(records: Mapping[str, DataclassInstance], comment: str) -> str:
    """Return records in the format that `read_records` reads, numbers with four digits.

    Texts and lists of texts that most records share stand once, in the table `USUAL`.

    Args:
        records: by name; written in the order of the names.
        comment: first line of the file.
    """
    tables: dict[str, dict[str, object]] = {}
    for name, record in sorted(records.items()):
        values = {f.name: getattr(record, f.name) for f in fields(record)}
        tables[name] = {
            k: float(f"{v:.4g}") if isinstance(v, float) else list(v) if isinstance(v, tuple) else v
            for k, v in values.items()
        }
    usual = usual_fields(tables.values())
    usual |= {"origin": ConstantOrigin.FITTED.value}
    own = {
        name: {k: v for k, v in table.items() if k not in usual or usual[k] != v}
        for name, table in tables.items()
    }
    return written({USUAL: usual} | own, comment)


def usual_fields(tables: Collection[Mapping[str, object]]) -> dict[str, object]:
    """Return the texts and lists of texts that more than half of some tables share."""
    usual: dict[str, object] = {}
    for name in dict.fromkeys(k for table in tables for k in table):
        values = [table[name] for table in tables if name in table]
        texts = [v for v in values if isinstance(v, str) or (isinstance(v, list) and is_texts(v))]
        common = max(texts, key=texts.count, default=None)
        if texts.count(common) * 2 > len(tables) > 1:
            usual[name] = common
    return usual


def is_texts(values: list[object]) -> bool:
    """Return whether a list has texts alone, and one at least."""
    return bool(values) and all(isinstance(v, str) for v in values)
