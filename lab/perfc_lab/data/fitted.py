"""List the fitted constants of perfc's TOML files, and write fitted records as such files.

Scripts of `perfc_lab.fits` write such files; boards name the constants that tested rows determined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import perfc
from perfc.common.fitted import FILE_NAME, ConstantOrigin, FittedConstant, read_constants
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

    Args:
        records: by name; written in the order of the names.
        comment: first line of the file.
    """
    tree: dict[str, object] = {}
    for name, record in sorted(records.items()):
        values = {f.name: getattr(record, f.name) for f in fields(record)}
        tree[name] = {
            k: float(f"{v:.4g}") if isinstance(v, float) else list(v) if isinstance(v, tuple) else v
            for k, v in values.items()
        } | {"origin": ConstantOrigin.FITTED.value}
    return written(tree, comment)
