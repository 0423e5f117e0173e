"""``-o kernels.xlsx``: the rows of a result as a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from perfc import cli

openpyxl = pytest.importorskip("openpyxl")
TRACE = Path(__file__).parents[1] / "golden" / "trace" / "old.json"


def rows(path: Path) -> list[tuple[Any, ...]]:
    (sheet,) = openpyxl.load_workbook(path).worksheets
    return [*sheet.values]


def is_same(text: str, cell: object) -> bool:
    """Whether a cell has the value of CSV: numbers are numbers, and unknown ones no cells."""
    match cell:
        case None:
            return text == ""
        case bool():
            return text == str(cell).lower()
        case int() | float():
            return float(text) == pytest.approx(cell, rel=1e-14)
        case _:
            return text == cell


def test_kernels_of_a_trace_are_the_rows_of_its_csv(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kernels.xlsx"
    assert cli.run(["trace", str(TRACE), "-o", str(path)]) == 0
    assert cli.run(["trace", str(TRACE), "--output-format", "csv"]) == 0
    expected = [*csv.reader(io.StringIO(capsys.readouterr().out))]
    found = rows(path)
    assert len(found) == len(expected) > 2
    assert any(isinstance(cell, float) for row in found for cell in row)
    for line, row in zip(expected, found, strict=True):
        assert all(map(is_same, line, row)), (line, row)


def test_names_of_a_trace_are_no_formulas(tmp_path: Path) -> None:
    trace = json.loads(TRACE.read_text(encoding="utf-8"))
    for event in trace["traceEvents"]:
        event["name"] = (
            f"=1+{event['name']}\x1b[31m" if event.get("cat") == "kernel" else event["name"]
        )
    given, path = tmp_path / "odd.json", tmp_path / "odd.xlsx"
    given.write_text(json.dumps(trace), encoding="utf-8")
    assert cli.run(["trace", str(given), "-o", str(path)]) == 0
    (sheet,) = openpyxl.load_workbook(path).worksheets
    assert {cell.data_type for row in sheet for cell in row} <= {"n", "s", "b", "inlineStr"}
    assert any("=1+" in str(cell) for row in sheet.values for cell in row)


def test_a_spreadsheet_without_its_package_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert cli.run(["trace", str(TRACE), "-o", str(tmp_path / "kernels.xlsx")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: a spreadsheet needs openpyxl (pip install 'openpyxl>=")
    assert error.count("\n") == 1
    assert [*tmp_path.iterdir()] == []
