"""Read fitted numbers, which are data: TOML files of constants, and of records by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .toml_file import remembered

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Record = TypeVar("Record", bound=DataclassInstance)

FILE_NAME = "constants.toml"
"""Name of the file of fitted constants in a folder of code."""

USUAL = "usual"
"""Table of a file of records: the fields of those that do not name them."""


class ConstantOrigin(StrEnum):
    """Origin of a constant's value."""

    FITTED = "fitted"
    """Minimises an error over the rows, or is their quantile."""
    CHOSEN = "chosen"
    """Picked by hand from a few values by their error on the rows."""
    MEASURED = "measured"
    """Read off the measurements that the rows name."""
    ASSUMED = "assumed"
    """Plausible; no rows determine it."""


def data_next_to(module: str) -> dict[str, Any]:
    """Return the data of the TOML file that lies next to a module and has its name."""
    return remembered(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class FittedConstant:
    """Constant with its origin.

    Args:
        value: number, list of numbers, or numbers by name.
        unit: SI unit; "1" for a ratio, "log" for the natural logarithm of a ratio.
        origin: method by which the value was determined.
        meaning: the quantity, in one sentence.
        rows: measurements that determined it, with their source or table.
        held_out: True if an accuracy page reports errors of predictions on these rows as held
            out although the predictions use the constant. The page marks such errors as fitted.
        pages: the generated accuracy pages with such errors, by name; the value names the lines of
            the page that depend on the constant, "" for all lines.
    """

    value: object
    unit: str
    origin: ConstantOrigin
    meaning: str
    rows: str
    held_out: bool
    pages: Mapping[str, str] = field(default_factory=dict)

    @property
    def number(self) -> float:
        """Return the value of a constant that is one number."""
        return float(self._of(int | float))

    @property
    def numbers(self) -> tuple[float, ...]:
        """Return the values of a constant that is a list of numbers."""
        return tuple(float(n) for n in self._of(list))

    @property
    def by_name(self) -> dict[str, float]:
        """Return the values of a constant that has a number for each of several names."""
        return {name: float(n) for name, n in self._of(dict).items()}

    def _of(self, kind: Any) -> Any:
        """Return the value if it is of a kind; raise an error in the shipped file otherwise."""
        if not isinstance(self.value, kind):
            raise TypeError(f"{self.value!r} is not of {kind}")
        return self.value


def constants_next_to(code: str) -> Mapping[str, FittedConstant]:
    """Return the fitted constants in the folder of a source file, by name.

    Args:
        code: path of the source file, as ``__file__`` gives it.
    """
    return read_constants(Path(code).with_name(FILE_NAME))


@cache
def read_constants(path: Path) -> Mapping[str, FittedConstant]:
    """Return the fitted constants of a shipped file, by name."""
    tables = remembered(path.read_text(encoding="utf-8"))
    return {
        name: FittedConstant(**(table | {"origin": ConstantOrigin(table["origin"])}))
        for name, table in tables.items()
    }


def read_records(path: Path, of: type[Record]) -> dict[str, Record]:
    """Return the records of a shipped file, by the names of its tables; lists become tuples.

    The table `USUAL` has the fields that records do not name. Keys that are no fields, and values
    outside of tables, are ignored.
    """
    tables = remembered(path.read_text(encoding="utf-8"))
    # files also have figures for readers, such as numbers of rows
    known = {f.name for f in fields(of)}
    usual = tables.get(USUAL, {})
    return {
        name: of(
            **{
                k: tuple(v) if isinstance(v, list) else v
                for k, v in (usual | table).items()
                if k in known
            }
        )
        for name, table in tables.items()
        if isinstance(table, dict) and name != USUAL
    }
