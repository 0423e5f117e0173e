"""Text, JSON, Markdown and CSV say the same."""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import redirect_stdout
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

import perfc
from perfc import cli
from perfc.view.report.formats.document import Column, Document, Section, Table
from perfc.view.report.formats.text import columns_of, elided, printable, spark
from perfc.view.report.formats.text import render as render_text
from perfc.view.report.units import Unit

from .conftest import MODELS, model_of

DOCS = Path(__file__).parents[3] / "docs"
NAMES = (
    "assumptions,summary,prediction,coverage,kernels,source,pressure,ceilings,critical,"
    "bottlenecks,memory"
)
FORMS = ("text", "json", "markdown", "csv", "trace", "html")


def as_json(report: perfc.Report) -> Any:
    return json.loads(json.dumps(report.to_dict()))


@pytest.fixture(scope="module")
def shown() -> Any:
    """Output of ``perfc analyze`` of ResNet-50 with options, each asked once."""
    known: dict[tuple[str, ...], str] = {}

    def printed(*more: str) -> str:
        if more not in known:
            words = ["analyze", str(MODELS / "resnet50.onnx.gz"), "-t", "a100", "--batch", "8"]
            with redirect_stdout(io.StringIO()) as out:
                assert cli.run([*words, *more]) == 0
            known[more] = out.getvalue()
        return known[more]

    return printed


@pytest.fixture(scope="module")
def schema() -> Any:
    with redirect_stdout(io.StringIO()) as out:
        assert cli.run(["dev", "schema"]) == 0
    return json.loads(out.getvalue())


def test_json_is_valid_against_the_published_schema(
    resnet: perfc.Report,
    gpt2: perfc.Report,
    unknown: perfc.Report,
    data_dependent: perfc.Report,
    schema: Any,
) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    for report in (resnet, gpt2, unknown, data_dependent):
        validator.validate(as_json(report))
    found = as_json(resnet)
    del found["bottlenecks"]
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(found)


def test_schema_describes_every_field_and_is_the_one_in_the_documentation(schema: Any) -> None:
    assert json.loads((DOCS / "report.schema.json").read_text(encoding="utf-8")) == schema
    for name, definition in schema["$defs"].items():
        for field, shape in definition["properties"].items():
            assert shape["description"], (name, field)


def test_json_formulas_give_the_values_beside_them(resnet: perfc.Report) -> None:
    env = {s.name: s.value for s in resnet.views.assumptions.symbols}

    def check(node: object) -> int:
        if isinstance(node, dict):
            if set(node) == {"value", "unit", "formula", "is_bound"}:
                if node["formula"] is None:
                    return 0
                value = eval(node["formula"], {"__builtins__": {}}, env)
                assert value == node["value"]
                return 1
            return sum(map(check, node.values()))
        return sum(map(check, node)) if isinstance(node, list) else 0

    assert check(as_json(resnet)) > 4 * len(resnet.views.kernels)


def test_text_shows_the_numbers_of_the_json(views: Any, shown: Any) -> None:
    text = shown("--view", NAMES)
    for f in fields(views.summary):
        value = getattr(views.summary, f.name)
        hidden = {"effective_mac", "integer"}
        if hasattr(value, "formula") and f.name not in hidden:
            assert str(value) in text, f.name


def test_markdown_has_the_rows_of_the_text(shown: Any) -> None:
    lines = shown("--view", NAMES, "--output-format", "markdown").splitlines()
    headings = [line[3:] for line in lines if line.startswith("## ")]
    text = shown("--view", NAMES).splitlines()
    told = [line for line in text[1:] if line and not line.startswith(" ")]
    assert [h.replace("\\", "") for h in headings] == told
    tables = sum(line.startswith("| ---") for line in lines)
    assert sum(line.startswith("|") for line in lines) > 40 + 2 * tables
    for line, after in pairwise(lines):
        if line.startswith("|") and after.startswith("|"):
            assert line.count("|") == after.count("|")


def test_csv_is_one_line_per_kernel_with_the_numbers_of_the_json(views: Any, shown: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(shown("--top", "1", "--output-format", "csv"))))
    assert len(rows) == len(views.kernels)
    for row, kernel in zip(rows, views.kernels, strict=True):
        for name in {f.name for f in fields(kernel)} & set(row):
            value = getattr(kernel, name)
            value = value.value if hasattr(value, "formula") else value
            if isinstance(value, int | float):
                assert float(row[name]) == value
    assert {"predicted_s", "roofline_time_s", "floor_s", "read_bytes", "mac"} < set(rows[0])
    assert not {"time_s", "share"} & set(rows[0]), "a kernel has one time"


def saved(report: perfc.Report, folder: Path, suffix: str) -> str:
    path = folder / f"report.{suffix}"
    report.save(path)
    return path.read_text(encoding="utf-8")


def test_hostile_names_cannot_steer_a_terminal_or_a_spreadsheet(tmp_path: Path) -> None:
    name = "=cmd()\x1b[31m\r\n|`<b>"
    report = perfc.analyze(model_of(helper.make_node("Exp", ["x"], ["y"], name=name)))
    texts = {suffix: saved(report, tmp_path, suffix) for suffix in ("txt", "md", "csv")}
    assert not any({"\x1b", "\r"} & set(text) for text in texts.values())
    row = next(csv.DictReader(io.StringIO(texts["csv"])))
    assert row["nodes"].startswith("'=")
    assert "<b>" not in texts["md"]


def test_mark_of_a_bound_stands_before_unknown_totals(
    unknown: perfc.Report, tmp_path: Path
) -> None:
    lines = saved(unknown, tmp_path, "md").splitlines()
    marked = [line for line in lines if line.startswith(("| work", "| total |"))]
    assert marked
    assert all("≥" in line for line in marked)
    assert any("≥" in line and "Mystery" in line for line in lines)


def test_empty_graph_has_a_report(tmp_path: Path, schema: Any) -> None:
    report = perfc.analyze(model_of(helper.make_node("Identity", ["x"], ["y"], name="same")))
    for suffix in ("txt", "json", "md", "csv"):
        assert saved(report, tmp_path, suffix)
    jsonschema.Draft202012Validator(schema).validate(as_json(report))


@pytest.mark.parametrize("width", [80, 100, 200])
def test_lines_keep_to_the_width(width: int, monkeypatch: pytest.MonkeyPatch, shown: Any) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = shown("--view", NAMES, "--top", f"{width // 10}").splitlines()
    assert [line for line in lines[1:] if columns_of(line) > width] == []


def test_views_and_rows_asked_for_are_the_ones_shown(resnet: perfc.Report, shown: Any) -> None:
    lines = shown("--view", "memory,summary").splitlines()
    assert [line for line in lines if line and not line.startswith(" ")][1:] == [
        "summary",
        "memory",
    ]
    few = shown("--view", "kernels", "--top", "3").splitlines()
    every = shown("--view", "kernels", "--top", "all").splitlines()
    assert sum("<- " in line for line in few) == 3 + 1  # and the heading
    assert sum("<- " in line for line in every) > len(resnet.kernels.kernels) - 1


NAME = st.text(max_size=200)


@given(
    st.lists(st.tuples(NAME, st.floats(0, 1e6) | st.none(), NAME), max_size=8),
    st.integers(40, 200),
)
def test_tables_of_any_text_keep_their_columns(
    rows: list[tuple[str, float | None, str]], width: int
) -> None:
    columns = (
        Column("a", "a", is_name=True),
        Column("time_s", "time", Unit.SECOND),
        Column("b", "b", is_name=True),
    )
    table = Table(columns, tuple(rows))
    text = render_text(Document("t", (Section("s", "s", (table,)),)), width)
    assert len(text.splitlines()) == 4 + len(rows)
    assert all(columns_of(line) <= width for line in text.splitlines())


@given(NAME, st.integers(2, 80))
def test_shortened_text_fits(text: str, width: int) -> None:
    clean = printable(text)
    assert columns_of(elided(clean, width)) <= width
    assert elided(clean, width) == clean or "…" in elided(clean, width)


@given(st.lists(st.floats(0, 1e12), max_size=300), st.integers(1, 80))
def test_spark_shows_the_peak_however_narrow(values: list[float], count: int) -> None:
    bars = spark(values, count)
    assert len(bars) == min(len(values), count)
    if max(values, default=0) > 0:
        assert "█" in bars


def test_documentation_shows_the_report_as_it_is(
    monkeypatch: pytest.MonkeyPatch, shown: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    page = (DOCS / "report.md").read_text(encoding="utf-8")
    for line in shown("--full", "--top", "6").splitlines():
        is_legend = line.startswith("  [")
        is_fact = re.match(r"  [a-z]+( [a-z]+)?  ", line) and ":" not in line
        words = re.sub(r"[0-9.,]+|≥", "", line).split()[:3]
        if is_legend:
            assert line in page
        elif is_fact and words:
            assert f"\n  {words[0]} " in page


def test_code_in_the_documentation_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS.parent)
    page = (DOCS / "report.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "report.md", "exec"), {})
